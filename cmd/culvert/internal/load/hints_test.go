package load

import (
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
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

// TestHintsOfSpaces advises to take away the spaces at the end of a text that its column would not keep.
func TestHintsOfSpaces(t *testing.T) {
	for d, of := range map[source.Dialect]grammar.Grammar{
		source.PostgreSQL: grammar.Postgres("character(5)"), source.MySQL: grammar.MySQL("char(5)"),
	} {
		reason := of(source.Text, []byte("a "))
		err := &sink.RowError{Table: "t", Row: 2, Column: "a b", Err: sink.Changed(reason)}
		hints := strings.Join(command.HintsOf(new(tableFlags).withHints(err)), "; ")
		if !strings.Contains(hints, "--convert 'a b=trim'; or ") || !strings.HasSuffix(hints, "--convert 'a b'") {
			t.Errorf("%s: %q has the hints %q", d, reason, hints)
		}
	}
}
