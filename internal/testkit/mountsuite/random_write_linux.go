package mountsuite

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// testRandomWrites reads and writes one file through many descriptors. Whenever all are closed, the source must have
// the written data.
func testRandomWrites(t *testing.T, mount Mount, operations int) {
	eachRandomRun(t, operations, func(t *testing.T, seed uint64, operations int) {
		root := newServed(t)
		dir := mount(t, root, Options{ReadWrite: true})
		r := newRandomRun(t, seed, filepath.Join(root, "file"), filepath.Join(dir, "file"))
		r.close(r.openFile(os.O_RDWR | os.O_CREATE | os.O_EXCL))
		for r.done = range operations {
			r.stepWriting()
			if t.Failed() {
				return
			}
		}
		r.checkSource()
	})
}

func (r *randomRun) stepWriting() {
	reader, writer := r.pick(unix.O_RDONLY, unix.O_RDWR), r.pick(unix.O_WRONLY, unix.O_RDWR)
	switch n := r.random.IntN(1000); {
	case n < 50 && len(r.open) < 6 || len(r.open) == 0:
		flags := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_APPEND}
		r.openFile(flags[r.random.IntN(len(flags))])
	case n < 90:
		r.close(r.open[r.random.IntN(len(r.open))])
	case n < 100:
		r.checkSource()
	case n < 105:
		flags := []int{os.O_RDWR, os.O_WRONLY, os.O_RDONLY}
		r.openFile(os.O_TRUNC | flags[r.random.IntN(len(flags))])
		r.model = nil
	case n < 115:
		r.rename()
	case n < 130 && writer != nil:
		r.say("sync")
		r.must(writer.Sync())
	case n < 160:
		r.truncate(writer)
	case n < 190:
		info, err := os.Stat(r.path)
		r.must(err)
		r.checkSize(info.Size())
	case n < 240 && reader != nil:
		r.readMapped(reader)
	case n < 270:
		if f := r.pick(unix.O_RDWR); f != nil {
			r.writeMapped(f)
		}
	case n < 620 && writer != nil:
		r.write(writer)
	case reader != nil:
		r.read(reader)
	}
}

func (r *randomRun) write(f *randomFile) {
	offset, length := r.extent(len(r.model))
	if f.flags&os.O_APPEND != 0 {
		offset = len(r.model)
	}
	length = min(length, maxRandomSize-offset)
	if length <= 0 {
		return
	}
	r.say("write %#x: %d at %d of %d", f.flags, length, offset, len(r.model))
	p := r.bytes(length)
	var err error
	if f.flags&os.O_APPEND != 0 {
		_, err = f.Write(p)
	} else {
		_, err = f.WriteAt(p, int64(offset))
	}
	r.must(err)
	r.resize(max(len(r.model), offset+length))
	copy(r.model[offset:], p)
}

// writeMapped writes to the file with mmap.
func (r *randomRun) writeMapped(f *randomFile) {
	if len(r.model) == 0 {
		return
	}
	offset, length := r.extent(len(r.model))
	length = min(length, len(r.model)-offset)
	if length <= 0 {
		return
	}
	r.say("write mapped: %d at %d of %d", length, offset, len(r.model))
	memory, err := unix.Mmap(int(f.Fd()), 0, len(r.model), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	r.must(err)
	p := r.bytes(length)
	copy(memory[offset:], p)
	if r.random.IntN(2) == 0 {
		r.must(unix.Msync(memory, unix.MS_SYNC))
	}
	r.must(unix.Munmap(memory))
	copy(r.model[offset:], p)
}

// resize sets the size of the model. New bytes are zero.
func (r *randomRun) resize(size int) {
	if size <= len(r.model) {
		r.model = r.model[:size:size]
		return
	}
	r.model = append(r.model, make([]byte, size-len(r.model))...)
}

func (r *randomRun) truncate(f *randomFile) {
	size, _ := r.extent(len(r.model))
	r.say("truncate to %d of %d", size, len(r.model))
	if f != nil && r.random.IntN(2) == 0 {
		r.must(f.Truncate(int64(size)))
	} else {
		r.must(os.Truncate(r.path, int64(size)))
	}
	r.resize(size)
}

// rename renames the file, or back. Open files may use either name.
func (r *randomRun) rename() {
	other := map[string]string{"file": "renamed", "renamed": "file"}[filepath.Base(r.path)]
	r.say("rename to %s", other)
	renamed := filepath.Join(filepath.Dir(r.path), other)
	r.must(os.Rename(r.path, renamed))
	r.path, r.served = renamed, filepath.Join(filepath.Dir(r.served), other)
}

// checkSource closes all descriptors and compares the source with the model.
func (r *randomRun) checkSource() {
	r.closeAll()
	r.say("compare the source")
	got, err := os.ReadFile(r.served)
	r.must(err)
	r.compare("the source", got, r.model, 0)
	entries, err := os.ReadDir(filepath.Dir(r.served))
	r.must(err)
	if len(entries) != 1 {
		r.fail("the source has %d entries, want 1", len(entries))
	}
}
