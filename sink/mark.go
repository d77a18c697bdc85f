package sink

import (
	"errors"
	"fmt"
)

// Marker is implemented by loaders of databases that can undo some of the rows of a transaction. So a caller can leave
// out rows that the database refuses, and go on with others. All loaders of this module are Markers, except with
// [Ignore] and [Update].
type Marker interface {
	Loader

	// Mark flushes, and remembers where the rows end. It takes the place of the last mark.
	Mark() error

	// Undo removes the rows that were added since the last Mark. If the loader has failed with a [*RowError], it can be
	// used again; after other errors it cannot. A part that ends takes its mark along. With marks, [Loader.Sum] of
	// PostgreSQL is an [errors.ErrUnsupported] if the table may have rows that are not of this loader.
	Undo() error
}

var errNoMark = errors.New("sink: there is no mark of the loader to go back to")

// Mark remembers where the rows end.
func (l *LoaderState) Mark() error {
	return l.Do(func() error {
		if l.table.filling.Conflict != Fail {
			return fmt.Errorf("sink: table %s: rows that may be in conflict cannot be undone: %w",
				l.table.driver.Name(), errors.ErrUnsupported)
		}
		if err := l.send(); err != nil {
			return err
		}
		if err := l.driver.SetMark(l.saved); err != nil {
			return err
		}
		l.saved, l.marked, l.rowsAtMark = true, true, l.rows
		return nil
	})
}

// Undo removes the rows since the last mark.
func (l *LoaderState) Undo() error {
	failure := l.err
	if _, is := errors.AsType[*RowError](failure); is && !errors.Is(failure, ErrLocked) {
		l.err = nil
	}
	return l.Do(func() error {
		if !l.marked {
			return errors.Join(errNoMark, failure)
		}
		l.rows = l.rowsAtMark
		return l.driver.UndoToMark()
	})
}
