package export

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"

	"filippo.io/age"
)

// ErrDamaged marks errors of an export that is not as it was written: files are damaged, missing or replaced.
var ErrDamaged = errors.New("export: not as it was exported")

// ErrNoManifest means that there is no manifest, because the directory is not an export or the export was stopped.
var ErrNoManifest = fmt.Errorf("%w: there is no manifest", ErrDamaged)

// DamagedError reports how many files of an export are damaged or missing. It wraps ErrDamaged.
type DamagedError struct {
	Damaged, Files int
}

func (e *DamagedError) Error() string {
	plural := "s"
	if e.Files == 1 {
		plural = ""
	}
	return fmt.Sprintf("%v: %d of %d file%s damaged or missing", ErrDamaged, e.Damaged, e.Files, plural)
}

// Unwrap returns ErrDamaged.
func (e *DamagedError) Unwrap() error { return ErrDamaged }

// damage is an ErrDamaged with a text of its own.
type damage string

func damagef(format string, args ...any) error { return damage(fmt.Sprintf(format, args...)) }

func (d damage) Error() string { return "export: " + string(d) }
func (d damage) Unwrap() error { return ErrDamaged }

// Directory is an export of several tables: a place, or a part of one, with a manifest in it.
type Directory struct {
	Manifest *Manifest

	fs     fs.FS
	config ReadConfig

	read, text atomic.Int64
}

// OpenDirectory opens the export whose files are at the root of fsys. Nothing else needs to be closed.
func OpenDirectory(fsys fs.FS, identities ...age.Identity) (*Directory, error) {
	return ReadConfig{Identities: identities}.OpenDirectory(context.Background(), fsys)
}

// OpenDirectory is like the function [OpenDirectory]. An error about the manifest is an [*fs.PathError].
func (c ReadConfig) OpenDirectory(ctx context.Context, fsys fs.FS) (*Directory, error) {
	var names []string
	for _, name := range manifestNames {
		switch _, err := fs.Lstat(fsys, name); {
		case err == nil:
			names = append(names, name)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	switch len(names) {
	case 0:
		return nil, ErrNoManifest
	case 2:
		return nil, fmt.Errorf("%w: there are two manifests", ErrDamaged)
	}
	d := &Directory{fs: fsys, config: c}
	name := names[0]
	err := d.use(ctx, name, nil, func(text *Reader) (err error) {
		if text.encrypted != (name == EncryptedManifestName) || text.Compression() != None {
			return fmt.Errorf("%w: it does not begin as one", ErrManifest)
		}
		d.Manifest, err = ReadManifest(text)
		if err == nil && d.Manifest.Encrypted != text.encrypted {
			err = fmt.Errorf("%w: it is of files that are encrypted, and is not", ErrManifest)
		}
		return err
	})
	if err != nil {
		if _, is := errors.AsType[*fs.PathError](err); !is {
			err = &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return nil, err
	}
	return d, nil
}

// Size returns the size of all files that the manifest lists, in bytes.
func (d *Directory) Size() (total int64) {
	for i := range d.Manifest.Tables {
		total += d.Manifest.Tables[i].FileBytes
	}
	return total
}

// Progress returns the number of bytes that Verify has read from files, and the number of bytes of their text. It may
// be called at any time.
func (d *Directory) Progress() (files, text int64) { return d.read.Load(), d.text.Load() }

// Open opens the file of a table of the manifest. It does not verify the file; see [Directory.VerifyTable].
func (d *Directory) Open(t *ManifestTable) (*Reader, error) {
	if t.Error != "" {
		return nil, fmt.Errorf("export: table %q is missing, since its export failed: %s", t.Name, t.Error)
	}
	return d.config.Open(d.fs, t.File)
}

// Verify reads all files once and compares them with the manifest. After each table it calls checked, if that is not
// nil, with the error of VerifyTable.
//
// The error is a [*DamagedError] if files are damaged or missing. It is a [*PartialError] if all files are intact but
// some tables have none, because their export failed.
func (d *Directory) Verify(ctx context.Context, checked func(*ManifestTable, error)) error {
	damaged, failed, tables := 0, 0, d.Manifest.Tables
	for i := range tables {
		t := &tables[i]
		err := d.VerifyTable(ctx, t)
		switch {
		case context.Cause(ctx) != nil:
			return cmp.Or(err, context.Cause(ctx))
		case t.Error != "":
			failed++
		case err != nil:
			damaged++
		}
		if checked != nil {
			checked(t, err)
		}
	}
	switch {
	case damaged > 0:
		return &DamagedError{Damaged: damaged, Files: len(tables) - failed}
	case failed > 0:
		return &PartialError{Failed: failed, Tables: len(tables)}
	}
	return nil
}

// VerifyTable reads the file of a table and compares its size, its SHA-256 and the size of its text with the manifest.
// Reading the text also checks each encrypted chunk and each frame. If the export of the table failed, VerifyTable does
// nothing.
func (d *Directory) VerifyTable(ctx context.Context, t *ManifestTable) error {
	if t.Error != "" {
		return nil
	}
	sum := sha256.New()
	read := io.MultiWriter(sum, counterOf(&d.read))
	err := d.use(ctx, t.File, &expected{t.FileBytes, read}, func(text *Reader) error {
		if text.encrypted != d.Manifest.Encrypted || text.armored {
			return damagef("it is another kind of file than the manifest says")
		}
		n, err := io.Copy(counterOf(&d.text), text)
		if err == nil && n != t.TextBytes {
			err = damagef("it holds %d bytes of text, and the manifest says %d", n, t.TextBytes)
		}
		return err
	})
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != t.SHA256 {
		err = damagef("its SHA-256 is not that in the manifest")
	}
	return err
}

// expected is the size of a file, and a writer that receives its bytes.
type expected struct {
	size int64
	read io.Writer
}

// use opens a regular file and calls use with its text. If something is expected, it reads the file once, to its end.
func (d *Directory) use(ctx context.Context, name string, want *expected, use func(*Reader) error) (err error) {
	info, err := fs.Lstat(d.fs, name)
	if err == nil && info.Mode().IsRegular() {
		var f fs.File
		if f, err = d.fs.Open(name); err == nil {
			defer func() { err = errors.Join(err, f.Close()) }()
			info, err = f.Stat() // something else may have taken its place
			if err == nil && info.Mode().IsRegular() && (want == nil || info.Size() == want.size) {
				return d.useFile(&contextReader{ctx, f}, name, want, use)
			}
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damagef("it is missing")
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return damagef("it is not a regular file")
	}
	return damagef("it has %d bytes, and the manifest says %d", info.Size(), want.size)
}

func (d *Directory) useFile(src io.Reader, name string, want *expected, use func(*Reader) error) error {
	if want != nil {
		src = io.TeeReader(src, want.read)
	}
	text, err := d.config.NewReader(src, name)
	if err != nil {
		return err
	}
	err = use(text)
	// The goroutines of the text have read src until they end here.
	if closeErr := text.Close(); err != nil || closeErr != nil {
		return errors.Join(err, closeErr)
	}
	_, err = io.Copy(io.Discard, src)
	return err
}

// Unlisted returns the names of files in the directory that the manifest does not list: up to most of them, sorted,
// and the number of the others.
func (d *Directory) Unlisted(most int) (names []string, more int, err error) {
	const batch = 1000
	listed := map[string]bool{}
	for _, name := range manifestNames {
		listed[name] = true
	}
	for i := range d.Manifest.Tables {
		listed[d.Manifest.Tables[i].File] = true
	}
	f, err := d.fs.Open(".")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	dir, is := f.(fs.ReadDirFile)
	if !is {
		return nil, 0, &fs.PathError{Op: "readdir", Path: ".", Err: errors.ErrUnsupported}
	}
	for {
		entries, err := dir.ReadDir(batch)
		for _, entry := range entries {
			switch {
			case listed[entry.Name()]:
			case len(names) < most:
				names = append(names, entry.Name())
			default:
				more++
			}
		}
		if err == io.EOF {
			slices.Sort(names)
			return names, more, nil
		}
		if err != nil {
			return names, more, err
		}
	}
}

// contextReader reads until the context ends.
type contextReader struct {
	ctx context.Context
	src io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.src.Read(p)
}

// counterOf returns a writer that adds to n.
func counterOf(n *atomic.Int64) io.Writer { return (*countingWriter)(n) }

type countingWriter atomic.Int64

func (c *countingWriter) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(p)))
	return len(p), nil
}
