package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/export"
)

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

func TestDirectoryOfAbandonedRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tables", "out")
	dir := filepath.Dir(path)
	o := newOutputs()
	if err := o.mkdir(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := o.create(path, false); err != nil {
		t.Fatal(err)
	}
	if err := o.abandon(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir)
	if err := o.mkdir(dir); !errors.Is(err, errInterrupted) {
		t.Errorf("error of mkdir is %v", err)
	}
	wantFiles(t, dir)
}

// TestDirectoryOfAnotherRun has another run fill the directory after this one has found it empty.
func TestDirectoryOfAnotherRun(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), export.EncryptedManifestName)
	dir := filepath.Dir(manifest)
	if err := checkOutputDir(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte("of another"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &outputDir{outputs: newOutputs(), path: dir}
	if _, err := d.Create("orders.csv"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the error is %v", err)
	}
	wantFiles(t, manifest, "of another")
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
