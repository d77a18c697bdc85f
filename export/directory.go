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
	"path"
	"runtime"
	"slices"
	"sync/atomic"

	"filippo.io/age"

	"culvert/export/internal/joined"
	"culvert/manifest"
	"culvert/mask"
	"culvert/place"
	"culvert/source"
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
	Manifest *manifest.Manifest

	// MaskKey is the key by which values were masked. Only Compare needs it.
	MaskKey *mask.Key

	// MaskPrograms are those that the rules of masks name, for Compare. The caller ends them.
	MaskPrograms *mask.Programs

	// Readers is how many files are read at the same time, by several calls. They share the jobs, so that their memory
	// is not multiplied. Zero means one.
	Readers int

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
	for _, name := range []string{manifest.EncryptedName, manifest.Name} {
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
		if text.encrypted != (name == manifest.EncryptedName) || text.Compression() != None {
			return fmt.Errorf("%w: it does not begin as one", manifest.ErrInvalid)
		}
		d.Manifest, err = manifest.Read(text)
		if err == nil && d.Manifest.Encrypted != text.encrypted {
			err = fmt.Errorf("%w: it is of files that are encrypted, and is not", manifest.ErrInvalid)
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
	if d.Manifest.Schema != nil {
		total += d.Manifest.Schema.FileBytes
	}
	return total
}

// Progress returns the number of bytes that Verify has read from files, and the number of bytes of their text. It may
// be called at any time.
func (d *Directory) Progress() (files, text int64) { return d.read.Load(), d.text.Load() }

// Open opens a table of the manifest. The text of a table in parts has one header, and an error about a part is an
// [*fs.PathError]. Open does not verify the files; see [Directory.VerifyTable].
func (d *Directory) Open(t *manifest.Table) (*Reader, error) {
	if t.Error != "" {
		return nil, missing(t)
	}
	if t.Parted() {
		return d.openJoined(t)
	}
	return d.config.Open(d.fs, t.File())
}

func missing(t *manifest.Table) error {
	return fmt.Errorf("export: table %q is missing, since its export failed: %s", t.Name, t.Error)
}

// Table returns the table whose file, or directory of parts, has a name; or nil.
func (d *Directory) Table(file string) *manifest.Table {
	for i := range d.Manifest.Tables {
		if t := &d.Manifest.Tables[i]; t.Error == "" && t.File() == file {
			return t
		}
	}
	return nil
}

// Verify reads all files once and compares them with the manifest. After each table it calls checked, if that is not
// nil, with the error of VerifyTable.
//
// The error is a [*DamagedError] if files are damaged or missing, joined with that of the file of the schema. It is a
// [*PartialError] if all files are intact but some tables have none, because their export failed.
func (d *Directory) Verify(ctx context.Context, checked func(*manifest.Table, error)) error {
	damaged, failed, tables := 0, 0, d.Manifest.Tables
	files := len(tables)
	ofSchema := d.readSchema(ctx, func(source.Statement) {})
	if d.Manifest.Schema != nil {
		files++
	}
	if ofSchema != nil {
		if context.Cause(ctx) != nil {
			return ofSchema
		}
		damaged++
	}
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
		return withSchema(ofSchema, &DamagedError{Damaged: damaged, Files: files - failed})
	case failed > 0:
		return &PartialError{Failed: failed, Tables: len(tables)}
	}
	return nil
}

// withSchema joins the error of the file of the schema, if there is one, with that of all.
func withSchema(ofSchema error, all *DamagedError) error {
	if ofSchema == nil {
		return all
	}
	return errors.Join(ofSchema, all)
}

// VerifyTable reads each file of a table and compares its size, its SHA-256 and the size of its text with the manifest.
// Reading the text also checks each encrypted chunk and each frame. An error about a part is an [*fs.PathError]. If the
// export of the table failed, VerifyTable does nothing.
func (d *Directory) VerifyTable(ctx context.Context, t *manifest.Table) error {
	if t.Error != "" {
		return nil
	}
	for i := range t.Parts {
		err := d.verifyPart(ctx, &t.Parts[i])
		if t.Parted() {
			err = joined.AboutPart(&t.Parts[i], err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Directory) verifyPart(ctx context.Context, p *manifest.Part) error {
	return d.ReadPart(ctx, p, func(io.Reader) error { return nil })
}

// ReadPart calls use with the text of a file that the manifest lists, and meanwhile verifies the file as VerifyTable
// does. It reads what use has left of the text. What use has read is known to be right only when ReadPart returns nil.
// The reader must not be used after use returns, whose error ReadPart returns. The context ends reading.
func (d *Directory) ReadPart(ctx context.Context, p *manifest.Part, use func(text io.Reader) error) error {
	sum := sha256.New()
	read := io.MultiWriter(sum, counterOf(&d.read))
	err := d.use(ctx, p.File, &expected{p.FileBytes, read}, func(text *Reader) error {
		if text.encrypted != d.Manifest.Encrypted || text.armored {
			return damagef("it is another kind of file than the manifest says")
		}
		counted := &countedText{src: text, total: &d.text}
		err := use(counted)
		if err == nil {
			_, err = io.Copy(io.Discard, counted)
		}
		if err == nil && counted.n != p.TextBytes {
			err = damagef("it holds %d bytes of text, and the manifest says %d", counted.n, p.TextBytes)
		}
		return err
	})
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		err = damagef("its SHA-256 is not that in the manifest")
	}
	return err
}

// CopyTable writes the text of a table to dst, with one header, and verifies each file meanwhile as VerifyTable does.
// What was written is known to be right only when CopyTable returns nil.
func (d *Directory) CopyTable(ctx context.Context, t *manifest.Table, dst io.Writer) error {
	if t.Error != "" {
		return missing(t)
	}
	if err := d.joins(t); err != nil {
		return err
	}
	for i := range t.Parts {
		err := d.ReadPart(ctx, &t.Parts[i], func(text io.Reader) error {
			if i > 0 {
				if _, err := io.CopyN(io.Discard, text, t.HeaderBytes); err != nil {
					return err
				}
			}
			_, err := io.Copy(dst, text)
			return err
		})
		if t.Parted() {
			err = joined.AboutPart(&t.Parts[i], err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countedText counts what is read of a text.
type countedText struct {
	src   *Reader
	n     int64
	total *atomic.Int64
}

func (c *countedText) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.n += int64(n)
	c.total.Add(int64(n))
	return n, err
}

// WriteTo copies the text without another buffer.
func (c *countedText) WriteTo(w io.Writer) (int64, error) {
	n, err := io.Copy(io.MultiWriter(w, counterOf(c.total)), c.src)
	c.n += n
	return n, err
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
	config := d.config
	if d.Readers > 1 {
		config.Jobs = max(1, cmp.Or(config.Jobs, runtime.GOMAXPROCS(0))/d.Readers)
	}
	text, err := config.NewReader(src, name)
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

// Unlisted returns the names of files in the directory, and in the directories of tables in parts, that the manifest
// does not list: up to most of them, sorted, and the number of the others.
func (d *Directory) Unlisted(most int) (names []string, more int, err error) {
	listed := map[string]bool{manifest.EncryptedName: true, manifest.Name: true}
	if d.Manifest.Schema != nil {
		listed[d.Manifest.Schema.File] = true
	}
	directories := []string{"."}
	for i := range d.Manifest.Tables {
		t := &d.Manifest.Tables[i]
		listed[t.File()] = true
		for _, part := range t.Parts {
			listed[part.File] = true
		}
		if t.Parted() {
			directories = append(directories, t.File())
		}
	}
	for _, directory := range directories {
		err := d.list(directory, func(name string) {
			switch {
			case listed[name]:
			case len(names) < most:
				names = append(names, name)
			default:
				more++
			}
		})
		if unnamable, is := errors.AsType[*place.UnnamableError](err); is {
			more += int(unnamable.Count)
			continue
		}
		if err != nil && (directory == "." || !errors.Is(err, fs.ErrNotExist)) { // a lost one is damage to the table
			return names, more, err
		}
	}
	slices.Sort(names)
	return names, more, nil
}

// list calls found with the name of each file in a directory.
func (d *Directory) list(directory string, found func(name string)) (err error) {
	const batch = 1000
	f, err := d.fs.Open(directory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, is := f.(fs.ReadDirFile)
	if !is {
		return &fs.PathError{Op: "readdir", Path: directory, Err: errors.ErrUnsupported}
	}
	for {
		page, err := entries.ReadDir(batch)
		for _, entry := range page {
			found(path.Join(directory, entry.Name()))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
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
