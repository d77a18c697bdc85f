package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"culvert/fileservice"
	"culvert/place"
)

// ranges are how blocks are read from a place that is no server.
type ranges struct {
	blocks  int64       // of one read, which begins at a multiple of them: see place/bucket
	buffers chan []byte // one for each read under way; nil before its first use
}

const (
	rangesAtOnce = 4        // by default
	rangeBlocks  = 8        // unless there are many at once
	rangeMemory  = 80 << 20 // bytes, for all ranges
)

func newRanges(atOnce int) ranges {
	r := ranges{rangeBlocks, make(chan []byte, atOnce)}
	for int64(atOnce)*r.blocks*fileservice.BlockSize > rangeMemory {
		r.blocks /= 2
	}
	for range atOnce {
		r.buffers <- nil
	}
	return r
}

// sourceFile is a version of a file that is pulled. Its methods may be called concurrently. A server is asked for each
// block by name and version, and any other place has the file open.
type sourceFile struct {
	from    *otherEnd
	name    string
	version fileservice.Version

	file  fs.File // nil at a server, as are the next ones
	at    io.ReaderAt
	kept  kept
	check *check // nil if there is no checksum
}

// open opens a version of a file to pull.
func (o *otherEnd) open(name string, version fileservice.Version) (*sourceFile, error) {
	if o.server != nil {
		return &sourceFile{from: o, name: name, version: version}, nil
	}
	f, err := o.openFile(name, version)
	if err == nil {
		f.check = newCheck(f.kept.sum, version.Size)
	}
	return f, err
}

// openFile opens a version of a file of a place that is no server.
func (o *otherEnd) openFile(name string, version fileservice.Version) (*sourceFile, error) {
	file, err := o.Open(name)
	if err != nil {
		return nil, err
	}
	f := &sourceFile{from: o, name: name, version: version, file: file}
	if err := f.identify(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

func (f *sourceFile) identify() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	at, is := f.file.(io.ReaderAt)
	switch {
	case infoOf(info).Version() != f.version:
		return &fs.PathError{Op: "read", Path: f.name, Err: fileservice.ErrChanged}
	case !is:
		return &fs.PathError{Op: "read", Path: f.name, Err: fileservice.NotRegular(info.Mode())}
	}
	f.at, f.kept = at, kept{modified: info.ModTime(), noted: place.SourceTimeOf(f.file)}
	f.kept.sum, err = place.SumOf(f.file)
	return err
}

func (f *sourceFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// align returns up to which block one worker reads that begins with a block and was to read up to end. What it returns
// is cut to most. The worker then calls readBlocks. Each worker gets one range of a file that is hashed as a whole, so
// that its turn comes soon.
func (f *sourceFile) align(begin, end, most int64) int64 {
	if !f.check.isWhole() {
		return f.check.align(end)
	}
	each := f.from.ranges.blocks
	end = min(begin-begin%each+each, most)
	f.check.announce(begin*fileservice.BlockSize, min(end*fileservice.BlockSize, f.version.Size))
	return end
}

// readBlocks is ReadBlocks of a server.
func (f *sourceFile) readBlocks(
	ctx context.Context, first, count int64, yield func(block int64, data []byte, sum fileservice.Sum) error,
) (err error) {
	if server := f.from.server; server != nil {
		return server.ReadBlocks(ctx, f.name, f.version, first, count, yield)
	}
	defer func() {
		if err != nil && f.check.isWhole() {
			f.check.giveUp()
		}
	}()
	if err := f.version.CheckBlocks(first, count); err != nil {
		return err
	}
	ranges := f.from.ranges
	buffer := <-ranges.buffers
	defer func() { ranges.buffers <- buffer }()
	if buffer == nil {
		buffer = make([]byte, ranges.blocks*fileservice.BlockSize)
	}
	for end := first + count; first < end; {
		blocks := min(end-first, ranges.blocks-first%ranges.blocks)
		offset := first * fileservice.BlockSize
		data := buffer[:min(blocks*fileservice.BlockSize, f.version.Size-offset)]
		if err := f.readFull(ctx, data, offset); err != nil {
			return err
		}
		if err := f.deliver(first, data, yield); err != nil {
			return err
		}
		first += blocks
	}
	return nil
}

// deliver passes the blocks of a range on, and hashes them.
func (f *sourceFile) deliver(
	first int64, data []byte, yield func(block int64, data []byte, sum fileservice.Sum) error,
) error {
	offset := first * fileservice.BlockSize
	for rest := data; len(rest) > 0; first++ {
		block := rest[:min(len(rest), fileservice.BlockSize)]
		if err := yield(first, block, fileservice.SumBlock(block, first)); err != nil {
			return err
		}
		if !f.check.isWhole() {
			f.check.add(block, first*fileservice.BlockSize)
		}
		rest = rest[len(block):]
	}
	if f.check.isWhole() {
		f.check.addInTurn(data, offset)
	}
	return nil
}

// readFull fills p. A place whose files are shorter than it said is not sound.
func (f *sourceFile) readFull(ctx context.Context, p []byte, offset int64) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	n, err := f.at.ReadAt(p, offset)
	if n < len(p) && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %d bytes of %d", fileservice.ErrIntegrity, n, len(p))
		return &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	if n == len(p) {
		return nil
	}
	return err
}

// compare compares the complete copy with the checksum of a place, if there is one. A server has sent the sum of each
// block, and all blocks belong to the same version.
func (f *sourceFile) compare(ctx context.Context, t *transfer, local io.ReaderAt) (verified bool, err error) {
	if f.check == nil {
		return f.from.server != nil, nil
	}
	return true, t.compareFile(ctx, f.check, local, f.name)
}
