package plainfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/internal/compress"
)

// content is an encrypted file that is open, or one that turned out not to be.
type content struct {
	fs     *FS
	source fs.File
	info   fs.FileInfo // of the encrypted file
	shape
	sealed *agefile.ReaderAt // nil if it is shown as it is
	id     fileVersion       // what its frames are kept under

	reading sync.Mutex // held while the seek table is read
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
	version := versionOf(c.info)
	c.id = fileVersion{name, version}
	if version == nil {
		c.id.version = new(byte) // equal to no other
	}
	if c.shape, err = c.look(name); err != nil {
		return err
	}
	if version != nil {
		c.fs.shapes.put(c.id, c.shape, 1)
	}
	return nil
}

// isArmored reports whether a file is text that a binary age file can be made of.
func isArmored(src io.ReaderAt) bool {
	var begin [256]byte
	n, _ := src.ReadAt(begin[:], 0) // what cannot be read is not known to be armored
	return bytes.HasPrefix(bytes.TrimSpace(begin[:n]), []byte(armor.Header))
}

// look reads the two ends of the file.
func (c *content) look(name string) (shape, error) {
	raw := shape{asItIs, c.info.Size()}
	src, is := c.source.(io.ReaderAt)
	if !is || !c.info.Mode().IsRegular() || !mayBeSealed(name) {
		return raw, nil
	}
	sealed, err := agefile.Config{Cache: c.fs.chunks}.NewReaderAt(src, c.info.Size(), c.fs.identities...)
	_, another := errors.AsType[*age.NoIdentityMatchError](err)
	switch {
	case another && c.fs.unopened != nil:
		c.fs.unopened(name)
		return raw, nil
	case errors.Is(err, agefile.ErrCorrupt) && c.fs.armored != nil && isArmored(src):
		c.fs.armored(name)
		return raw, nil
	case another, errors.Is(err, agefile.ErrCorrupt):
		return raw, nil
	case err != nil:
		return raw, err
	}
	c.sealed = sealed
	inside := shape{decrypted, sealed.Size()}
	if !strings.HasSuffix(name, packedEnd) {
		return inside, nil
	}
	table, err := c.table()
	switch {
	case errors.Is(err, compress.ErrNoSeekTable), errors.Is(err, compress.ErrCorrupt),
		errors.Is(err, agefile.ErrCorrupt):
		return inside, nil
	case err != nil:
		return inside, err
	}
	for frame := range table.All() {
		if !c.fs.frames.fits(frame) {
			return inside, nil
		}
	}
	return shape{decompressed, table.TextSize()}, nil
}

// table gives the seek table, which is read again if others have taken its place.
func (c *content) table() (*compress.SeekTable, error) {
	if table, ok := c.fs.tables.get(c.id); ok {
		return table, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if table, ok := c.fs.tables.get(c.id); ok {
		return table, nil
	}
	c.fs.reads <- struct{}{}
	defer func() { <-c.fs.reads }()
	table, err := compress.ReadSeekTableUpTo(c.sealed, c.sealed.Size(), maxFrames)
	if err != nil {
		return nil, err
	}
	c.fs.tables.put(c.id, table, table.Memory())
	return table, nil
}

// readAt reads a range that lies within the size.
func (c *content) readAt(p []byte, offset int64) (int, error) {
	if c.form == decrypted {
		return c.sealed.ReadAt(p, offset)
	}
	table, err := c.table()
	if err != nil {
		return 0, err
	}
	if len(p) <= piece {
		return c.readFrames(table, p, offset)
	}
	return c.readPieces(table, p, offset)
}

// piece is how much of a large request is read by one goroutine at a time. Smaller requests come several at a time, if
// their caller is in a hurry.
const piece = 4 << 20

// readPieces reads the pieces of a large request at the same time.
func (c *content) readPieces(table *compress.SeekTable, p []byte, offset int64) (int, error) {
	type result struct {
		n   int
		err error
	}
	results := make([]result, (len(p)+piece-1)/piece)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(maxDecoders, len(results)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(results); i = int(next.Add(1)) - 1 {
				part := p[i*piece : min((i+1)*piece, len(p))]
				results[i].n, results[i].err = c.readFrames(table, part, offset+int64(i*piece))
			}
		})
	}
	wait.Wait()
	total := 0
	for _, r := range results {
		total += r.n
		if r.err != nil {
			return total, r.err
		}
	}
	return total, nil
}

// readFrames reads one frame after the other.
func (c *content) readFrames(table *compress.SeekTable, p []byte, offset int64) (int, error) {
	total := 0
	for frame := range table.From(offset) {
		if total == len(p) {
			break
		}
		n, err := c.fs.frames.read(c, frame, p[total:], offset+int64(total)-frame.TextOffset)
		total += n
		if err != nil {
			return total, err
		}
	}
	if total < len(p) {
		return total, io.ErrUnexpectedEOF // a fault of ours: the table has the size that the range lies in
	}
	return total, nil
}
