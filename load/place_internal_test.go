package load

import (
	"errors"
	"fmt"
	"testing"

	"culvert/sink"
)

// TestLocateLocked keeps what an error of a row is a kind of: a lock is waited for, and other rows are refused.
func TestLocateLocked(t *testing.T) {
	w := &worker{file: "t.csv"}
	refused := &sink.RowError{Table: "t", Row: 7, Err: errors.New("no lock")}
	for _, err := range []error{refused, fmt.Errorf("%w: %w", sink.ErrLocked, refused)} {
		located := w.locate(err)
		if errors.Is(located, sink.ErrLocked) != errors.Is(err, sink.ErrLocked) {
			t.Errorf("%v: %v", err, located)
		}
		if _, is := errors.AsType[*sink.RowError](located); !is {
			t.Errorf("%v: %v", err, located)
		}
	}
}
