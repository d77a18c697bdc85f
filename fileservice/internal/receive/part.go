package receive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"culvert/fileservice"
)

// ErrNoBeginning is the error of a part of a block whose beginning is not there, or is another one.
var ErrNoBeginning = errors.New("the beginning of the block is missing; send the block again")

// WritePart writes a part of a block. The sum is that of the block up to the end of the part, so the parts before it
// must be there, or the error is ErrNoBeginning. Nothing but the file itself keeps them. The last part completes the
// block.
func (r *File) WritePart(offset int64, data []byte, sum fileservice.Sum) error {
	block := offset / fileservice.BlockSize
	end := min((block+1)*fileservice.BlockSize, r.version.Size)
	if left := end - offset; offset < 0 || int64(len(data)) > left {
		return &fs.PathError{Op: "write", Path: r.local, Err: fs.ErrInvalid}
	}
	isLast := offset+int64(len(data)) == end
	r.mu.Lock() // so that nothing else is written to the block
	defer r.mu.Unlock()
	switch entry := r.blocks.get(block); {
	case r.err != nil:
		return r.err
	case r.done:
		return &fs.PathError{Op: "write", Path: r.local, Err: fs.ErrClosed}
	case entry.isHere() && isLast && entry.sum != sum:
		err := fmt.Errorf("%w: block %d was sent with two sums", fileservice.ErrIntegrity, block)
		return &fs.PathError{Op: "write", Path: r.local, Err: err}
	case entry.isHere():
		return nil
	}
	if own, err := r.sumTo(offset, data); err != nil || own != sum {
		return errors.Join(err, ErrNoBeginning)
	}
	if _, err := r.file.WriteAt(data, offset); err != nil {
		return r.fail(err)
	}
	if !isLast {
		return nil
	}
	r.wrote(block, sum)
	return r.awaitCommit()
}

// sumTo returns the sum of a block that consists of what the file has before an offset, and of data.
func (r *File) sumTo(offset int64, data []byte) (fileservice.Sum, error) {
	var sums fileservice.BlockSum
	sums.Reset(offset / fileservice.BlockSize)
	inBlock := offset % fileservice.BlockSize
	if _, err := io.Copy(writerOf{&sums}, io.NewSectionReader(r.file, offset-inBlock, inBlock)); err != nil {
		return fileservice.Sum{}, err
	}
	sums.Write(data)
	return sums.Sum(), nil
}

// writerOf is a sum as an io.Writer.
type writerOf struct{ *fileservice.BlockSum }

func (w writerOf) Write(p []byte) (int, error) {
	w.BlockSum.Write(p)
	return len(p), nil
}
