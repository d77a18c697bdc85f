package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/internal/ui"
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
		{&source.CountError{Received: 1, Confirmed: 2}, 12},
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
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d    `, test.want)).MatchString(exitCodes) {
			t.Errorf("the help does not explain code %d", test.want)
		}
	}
}

func TestRedact(t *testing.T) {
	var s secrets
	s.add("correct horse")
	s.add("abc")
	for text, want := range map[string]string{
		"nothing secret":                             "nothing secret",
		"the passphrase is correct horse!":           "the passphrase is ****!",
		"short ones, such as abc, would tell":        "short ones, such as abc, would tell",
		"postgres://me:pw@host/db failed":            "postgres://me:****@host/db failed",
		"postgres://me:p@w:x@host/db failed":         "postgres://me:****@host/db failed",
		"postgres://me@host:5432/db failed":          "postgres://me@host:5432/db failed",
		"postgres://:pw@host/db":                     "postgres://:****@host/db",
		"host=h password=pw dbname=d":                "host=h password=**** dbname=d",
		"host=h password = 'p w\\'x' dbname=d":       "host=h password = **** dbname=d",
		"postgres://h/d?password=pw&sslpassword=key": "postgres://h/d?password=****&sslpassword=****",
	} {
		if got := s.redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestParseSource(t *testing.T) {
	for text, want := range map[string]database{
		"postgres://me@host/db":   {"postgres", "postgres://me@host/db"},
		"postgresql://host":       {"postgres", "postgresql://host"},
		"postgres:":               {"postgres", ""},
		"postgres:service=shop":   {"postgres", "service=shop"},
		"sqlite:some file":        {"sqlite", "some file"},
		"shop.db":                 {"sqlite", "shop.db"},
		"dir/SHOP.SQLite3":        {"sqlite", "dir/SHOP.SQLite3"},
		`C:\data\shop.sqlite`:     {"sqlite", `C:\data\shop.sqlite`},
		"sqlite:postgres://a:b@c": {"sqlite", "postgres://a:b@c"},
	} {
		if got, err := parseSource(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "shop", "sqlite:", "mysql://host/db", "postgresql:x", "host=h dbname=d"} {
		if got, err := parseSource(text); exitCode(err) != exitUsage || len(hintsOf(err)) == 0 {
			t.Errorf("%q is %v, %v; want an error of usage with a hint", text, got, err)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://me@host/db":                     false,
		"postgres://host/db?passfile=x":             false,
		"postgres:host=h passfile=/x user=password": false,
		"sqlite:password=x":                         false,
		"postgres://me:pw@host/db":                  true,
		"postgres://me:@host/db":                    true,
		"postgres://host/db?password=pw":            true,
		"postgres://host/db?sslpassword=pw":         true,
		"postgres://me:p%zz@host/db":                true,
		"postgres:password=pw":                      true,
		"postgres:host=h PASSWORD = pw":             true,
		"postgres:host=h\tsslpassword=pw":           true,
	} {
		d, err := parseSource(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.hasPassword(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestFileName(t *testing.T) {
	for table, want := range map[string]string{
		"orders":                       "orders",
		"public.orders":                "public.orders",
		`"My Table"`:                   "My Table",
		"../../etc/passwd":             "__.._etc_passwd",
		"..":                           "_",
		"":                             "_",
		"-rf":                          "_rf",
		"~root":                        "_root",
		" lead":                        "_lead",
		`a\b:c*d?e<f>g|h/i`:            "a_b_c_d_e_f_g_h_i",
		"line\nend\x00":                "line_end_",
		"größe ☂":                      "größe ☂",
		"\xff\xfe":                     "__",
		strings.Repeat("a", 999):       strings.Repeat("a", 150),
		strings.Repeat("ä", 75) + "ää": strings.Repeat("ä", 75),
	} {
		got := fileName(table)
		if got != want {
			t.Errorf("%q becomes %q, want %q", table, got, want)
		}
		if got != filepath.Base(got) || !filepath.IsLocal(got) {
			t.Errorf("%q becomes %q, which is not a plain name", table, got)
		}
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("../x")
	f.Add("a\x00b")
	f.Fuzz(func(t *testing.T, table string) {
		if name := fileName(table); name != filepath.Base(name) || !filepath.IsLocal(name) || len(name) > 150 {
			t.Errorf("%q becomes %q", table, name)
		}
	})
}

func FuzzHasPassword(f *testing.F) {
	f.Add("postgres://me:pw@host/db")
	f.Add("postgres:password=pw")
	f.Fuzz(func(t *testing.T, text string) {
		// A source that is taken for free of passwords is shown as it is.
		d, err := parseSource(text)
		if err != nil || d.engine != "postgres" || d.hasPassword() {
			return
		}
		var s secrets
		if got := s.redact(d.address); got != d.address {
			t.Errorf("%q is said to hold no password, and yet it is redacted to %q", d.address, got)
		}
	})
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one": "one", "one\n": "one", "one\r\ntwo": "one", "two  words\n": "two  words", "\ntwo": "",
	} {
		if got, err := firstLine(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("first line of %q is %q, %v", text, got, err)
		}
	}
	if _, err := firstLine(strings.NewReader(strings.Repeat("x", 5000))); err == nil {
		t.Error("an endless line is accepted")
	}
	if _, err := firstLine(strings.NewReader("x\n" + strings.Repeat("x", 5000))); err != nil {
		t.Errorf("a long file with a short first line: %v", err)
	}
}

func TestPrintable(t *testing.T) {
	for _, test := range []struct {
		name   string
		writes []string
		want   string
		fails  bool
	}{
		{"text", []string{"one\n", "two\t\r\n"}, "one\ntwo\t\r\n", false},
		{
			"characters cut in two",
			[]string{"gr\xc3", "\xb6\xc3\x9fe \xe2\x98", "\x82 \xf0\x9f\x98", "\x80"},
			"größe ☂ 😀", false,
		},
		{"control characters", []string{"one", "t\x1b[31mwo"}, "one", true},
		{"not UTF-8", []string{"one", "\xff"}, "one", true},
		{"an end in a character", []string{"gr\xc3"}, "gr", true},
		{"nothing", nil, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var screen bytes.Buffer
			p := &printable{stream: stream{&screen}, hints: []string{"a hint"}}
			var err error
			for _, text := range test.writes {
				if _, err = io.WriteString(p, text); err != nil {
					break
				}
			}
			if err == nil {
				err = p.commit()
			}
			if screen.String() != test.want || errors.Is(err, errBinary) != test.fails {
				t.Errorf("%q, %v; want %q", screen.String(), err, test.want)
			}
			if test.fails && len(hintsOf(err)) != 1 {
				t.Error("the hint is missing")
			}
		})
	}
}

func TestOutputAppearsWhenComplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	o := newOutputs()
	out, err := o.create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(out, "hello"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file is there before it is complete")
	}
	if err := errors.Join(out.commit(), out.discard()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, path, "hello")
}

func TestOutputThatAppearsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	o := newOutputs()
	first, err := o.create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for out, text := range map[*outputFile]string{first: "first", second: "second"} {
		if _, err := io.WriteString(out, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.commit(); err != nil {
		t.Fatal(err)
	}
	err = second.commit()
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("error is %v", err)
	}
	if err := second.discard(); err != nil {
		t.Error(err)
	}
	wantFiles(t, path, "first")
}

func TestOutputOfAbandonedRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	o := newOutputs()
	out, err := o.create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.abandon(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, path)
	if err := out.commit(); !errors.Is(err, errInterrupted) {
		t.Errorf("error of commit is %v", err)
	}
	if _, err := o.create(path, false); !errors.Is(err, errInterrupted) {
		t.Errorf("error of create is %v", err)
	}
	wantFiles(t, path)
}

// wantFiles checks that a file, and nothing else, is in its directory.
func wantFiles(t *testing.T, path string, content ...string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(content) {
		t.Errorf("in the directory: %v", files)
	}
	for _, want := range content {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the file holds %q, %v; want %q", got, err, want)
		}
	}
}

func TestRenameNew(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{
		"of the system": renameNew, "by link": renameByLink,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			for path, text := range map[string]string{from: "new", to: "old"} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := rename(from, to); !errors.Is(err, os.ErrExist) {
				t.Errorf("error is %v, want one that is os.ErrExist", err)
			}
			if got, err := os.ReadFile(to); err != nil || string(got) != "old" {
				t.Errorf("%q, %v", got, err)
			}
			if err := os.Remove(to); err != nil {
				t.Fatal(err)
			}
			if err := rename(from, to); err != nil {
				t.Error(err)
			}
			wantFiles(t, to, "new")
		})
	}
}

func TestPartNameIsShortEnough(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("a", 255), strings.Repeat("ä", 127)} {
		part := filepath.Base(partName(filepath.Join("dir", name)))
		if len(part) > 255 || !strings.HasSuffix(part, ".part") {
			t.Errorf("%d bytes: %s", len(part), part)
		}
	}
}

// TestHelpNamesAllFields holds the help of each command to the object that it prints with --json.
func TestHelpNamesAllFields(t *testing.T) {
	a := &app{console: ui.NewConsole(io.Discard), outputs: newOutputs()}
	objects := map[string]any{
		"keygen": keygenReport{}, "version": versionReport{}, "inspect": inspectReport{}, "verify": verifyReport{},
		"export": workReport{}, "encrypt": workReport{}, "decrypt": workReport{}, "cat": workReport{},
		"demo": demoReport{},
	}
	for _, cmd := range a.newRoot().Commands() {
		object, found := objects[cmd.Name()]
		if found != (cmd.Flags().Lookup("json") != nil) {
			t.Errorf("%s: there is --json, or an object, but not both", cmd.Name())
		}
		if !found {
			continue
		}
		for _, field := range jsonFields(reflect.TypeOf(object)) {
			if field == "rows" && cmd.Name() != "export" || field == "output" && cmd.Name() == "verify" {
				continue // never set there
			}
			if !regexp.MustCompile(`\b` + field + `\b`).MatchString(cmd.Long) {
				t.Errorf("culvert %s --help does not name the field %s", cmd.Name(), field)
			}
		}
	}
}

func jsonFields(object reflect.Type) []string {
	if object.Kind() == reflect.Pointer || object.Kind() == reflect.Slice {
		object = object.Elem()
	}
	if object.Kind() != reflect.Struct {
		return nil
	}
	var fields []string
	for field := range object.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" {
			fields = append(fields, name)
		}
		fields = append(fields, jsonFields(field.Type)...)
	}
	return fields
}

// TestHelp holds the help of every command to what the house promises: examples, the exit codes, lines that fit a
// terminal.
func TestHelp(t *testing.T) {
	a := &app{console: ui.NewConsole(io.Discard), outputs: newOutputs()}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" {
			return // cobra's own
		}
		if cmd.RunE != nil && cmd.HasParent() && cmd.Name() != "version" && cmd.Name() != "help" {
			if cmd.Example == "" {
				t.Errorf("%s has no examples", cmd.CommandPath())
			}
			if !strings.Contains(cmd.Long, "culvert help exit-codes") {
				t.Errorf("%s does not point to the exit codes", cmd.CommandPath())
			}
		}
		for _, text := range []string{cmd.Long, cmd.Example, cmd.Short} {
			for line := range strings.Lines(text) {
				if len([]rune(line)) > 86 {
					t.Errorf("%s: a line of %d characters: %s", cmd.CommandPath(), len([]rune(line)), line)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(a.newRoot())
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
	buf := make([]byte, 2)
	if n, err := in.Read(buf); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	cancel(errInterrupted)
	if _, err := in.Read(buf); !errors.Is(err, errInterrupted) {
		t.Errorf("error is %v", err)
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
