package transfer

import (
	"context"
	"encoding/hex"
	"hash"
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
	hasher := newHash()
	err = t.readAgain(ctx, file, name, 0, size, func(data []byte, _ int64) error {
		_, err := hasher.Write(data)
		return err
	})
	hasher.Sum(sum[:0])
	return sum, err
}

func newHash() hash.Hash { return blake3.New(len(Hash{}), nil) }

// hashSmall sets the hash of a small file, if Config.Hash is set.
func (t *transfer) hashSmall(it *item, content []byte) {
	if t.config.Hash {
		it.hash = blake3.Sum256(content)
	}
}

// readsAtOnce is the number of local files read again at once. Each needs the buffer of a block.
const readsAtOnce = 4

// reread calls read with the buffer for a block of a local file that is read again. It waits while as many others are
// as may be.
func (t *transfer) reread(ctx context.Context, read func(buffer []byte) error) error {
	select {
	case t.reads <- struct{}{}:
		defer func() { <-t.reads }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	memory := bytebuf.New()
	defer memory.Free()
	return read(memory.Extend(fileservice.BlockSize))
}

// readAgain is readRange for a file that is read again.
func (t *transfer) readAgain(
	ctx context.Context, file io.ReaderAt, name string, begin, end int64,
	use func(data []byte, offset int64) error,
) error {
	return t.reread(ctx, func(buffer []byte) error {
		return readRange(ctx, buffer, file, name, begin, end, use)
	})
}

// readRange reads a range of a local file, and calls use for at most a block of it at a time, in order. It stops when
// that fails. The name is for messages.
func readRange(
	ctx context.Context, buffer []byte, file io.ReaderAt, name string, begin, end int64,
	use func(data []byte, offset int64) error,
) error {
	for begin < end {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		data := buffer[:min(fileservice.BlockSize, end-begin)]
		if err := osfile.ReadFull(file, data, begin); err != nil {
			return &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if err := use(data, begin); err != nil {
			return err
		}
		begin += int64(len(data))
	}
	return nil
}
