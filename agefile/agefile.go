package agefile

import (
	"errors"
	"fmt"
	"io"
	"runtime"
)

// ErrCorrupt marks every error that comes from the bytes of a file and not from the identities or the disk: damage,
// forgery, truncation (which also wraps [io.ErrUnexpectedEOF]), trailing data, and input that is not an age file.
var ErrCorrupt = errors.New("agefile: not a valid age file")

var errTrailing = corrupt("data after the last chunk")

// Config makes writers and readers that differ from the default. The zero value is the default.
type Config struct {
	// Workers is the number of chunks sealed or opened at the same time. Zero means GOMAXPROCS.
	Workers int

	// ReadAt permits several goroutines to read a source of any type at once, with its ReadAt, if it is an [io.Seeker]
	// and an [io.ReaderAt]. Its ReadAt must return the bytes that its Read returns. Without this permission only an
	// [*os.File], [*io.SectionReader], [*bytes.Reader] or [*strings.Reader] is read so, and no type that embeds one.
	ReadAt bool

	// Cache is what a ReaderAt keeps its chunks in. Nil means one of its own; several share one to have a bound for
	// all.
	Cache *Cache
}

func (c Config) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

func truncated(where string) error {
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, where, io.ErrUnexpectedEOF)
}
