package transfer

import (
	"context"
	"encoding/hex"
	"io"
	"io/fs"

	"lukechampine.com/blake3"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
)

// A Hash is the BLAKE3 hash of a file.
type Hash [32]byte

// String returns the hash in hexadecimal digits, as b3sum prints it.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// hash reads a file of size bytes and returns its hash, or zero without Config.Hash. The name is for messages.
func (t *transfer) hash(ctx context.Context, file io.ReaderAt, name string, size int64) (sum Hash, err error) {
	if !t.config.Hash {
		return sum, nil
	}
	hasher := blake3.New(len(sum), nil)
	all := []fileservice.BlockRange{{Count: fileservice.Blocks(size)}}
	err = t.readBlocks(ctx, file, name, all, size, func(_ int64, p []byte) error {
		_, err := hasher.Write(p)
		return err
	})
	hasher.Sum(sum[:0])
	return sum, err
}

// hashSmall sets the hash of a small file, if Config.Hash is set.
func (t *transfer) hashSmall(it *item, content []byte) {
	if t.config.Hash {
		it.hash = blake3.Sum256(content)
	}
}

// readsAtOnce is the number of local files read again at once. Each needs the buffer of a block.
const readsAtOnce = 4

// readBlocks reads the blocks in ranges of a file of size bytes, in order, and calls use for each. It stops when that
// fails.
func (t *transfer) readBlocks(
	ctx context.Context, file io.ReaderAt, name string, ranges []fileservice.BlockRange, size int64,
	use func(block int64, p []byte) error,
) error {
	if len(ranges) == 0 {
		return nil
	}
	t.reads <- struct{}{}
	defer func() { <-t.reads }()
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.BlockSize)
	for _, r := range ranges {
		for block := r.First; block < r.First+r.Count; block++ {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			p := buffer[:min(fileservice.BlockSize, size-block*fileservice.BlockSize)]
			if err := osfile.ReadFull(file, p, block*fileservice.BlockSize); err != nil {
				return &fs.PathError{Op: "read", Path: name, Err: err}
			}
			if err := use(block, p); err != nil {
				return err
			}
		}
	}
	return nil
}
