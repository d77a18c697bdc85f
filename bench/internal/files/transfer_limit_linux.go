package files

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"culvert/bench/internal/harness"
)

const (
	limitConnections = 4
	limitRecord      = 256 << 10
	limitBlock       = 1 << 20
)

// limit is a variant that does only what no encrypted copy to a disk can do without. On each connection, a goroutine
// reads from the page cache, seals, and sends; another one receives, opens, and writes past the page cache. There is
// one sync at the end, and there are no sums, no requests and no journal.
func (t *transfers) limit(what fetched) []harness.Variant {
	return []harness.Variant{{Key: "impl=limit", Run: func() (harness.Sample, error) {
		if err := os.MkdirAll(t.into, 0o755); err != nil {
			return nil, err
		}
		from, to := filepath.Join(t.source, what.name), filepath.Join(t.into, what.name)
		got, err := what.work().Here(func() error { return sealedCopy(from, to, what.bytes) })
		if err == nil {
			err = same(from, to)
		}
		return got, errors.Join(err, t.putAway(what), syncAll(t.Dir))
	}}}
}

func sealedCopy(from, to string, size int64) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := createDirect(to, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close()) }()
	var all errgroup.Group
	part := size / limitConnections
	for i := range int64(limitConnections) {
		sender, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return err
		}
		receiver, err := listener.Accept()
		if err != nil {
			return errors.Join(err, sender.Close())
		}
		all.Go(func() error {
			return errors.Join(sealTo(sender, io.NewSectionReader(source, i*part, part)), sender.Close())
		})
		all.Go(func() error {
			return errors.Join(openTo(io.NewOffsetWriter(target, i*part), receiver, part), receiver.Close())
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	return target.Sync()
}

// createDirect makes a file that is written past the page cache, if its file system can, and reserves its space.
func createDirect(name string, size int64) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|unix.O_DIRECT, 0o644)
	if errors.Is(err, unix.EINVAL) {
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	}
	if err != nil {
		return nil, err
	}
	return file, unix.Fallocate(int(file.Fd()), 0, 0, size)
}

// limitCipher has the cipher of package secureconn, with a key that guards nothing.
func limitCipher() (aead cipher.AEAD, err error) {
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func sealTo(w io.Writer, r io.Reader) error {
	aead, err := limitCipher()
	if err != nil {
		return err
	}
	nonce, plain, sealed := make([]byte, aead.NonceSize()), make([]byte, limitRecord), []byte(nil)
	for {
		switch _, err := io.ReadFull(r, plain); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		sealed = aead.Seal(sealed[:0], nonce, plain, nil)
		if _, err := w.Write(sealed); err != nil {
			return err
		}
	}
}

func openTo(w io.Writer, r io.Reader, size int64) error {
	aead, err := limitCipher()
	if err != nil {
		return err
	}
	nonce, block := make([]byte, aead.NonceSize()), make([]byte, limitBlock)
	sealed := make([]byte, limitRecord+aead.Overhead())
	for ; size > 0; size -= limitBlock {
		for opened := block[:0]; len(opened) < limitBlock; {
			if _, err := io.ReadFull(r, sealed); err != nil {
				return err
			}
			if opened, err = aead.Open(opened, nonce, sealed, nil); err != nil {
				return err
			}
		}
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// disk says how this disk takes a file: by direct writes of a block, so many at once, or through the page cache, from
// which the system is asked to write the blocks as they come. Each sample ends with a sync.
func (t *transfers) disk(size int64) []harness.Benchmark {
	b := harness.Benchmark{Name: "Disk/write=1MiB", Rotate: true}
	add := func(key string, write func(name string) error) {
		b.Variants = append(b.Variants, harness.Variant{Key: key, Run: func() (harness.Sample, error) {
			name := filepath.Join(t.Dir, "disk")
			got, err := harness.Work{Bytes: size}.Here(func() error { return write(name) })
			return got, errors.Join(err, os.Remove(name), syncAll(t.Dir))
		}})
	}
	for _, atOnce := range []int{1, 2, 4, 8} {
		add(fmt.Sprintf("way=direct/at-once=%d", atOnce), func(name string) error {
			file, err := createDirect(name, size)
			if err != nil {
				return err
			}
			return writeBlocks(file, size, atOnce, func(int64) error { return nil })
		})
	}
	add("way=cache/at-once=1", func(name string) error {
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		return writeBlocks(file, size, 1, func(offset int64) error {
			return unix.SyncFileRange(int(file.Fd()), offset, limitBlock, unix.SYNC_FILE_RANGE_WRITE)
		})
	})
	return []harness.Benchmark{b}
}

// writeBlocks fills a file, syncs and closes it.
func writeBlocks(file *os.File, size int64, atOnce int, wrote func(offset int64) error) error {
	var next atomic.Int64
	var all errgroup.Group
	for range atOnce {
		all.Go(func() error {
			block := make([]byte, limitBlock)
			for {
				offset := next.Add(limitBlock) - limitBlock
				if offset >= size {
					return nil
				}
				_, err := file.WriteAt(block, offset)
				if err = errors.Join(err, wrote(offset)); err != nil {
					return err
				}
			}
		})
	}
	return errors.Join(all.Wait(), file.Sync(), file.Close())
}
