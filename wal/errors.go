package wal

import (
	"errors"
	"fmt"
)

// Errors of this package. The first four come in a [SegmentError].
var (
	ErrCorrupt = errors.New("damaged")                        // durable data is missing or changed
	ErrForeign = errors.New("not a part of this log")         // a directory or file is not a log, or of another log
	ErrVersion = errors.New("a format of another version")    // the log is newer or older than this package
	ErrKey     = errors.New("wrong key")                      // the log has another key, or none
	ErrLocked  = errors.New("wal: the log is open elsewhere") // another writer has the log open
	ErrClosed  = errors.New("wal: the log is closed")

	// ErrFailed is returned after a write or sync has failed, and wraps that error.
	ErrFailed = errors.New("wal: the log has failed and must be opened again")

	ErrTooLarge  = errors.New("wal: too large for a segment")   // see [Options.SegmentSize]
	ErrEmpty     = errors.New("wal: empty")                     // a group has no entries
	ErrTruncated = errors.New("wal: entries were cut off")      // a read needs entries that were cut off
	ErrRange     = errors.New("wal: beyond the end of the log") // an LSN is behind the last entry
)

// SegmentError is an error in a segment: [ErrCorrupt], [ErrForeign], [ErrVersion] or [ErrKey], or the error of a read,
// a write or a sync.
type SegmentError struct {
	Segment string // path of the file
	Offset  int64  // in the file
	LSN     LSN    // of the record at the offset; 0 if unknown
	Reason  string // a few words; may be empty
	Err     error
}

func (e *SegmentError) Error() string {
	text := fmt.Sprintf("wal: %s, offset %d", e.Segment, e.Offset)
	if e.LSN > 0 {
		text += fmt.Sprintf(", LSN %d", e.LSN)
	}
	text += ": " + e.Err.Error()
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Unwrap returns Err.
func (e *SegmentError) Unwrap() error { return e.Err }
