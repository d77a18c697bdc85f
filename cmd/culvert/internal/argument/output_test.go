package argument

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/place"
)

// newDirectory returns a new directory, and the place that a command sees there.
func newDirectory(t *testing.T) (dir string, to place.Place) {
	t.Helper()
	dir = t.TempDir()
	_, l, err := Locate(t.Context(), &command.App{}, dir, &PlaceFlags{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(nil); err != nil {
			t.Error(err)
		}
	})
	if to, err = l.Directory(); err != nil {
		t.Fatal(err)
	}
	return dir, to
}

// TestTakenNames has errors that say the same to programs as those of the place.
func TestTakenNames(t *testing.T) {
	dir, to := newDirectory(t)
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Mkdir(filepath.Join(dir, "directory"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"file": "exists", "directory": "exists and is not a regular file",
	} {
		_, err := to.Create(t.Context(), name)
		want = fmt.Sprintf("output %q %s", filepath.Join(dir, name), want)
		if !errors.Is(err, fs.ErrExist) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}

	file, err := to.Create(t.Context(), "late")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "late"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the name was taken meanwhile: %v", err)
	}
	if err := file.Discard(); err != nil {
		t.Error(err)
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
			p := &printable{Stream: command.Stream{Writer: &screen}, hints: []string{"a hint"}}
			var err error
			for _, text := range test.writes {
				if _, err = io.WriteString(p, text); err != nil {
					break
				}
			}
			if err == nil {
				err = p.Commit()
			}
			if screen.String() != test.want || errors.Is(err, ErrBinary) != test.fails {
				t.Errorf("%q, %v; want %q", screen.String(), err, test.want)
			}
			if test.fails && len(command.HintsOf(err)) != 1 {
				t.Error("the hint is missing")
			}
		})
	}
}

// TestCommittedTogether has files of a directory share their syncs as the place offers it, and explains each error.
func TestCommittedTogether(t *testing.T) {
	dir, to := newDirectory(t)
	files := make([]place.File, 3)
	for i := range files {
		var err error
		if files[i], err = to.Create(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(files[i], "rows"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	grouped, is := files[0].(place.Grouped)
	if !is {
		t.Fatal("files of a directory are committed one by one")
	}
	errs := grouped.CommitAll(files)
	if want := fmt.Sprintf("output %q exists", filepath.Join(dir, "1")); errs[0] != nil || errs[2] != nil ||
		!errors.Is(errs[1], fs.ErrExist) || errs[1].Error() != want {
		t.Errorf("%v, want %s for one of them", errs, want)
	}
	for i, size := range []int{4, 0, 4} {
		if content, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i))); len(content) != size || err != nil {
			t.Errorf("file %d: %q, %v", i, content, err)
		}
	}
}
