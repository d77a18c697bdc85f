package command

import (
	"errors"
	"fmt"
	"testing"

	"culvert/agefile"
)

// The names of packages are for who reads the code.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"agefile: not a valid age file: chunk 3":         "not a valid age file: chunk 3",
		"export: source: table \"x\" does not exist":     "table \"x\" does not exist",
		"open keyfile: no such file":                     "open keyfile: no such file",
		"first: bad\ncompress: corrupt zstd data: magic": "first: bad\ncorrupt zstd data: magic",
	} {
		if got := Plain(errors.New(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	err := About("x.age", fmt.Errorf("%w: chunk 3", agefile.ErrCorrupt))
	want := "x.age: " + Plain(agefile.ErrCorrupt) + ": chunk 3"
	if err.Error() != want || ExitCode(err) != ExitIntegrity {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestForShell(t *testing.T) {
	for argument, want := range map[string]string{
		"/srv/a_b-1.txt": "/srv/a_b-1.txt", "über": "über", "": "''", "two words": "'two words'",
		"it's": `'it'\''s'`, "a$(b)": "'a$(b)'", "*": "'*'", "~": "'~'", "culvert://h:1/a%20b": "culvert://h:1/a%20b",
		"culvert://[::1]:7/": "'culvert://[::1]:7/'",
	} {
		if got := ForShell(argument); got != want {
			t.Errorf("%s: got %s, want %s", argument, got, want)
		}
	}
}
