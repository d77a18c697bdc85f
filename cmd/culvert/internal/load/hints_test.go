package load

import (
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/sink"
)

// TestHintsOfDatabases advises no flag for tables that have rows if a whole database is made, to which none applies.
func TestHintsOfDatabases(t *testing.T) {
	for _, err := range []error{sink.ErrNotEmpty, sink.ErrGone, sink.ErrExists} {
		for _, isWhole := range []bool{false, true} {
			f := tableFlags{isWhole: isWhole}
			hints := strings.Join(command.HintsOf(f.withHints(err)), "; ")
			if strings.Contains(hints, "--truncate") == isWhole || hints == "" {
				t.Errorf("%v in a whole database, %v: %s", err, isWhole, hints)
			}
		}
	}
}
