package export

import (
	"errors"
	"io"
	"io/fs"

	"culvert/export/internal/joined"
	"culvert/manifest"
)

// TableReaderAt reads the text of a table at any offset, with one header, whether it is in one file or in parts. Its
// methods may be called concurrently. At most 16 files are open at a time, more only if as many are being read.
type TableReaderAt struct{ parts *joined.ReaderAt }

// partKey is the key of a part in a Cache.
type partKey struct {
	directory any
	file      string
}

// ReaderAt opens a table for reading at random. If the ReadConfig of the directory has a Cache and a Key, which then
// identifies the export, all ReaderAt of a table share decoded data. The error is [ErrSequential] if the files can only
// be read from their beginning. ReaderAt does not verify the files; see [Directory.VerifyTable].
func (d *Directory) ReaderAt(t *manifest.Table) (*TableReaderAt, error) {
	if t.Error != "" {
		return nil, missing(t)
	}
	if err := d.joins(t); err != nil {
		return nil, err
	}
	config := d.config
	if config.Cache == nil {
		config.Cache = NewCache(0)
	}
	if config.Key == nil {
		config.Key = new(byte) // equal to no other
	}
	parts, err := joined.NewReaderAt(t, func(part *manifest.Part) (joined.File, error) {
		return d.openPart(config, part)
	})
	if err != nil {
		return nil, err
	}
	return &TableReaderAt{parts}, nil
}

// Size returns the size of the text.
func (r *TableReaderAt) Size() int64 { return r.parts.Size() }

// ReadAt reads text. If the files are encrypted, all bytes that it returns are authentic, even with an error.
func (r *TableReaderAt) ReadAt(p []byte, off int64) (int, error) { return r.parts.ReadAt(p, off) }

// Close closes all files. Reads under way fail or end before.
func (r *TableReaderAt) Close() error { return r.parts.Close() }

// PartReaderAt reads the text of a file of an export at any place. Its methods may be called concurrently.
type PartReaderAt struct {
	*ReaderAt
	io.Closer
}

// OpenPart opens a file that the manifest lists for reading at random. The error is [ErrSequential] if it can only be
// read from its beginning. OpenPart does not verify the file; see [Directory.ReadPart].
func (d *Directory) OpenPart(p *manifest.Part) (*PartReaderAt, error) {
	config := d.config
	if config.Cache == nil {
		config.Cache = NewCache(0)
	}
	if config.Key == nil {
		config.Key = new(byte) // equal to no other
	}
	return d.openPart(config, p)
}

func (d *Directory) openPart(config ReadConfig, want *manifest.Part) (_ *PartReaderAt, err error) {
	f, err := d.fs.Open(want.File)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(&fs.PathError{Op: "read", Path: want.File, Err: err}, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	src, is := f.(io.ReaderAt)
	switch {
	case !is || !info.Mode().IsRegular():
		return nil, ErrSequential
	case info.Size() != want.FileBytes:
		return nil, damagef("it has %d bytes, and the manifest says %d", info.Size(), want.FileBytes)
	}
	config.Key = partKey{config.Key, want.File}
	text, err := config.NewReaderAt(src, info.Size())
	switch {
	case err != nil:
		return nil, err
	case text.Encrypted() != d.Manifest.Encrypted:
		return nil, damagef("it is another kind of file than the manifest says")
	case text.Size() != want.TextBytes:
		return nil, damagef("it holds %d bytes of text, and the manifest says %d", text.Size(), want.TextBytes)
	}
	return &PartReaderAt{text, f}, nil
}
