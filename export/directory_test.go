package export_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/export"
	"culvert/manifest"
)

// exportedDirectory returns the files of an export of which one table has failed, and what it was written with.
func exportedDirectory(t *testing.T, recipients ...age.Recipient) fstest.MapFS {
	t.Helper()
	to := newShelf()
	plan := export.Plan{Recipients: recipients, Unencrypted: len(recipients) == 0}
	src := schema{"a": {rows: 1000}, "b": {rows: 10}, "denied": nil}
	var partial *export.PartialError
	if _, err := plan.Tables(t.Context(), to, src, []string{"a", "denied", "b"}); !errors.As(err, &partial) {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for name, content := range to.files {
		files[name] = &fstest.MapFile{Data: content}
	}
	return files
}

func TestDirectory(t *testing.T) {
	identity := newIdentity(t)
	files := exportedDirectory(t, identity.Recipient())
	for _, name := range []string{"z", "c", "x"} {
		files[name] = &fstest.MapFile{}
	}
	d, err := export.OpenDirectory(files, identity)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	var partial *export.PartialError
	err = d.Verify(t.Context(), func(table *manifest.Table, err error) {
		if seen = append(seen, table.Name); err != nil {
			t.Errorf("%s: %v", table.Name, err)
		}
	})
	if !errors.As(err, &partial) || partial.Failed != 1 || !slices.Equal(seen, []string{"a", "denied", "b"}) {
		t.Errorf("%q, %v", seen, err)
	}
	read, text := d.Progress()
	if read != d.Size() || text <= read/2 {
		t.Errorf("%d of %d bytes are read, %d of text", read, d.Size(), text)
	}
	names, more, err := d.Unlisted(2)
	if len(names) != 2 || !slices.IsSorted(names) || more != 1 || err != nil {
		t.Errorf("%q, %d, %v", names, more, err)
	}
	r, err := d.Open(&d.Manifest.Tables[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Open(&d.Manifest.Tables[1]); err == nil {
		t.Error("a table that has failed is opened")
	}
}

func TestDirectoryDamaged(t *testing.T) {
	files := exportedDirectory(t)
	for name, damage := range map[string]func(fstest.MapFS){
		"missing":   func(files fstest.MapFS) { delete(files, "a.csv.zst") },
		"directory": func(files fstest.MapFS) { files["a.csv.zst"] = &fstest.MapFile{Mode: fs.ModeDir} },
		"pipe":      func(files fstest.MapFS) { files["a.csv.zst"] = &fstest.MapFile{Mode: fs.ModeNamedPipe} },
		"longer": func(files fstest.MapFS) {
			files["a.csv.zst"] = &fstest.MapFile{Data: append(slices.Clone(files["a.csv.zst"].Data), 0)}
		},
		"flipped": func(files fstest.MapFS) {
			content := slices.Clone(files["a.csv.zst"].Data)
			content[len(content)-1] ^= 1
			files["a.csv.zst"] = &fstest.MapFile{Data: content}
		},
		"another": func(files fstest.MapFS) { files["a.csv.zst"] = files["b.csv.zst"] },
	} {
		changed := fstest.MapFS{}
		for name, file := range files {
			changed[name] = file
		}
		damage(changed)
		d, err := export.OpenDirectory(changed)
		if err != nil {
			t.Fatal(err)
		}
		var damaged *export.DamagedError
		err = d.Verify(t.Context(), nil)
		if !errors.As(err, &damaged) || *damaged != (export.DamagedError{Damaged: 1, Files: 2}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDirectoryRefused(t *testing.T) {
	plain, identity := exportedDirectory(t), newIdentity(t)
	list := plain[manifest.Name]
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  error
	}{
		"none": {fstest.MapFS{}, export.ErrNoManifest},
		"two": {
			fstest.MapFS{manifest.Name: list, manifest.EncryptedName: list}, export.ErrDamaged,
		},
		"lie": {fstest.MapFS{manifest.EncryptedName: list}, agefile.ErrCorrupt},
		"sealed": {
			fstest.MapFS{manifest.EncryptedName: {Data: seal(t, identity, list.Data)}}, manifest.ErrInvalid,
		},
		"directory": {fstest.MapFS{manifest.Name: {Mode: fs.ModeDir}}, export.ErrDamaged},
	} {
		_, err := export.OpenDirectory(test.files, identity)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestDirectoryCanceled(t *testing.T) {
	d, err := export.OpenDirectory(exportedDirectory(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = d.Verify(ctx, func(*manifest.Table, error) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
