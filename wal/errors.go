package wal

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt is damage: what was durable is gone or changed. It comes in a [SegmentError].
	ErrCorrupt = errors.New("damaged")

	// ErrForeign is that of a directory or file that is not a log, or not of this log.
	ErrForeign = errors.New("not a part of this log")

	// ErrVersion is that of a log in a format that this package does not know yet.
	ErrVersion = errors.New("a format of a newer version")

	// ErrKey is that of a log which is encrypted with another key, or opened without one, or not encrypted at all and
	// opened with one.
	ErrKey = errors.New("wrong key")

	// ErrLocked is that of a log which another writer has open.
	ErrLocked = errors.New("wal: the log is open elsewhere")

	// ErrFailed is the error of a log after a write or sync has failed. It wraps the failure.
	ErrFailed = errors.New("wal: the log has failed and must be opened again")

	// ErrClosed is that of a log which was closed.
	ErrClosed = errors.New("wal: the log is closed")

	// ErrTooLarge is that of a group which does not fit into a segment. See [Options.SegmentSize].
	ErrTooLarge = errors.New("wal: too large for a segment")

	// ErrEmpty is that of an [Entry] without a key, or of a group without entries.
	ErrEmpty = errors.New("wal: empty")

	// ErrTruncated is that of a read for entries that have been cut off.
	ErrTruncated = errors.New("wal: entries were cut off")

	// ErrRange is that of an LSN behind the end of the log.
	ErrRange = errors.New("wal: beyond the end of the log")
)

// SegmentError says where in a log an error is: [ErrCorrupt], [ErrForeign], [ErrVersion] or [ErrKey], or that of a
// read, a write or a sync.
type SegmentError struct {
	Segment string // path of the file
	Offset  int64  // in the file
	LSN     LSN    // that should be there; 0 if that is not known
	Reason  string // in a few words; may be empty
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

// Unwrap gives the error itself.
func (e *SegmentError) Unwrap() error { return e.Err }
