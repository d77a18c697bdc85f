package plainfs

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/export"
)

// content is an encrypted file that is open, or one that turned out not to be.
type content struct {
	fs     *FS
	source fs.File
	info   fs.FileInfo // of the encrypted file
	shape
	text io.ReaderAt // nil if it is shown as it is
}

// open opens a file of the file system and finds out how it is shown. The error is not about what is in it.
func (f *FS) open(name string) (*content, error) {
	source, err := f.source.Open(name)
	if err != nil {
		return nil, err
	}
	c := &content{fs: f, source: source}
	if err := c.recognize(name); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return c, nil
}

func (c *content) recognize(name string) (err error) {
	if c.info, err = c.source.Stat(); err != nil {
		return err
	}
	config := export.ReadConfig{
		Identities: c.fs.identities, Cache: c.fs.cache, Packed: !strings.HasSuffix(name, packedEnd),
	}
	version := fileVersion{name, versionOf(c.info)}
	if version.version == nil {
		c.shape, err = c.look(name, config)
		return err
	}
	config.Key = version
	if c.shape, err = c.look(name, config); err == nil {
		c.fs.shapes.Put(version, c.shape, 1)
	}
	return err
}

// look reads the two ends of the file.
func (c *content) look(name string, config export.ReadConfig) (shape, error) {
	raw := shape{asItIs, c.info.Size()}
	src, is := c.source.(io.ReaderAt)
	if !is || !c.info.Mode().IsRegular() || !mayBeSealed(name) {
		return raw, nil
	}
	text, err := config.NewReaderAt(src, c.info.Size())
	_, another := errors.AsType[*age.NoIdentityMatchError](err)
	switch {
	case another && c.fs.unopened != nil:
		c.fs.unopened(name)
	case text == nil && errors.Is(err, export.ErrSequential) && c.fs.armored != nil:
		c.fs.armored(name)
	case errors.Is(err, agefile.ErrCorrupt) && c.fs.damaged != nil:
		c.fs.damaged(name)
	}
	switch {
	case another, errors.Is(err, agefile.ErrCorrupt), text == nil && errors.Is(err, export.ErrSequential):
		return raw, nil
	case err != nil && !errors.Is(err, export.ErrSequential):
		return raw, err
	case !text.Encrypted():
		return raw, nil
	}
	c.text = text
	if text.Unpacked() {
		return shape{decompressed, text.Size()}, nil
	}
	return shape{decrypted, text.Size()}, nil
}
