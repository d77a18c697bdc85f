package files

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"culvert/bench/internal/harness"
	"culvert/bench/internal/streams"
	"culvert/fileservice"
)

// layers takes the way of a byte apart, from the page cache of the server to the disk of the client: each step alone,
// and the whole to the memory of the client. A new step, or another way, is one more row.
func (f *fileReads) layers(s *harness.Session) harness.Benchmark {
	layers := []streams.Layer{
		{Name: "read", Does: "one copy, out of the page cache", Run: f.blocks(readFile)},
		{Name: "copy", Does: "one copy, in memory", Run: f.blocks(copyBlock)},
		{Name: "sum", Does: "is read once, for the checksum of a block", Run: f.blocks(sumBlock)},
	}
	for _, l := range streams.Layers(f.ids, f.size) {
		if slices.Contains([]string{"tcp", "seal", "open"}, l.Name) {
			layers = append(layers, l)
		}
	}
	layers = append(layers,
		streams.Layer{Name: "cached", Does: "one copy, into the page cache, and to the disk", Run: f.toDisk(0)})
	if file, err := f.newFile(unix.O_DIRECT); err != nil {
		s.Say("no layer direct: %v", err)
	} else {
		_ = file.Close() // nothing was written to it
		layers = append(layers, streams.Layer{
			Name: "direct", Does: "to the disk, without a copy (O_DIRECT)", Run: f.toDisk(unix.O_DIRECT),
		})
	}
	for _, w := range f.ways() {
		layers = append(layers, streams.Layer{
			Name: w.impl, Does: "the whole, into memory: " + w.does,
			Run: func() (harness.Sample, error) { return w.read(4) },
		})
	}
	return streams.Layered(s, "FileLayers", layers)
}

// blocks does work for each block of the file, one after the other, with one buffer of a block.
func (f *fileReads) blocks(
	work func(file *os.File, block, buffer []byte, number int64) error,
) func() (harness.Sample, error) {
	return func() (_ harness.Sample, err error) {
		file, err := os.Open(filepath.Join(f.dir, served))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		buffer := make([]byte, fileservice.BlockSize)
		// Blocks lie within a few MiB, as those of a pool of buffers, so the processor's cache has them.
		source := bytes.Repeat([]byte{1, 2, 3, 4}, fileservice.BlockSize)
		return metered(f.size, func() error {
			for number := range fileservice.Blocks(f.size) {
				at := number % (int64(len(source)) / fileservice.BlockSize) * fileservice.BlockSize
				err := work(file, source[at:at+fileservice.BlockSize], buffer, number)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func readFile(file *os.File, _, buffer []byte, number int64) error {
	for at := 0; at < len(buffer); at += partSize {
		_, err := file.ReadAt(buffer[at:at+partSize], number*int64(len(buffer))+int64(at))
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

func copyBlock(_ *os.File, block, buffer []byte, _ int64) error {
	copy(buffer, block)
	return nil
}

func sumBlock(_ *os.File, block, _ []byte, number int64) error {
	if fileservice.SumBlock(block, number) == (fileservice.Sum{}) {
		return errors.New("a block has no sum")
	}
	return nil
}

// newFile makes an empty file. Not every file system has all flags.
func (f *fileReads) newFile(flag int) (*os.File, error) {
	return os.OpenFile(filepath.Join(f.dir, "written"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|flag, 0o600)
}

// toDisk writes blocks to a new file and syncs it.
func (f *fileReads) toDisk(flag int) func() (harness.Sample, error) {
	return func() (_ harness.Sample, err error) {
		file, err := f.newFile(flag)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
		// A mapping begins at a page, as O_DIRECT wants it.
		block, err := syscall.Mmap(-1, 0, fileservice.BlockSize, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, syscall.Munmap(block)) }()
		return metered(f.size, func() error {
			for range fileservice.Blocks(f.size) {
				if _, err := file.Write(block); err != nil {
					return err
				}
			}
			return file.Sync()
		})
	}
}
