package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"

	"culvert/agefile"
	"culvert/export"
	"culvert/fileservice"
	"culvert/fileservice/transfer"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/secureconn"
	"culvert/source"
)

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("some error"), 1},
		{usagef("bad flag"), 4},
		{source.ErrUnavailable, 10},
		{&age.NoIdentityMatchError{}, 11},
		{errNoIdentity, 11},
		{keyfile.ErrPassphrase, 11},
		{agefile.ErrCorrupt, 12},
		{compress.ErrCorrupt, 12},
		{keyfile.ErrMalformed, 12},
		{source.ErrCorrupt, 12},
		{&source.CountError{Received: 1, Confirmed: 2}, 12},
		{export.ErrManifest, 12},
		{export.ErrDamaged, 12},
		{&export.PartialError{Failed: 1, Tables: 2}, 3},
		{&export.PartialError{Failed: 2, Tables: 2}, 1},
		{&secureconn.PeerError{}, 12},
		{fmt.Errorf("%w: %w", fileservice.ErrUnreachable, &secureconn.PeerError{}), 12},
		{secureconn.ErrRecord, 12},
		{fileservice.ErrIntegrity, 12},
		{fmt.Errorf("%w: %w", transfer.ErrPartial, fileservice.ErrIntegrity), 12},
		{fileservice.ErrUnreachable, 13},
		{fmt.Errorf("%w: %w", fileservice.ErrUnreachable, secureconn.ErrRefused), 10},
		{fileservice.ErrRefused, 10},
		{fmt.Errorf("%w: %w", transfer.ErrPartial, fileservice.ErrRefused), 3},
		{transfer.ErrPartial, 3},
		{fileservice.ErrChanged, 1},
		{errInterrupted, 130},
		{errors.Join(errInterrupted, source.ErrUnavailable), 130},
		{&source.UnknownError{What: "table", Name: "x"}, 1},
	} {
		wrapped := test.err
		if wrapped != nil {
			wrapped = withHint(fmt.Errorf("export: %w", test.err), "a hint")
		}
		for _, err := range []error{test.err, wrapped} {
			if got := exitCode(err); got != test.want {
				t.Errorf("%v has code %d, want %d", err, got, test.want)
			}
		}
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d    `, test.want)).MatchString(helpText("topics/exit-codes.txt")) {
			t.Errorf("the help does not explain code %d", test.want)
		}
	}
}

// The names of packages are for who reads the code.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"agefile: not a valid age file: chunk 3":         "not a valid age file: chunk 3",
		"export: source: table \"x\" does not exist":     "table \"x\" does not exist",
		"open keyfile: no such file":                     "open keyfile: no such file",
		"first: bad\ncompress: corrupt zstd data: magic": "first: bad\ncorrupt zstd data: magic",
	} {
		if got := plain(errors.New(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	err := about("x.age", fmt.Errorf("%w: chunk 3", agefile.ErrCorrupt))
	want := "x.age: " + plain(agefile.ErrCorrupt) + ": chunk 3"
	if err.Error() != want || exitCode(err) != exitIntegrity {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// What to try depends on what has failed, and where.
func TestHints(t *testing.T) {
	locked := fmt.Errorf("%w: %w", source.ErrUnavailable, sqlite3.BUSY)
	for _, test := range []struct {
		err  error
		want string
	}{
		{database{engine: "postgres"}.explain(source.ErrUnavailable), "check that the server runs"},
		{database{engine: "sqlite"}.explain(source.ErrUnavailable), "check the path"},
		{database{engine: "sqlite"}.explain(locked), "another program has locked"},
		{withOutputHint(&os.PathError{Err: os.ErrPermission}), "choose another place with -o FILE"},
		{&os.PathError{Err: os.ErrPermission}, ""},
	} {
		hints := strings.Join(hintsOf(test.err), "\n")
		if !strings.HasPrefix(hints, test.want) || (test.want == "") != (hints == "") {
			t.Errorf("%v: the hint is %q, want %q", test.err, hints, test.want)
		}
	}
}

func TestSecondUseOfStandardInput(t *testing.T) {
	a := &app{stdin: strings.NewReader("x")}
	if _, err := a.claimStdin("the input"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.claimStdin("the passphrase"); exitCode(err) != exitUsage {
		t.Errorf("error is %v, want one of usage", err)
	}
}

func TestReadingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in := &input{ctx: ctx, src: strings.NewReader("hello")}
	in.Reader = &inputReader{in}
	buf := make([]byte, 2)
	if n, err := in.Read(buf); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	cancel(errInterrupted)
	if _, err := in.Read(buf); !errors.Is(err, errInterrupted) {
		t.Errorf("error is %v", err)
	}
}

func TestForShell(t *testing.T) {
	for argument, want := range map[string]string{
		"/srv/a_b-1.txt": "/srv/a_b-1.txt", "über": "über", "": "''", "two words": "'two words'",
		"it's": `'it'\''s'`, "a$(b)": "'a$(b)'", "*": "'*'", "~": "'~'", "culvert://h:1/a%20b": "culvert://h:1/a%20b",
		"culvert://[::1]:7/": "'culvert://[::1]:7/'",
	} {
		if got := forShell(argument); got != want {
			t.Errorf("%s: got %s, want %s", argument, got, want)
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
