package agefile

import (
	"errors"
	"fmt"
	"io"
	"runtime"
)

// ErrCorrupt is wrapped by all errors that the bytes of a file cause: damage, forgery, trailing data, input that is not
// an age file, and truncation, which also wraps [io.ErrUnexpectedEOF].
var ErrCorrupt = errors.New("agefile: not a valid age file")

var errTrailing = corrupt("data after the last chunk")

// Config configures writers and readers. The zero value is the default.
type Config struct {
	// Workers is the number of chunks that are sealed or opened in parallel. Zero means GOMAXPROCS.
	Workers int

	// ReadAt permits parallel reads of any source that is an [io.Seeker] and an [io.ReaderAt]. Its ReadAt and Read must
	// return the same bytes. By default, only an [*os.File], [*io.SectionReader], [*bytes.Reader] or [*strings.Reader]
	// is read in parallel, and no type that embeds one.
	ReadAt bool

	// Cache is the cache of a ReaderAt. Nil means one of its own. Share a Cache to bound the memory of several.
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
