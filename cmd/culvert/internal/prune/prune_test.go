package prune

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culvert/cmd/culvert/internal/argument"
	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/place/dir"
	"culvert/source"
)

// writeExport writes an export of two tables, one of them in parts, and perhaps one that has failed.
func writeExport(t *testing.T, dir, database string, begun time.Time, fails bool) {
	t.Helper()
	m := &manifest.Manifest{
		Version: 3, Tool: "a test", Begun: begun, Ended: begun.Add(time.Minute), Database: database, Consistent: true,
		Format: "csv", Compression: "none",
	}
	const text = "i\n1\n"
	table := func(name string, files ...string) {
		one := manifest.Table{Name: name, HeaderBytes: 2, Columns: []manifest.Column{{Name: "i"}}}
		for _, file := range files {
			path := filepath.Join(dir, filepath.FromSlash(file))
			err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			one.Parts = append(one.Parts, manifest.Part{
				File: file, Rows: 1, TextBytes: 4, FileBytes: 4, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
				Sum: strings.Repeat("0", 32),
			})
			one.Rows, one.FileBytes = one.Rows+1, one.FileBytes+4
		}
		one.TextBytes, one.Sum = 2+2*one.Rows, strings.Repeat("0", 32)
		m.Tables = append(m.Tables, one)
	}
	table("a", "a.csv")
	table("b", "b/000001.csv", "b/000002.csv")
	if fails {
		m.Tables = append(m.Tables, manifest.Table{Name: "c", Error: "it is locked"})
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifest.Name), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// dying is a place whose program dies before a change.
type dying struct {
	place.Place
	left int // changes before that
}

var errDead = errors.New("dead")

func (d *dying) die() error {
	if d.left == 0 {
		return errDead
	}
	d.left--
	return nil
}

func (d *dying) Remove(ctx context.Context, name string) error {
	if err := d.die(); err != nil {
		return err
	}
	return d.Place.Remove(ctx, name)
}

func (d *dying) Replace(ctx context.Context, name string) (place.File, error) {
	if err := d.die(); err != nil {
		return nil, err
	}
	return d.Place.Replace(ctx, name)
}

func open(t *testing.T, root string) place.Place {
	t.Helper()
	p, err := dir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// run is one run of the verb.
func run(t *testing.T, p place.Place, keep policy) *Report {
	t.Helper()
	r := &Report{Yes: true}
	if err := r.scan(t.Context(), p, export.ReadConfig{}, &argument.AuthorFlags{}); err != nil {
		t.Fatal(err)
	}
	r.choose(&keep)
	if err := r.remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return r
}

// filesIn returns how many files are in a directory, or in those below it.
func filesIn(t *testing.T, root, name string) (n int) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), name, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return notExist(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDeath ends a run before each of its changes: exports that are kept stay whole, others are whole or marked, and
// the next run removes those. Files of others stay.
func TestDeath(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const whole = 4 // files of an export
	for death := range 24 {
		root := t.TempDir()
		// At noon here: prune counts days in the time zone of this machine.
		begun := time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local).UTC()
		want := map[string]int{"notes": 1, "damaged": 3}
		names := make([]string, 6)
		for i := range names { // newest first, two a day, of which the newest have failed tables
			names[i] = fmt.Sprintf("run%d", i)
			writeExport(t, filepath.Join(root, names[i]), "shop", begun, i < 3)
			begun = begun.Add(-12 * time.Hour)
			if want[names[i]] = 0; i == 0 || i == 2 || i == 3 { // two days, and the newest that is good
				want[names[i]] = whole
			}
		}
		writeExport(t, filepath.Join(root, "other"), "other database", begun, false)
		want["other"] = whole
		foreign := names[random.IntN(len(names))]
		want[foreign]++
		writeExport(t, filepath.Join(root, "damaged"), "shop", begun.AddDate(1, 0, 0), false)
		err := errors.Join(os.Remove(filepath.Join(root, "damaged", "b", "000002.csv")),
			os.WriteFile(filepath.Join(root, foreign, "foreign"), []byte("x"), 0o600),
			os.Mkdir(filepath.Join(root, "notes"), 0o700),
			os.WriteFile(filepath.Join(root, "notes", "a.csv"), []byte("i\n1\n"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		p := open(t, root)
		keep := policy{daily: 2}
		first := run(t, &dying{p, death}, keep)
		for _, name := range names {
			n := filesIn(t, root, name)
			_, err := os.Stat(filepath.Join(root, name, mark))
			isWhole := n == whole || name == foreign && n == whole+1
			if !isWhole && err != nil && n != 0 && (name != foreign || n != 1) {
				t.Fatalf("after death %d, %s has %d files and is not marked: %s", death, name, n, first.Text())
			}
			if want[name] >= whole && (!isWhole || err == nil) {
				t.Fatalf("after death %d, %s is to be kept and has %d files", death, name, n)
			}
		}
		second := run(t, p, keep)
		for name, n := range want {
			if got := filesIn(t, root, name); got != n {
				t.Fatalf("after death %d and another run, %s has %d files, want %d: %s", death, name, got, n,
					second.Text())
			}
		}
		for _, name := range names {
			// An empty directory may be left.
			entries, err := os.ReadDir(filepath.Join(root, name))
			if want[name] == 0 && (len(entries) > 0 || notExist(err) != nil) {
				t.Errorf("after death %d, the directory %s is left: %v, %v", death, name, entries, err)
			}
		}
	}
}

// TestMarkOfAnother has a new export in the directory of one that was being removed.
func TestMarkOfAnother(t *testing.T) {
	root := t.TempDir()
	begun := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	writeExport(t, filepath.Join(root, "run"), "shop", begun, false)
	p := open(t, root)
	old := &manifest.Manifest{Begun: begun.Add(-time.Hour)}
	sub, err := place.Sub(p, "run")
	if err == nil {
		err = setMark(t.Context(), sub, textOf(old))
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, p, policy{last: 1}); r.Exports[0].Result != kept {
		t.Errorf("%+v", r.Exports[0])
	}
}

// TestNotTheNewest has exports that are not to take the place of others: by a wrong clock, without rows, and by others.
func TestNotTheNewest(t *testing.T) {
	root := t.TempDir()
	begun := time.Now().UTC().Truncate(time.Second)
	for name, at := range map[string]time.Time{
		"old": begun.Add(-time.Hour), "now": begun, "soon": begun.Add(time.Hour), "late": begun.AddDate(1, 0, 0),
	} {
		writeExport(t, filepath.Join(root, name), "shop", at, false)
	}
	empty := manifest.Manifest{
		Version: 3, Tool: "a test", Begun: begun.Add(2 * time.Hour), Ended: begun.Add(2 * time.Hour), Database: "shop",
		Format: "csv", Compression: "none", Tables: []manifest.Table{{
			Name: "a", Columns: []manifest.Column{{Name: "i"}},
			Definition: &source.Definition{Dialect: source.SQLite, Name: "a"},
		}},
	}
	var b bytes.Buffer
	_, err := empty.WriteTo(&b)
	name := filepath.Join(root, "empty", manifest.Name)
	err = errors.Join(err, os.Mkdir(filepath.Dir(name), 0o700), os.WriteFile(name, b.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, open(t, root), policy{last: 1})
	got := map[string]string{}
	for _, e := range r.Exports {
		got[e.Name] = e.Result
	}
	want := map[string]string{"old": removed, "now": removed, "soon": kept, "late": left, "empty": kept}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v: %s", got, want, r.Text())
	}
}
