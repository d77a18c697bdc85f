package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/source"
)

// What to try depends on what has failed, and where.
func TestHints(t *testing.T) {
	locked := fmt.Errorf("%w: %w", source.ErrUnavailable, sqlite3.BUSY)
	for _, test := range []struct {
		err  error
		want string
	}{
		{database.Database{Engine: "postgres"}.Explain(source.ErrUnavailable), "check that the server runs"},
		{database.Database{Engine: "sqlite"}.Explain(source.ErrUnavailable), "check the path"},
		{database.Database{Engine: "sqlite"}.Explain(locked), "another program has locked"},
		{command.WithOutputHint(&os.PathError{Err: os.ErrPermission}), "choose another place with -o FILE"},
		{&os.PathError{Err: os.ErrPermission}, ""},
	} {
		hints := strings.Join(command.HintsOf(test.err), "\n")
		if !strings.HasPrefix(hints, test.want) || (test.want == "") != (hints == "") {
			t.Errorf("%v: the hint is %q, want %q", test.err, hints, test.want)
		}
	}
}

func ExampleMain() {
	code := Main([]string{"help", "nonsense"}, strings.NewReader(""), os.Stdout, os.Stdout)
	fmt.Println(code)
	// Output:
	// culvert: error: no help on "nonsense"
	// culvert: hint: see: culvert help
	// 4
}
