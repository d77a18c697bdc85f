package publish

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// directAlignment divides the offset and the length of every direct write. No disk has larger sectors.
const directAlignment = 4 << 10

// A disk that keeps up with its writers rarely has more than directAtOnce direct writes to do. Another one may take
// more from the page cache, where the system joins what is adjacent and writes it in any order. It is behind when the
// writes that found more than those are ahead of the others by leastBehind; they are ahead by at most mostBehind.
const (
	directAtOnce = 2
	leastBehind  = 8
	mostBehind   = 16
)

// reservedAtOnce is how much space a file reserves at a time: little enough that a sender which announces a large file
// and does not send it takes no space, and enough that the time to reserve it does not count.
const reservedAtOnce = 64 << 20

// Direct writes to a file past the system's page cache (O_DIRECT), as far as the disk keeps up. A write returns when
// the disk has the data, without a copy or a page in memory. Only File.Sync makes the data durable, but it has little
// left to do. The methods may be called by several goroutines at once.
//
// Space is reserved 64 MiB at a time: the file systems of Linux run writes to reserved space in parallel, but writes
// beyond the end of a file, or into a hole, one by one.
type Direct struct {
	file    *os.File
	size    int64
	refused atomic.Bool
	writing atomic.Int32
	behind  atomic.Int32 // grows if a write finds more than directAtOnce, and shrinks if it does not

	reserving sync.Mutex
	reserved  map[int64]struct{} // numbers of parts of reservedAtOnce; nil if the file system cannot reserve
}

// OpenDirect opens a file, which is already open as beside, for direct writes. It returns nil if that is impossible.
// The size is the file's final one, up to which it may grow early.
func OpenDirect(root *os.Root, name string, size int64, beside File) *Direct {
	opened, err := beside.Stat()
	if directFlag == 0 || err != nil {
		return nil
	}
	f, err := root.OpenFile(name, os.O_WRONLY|directFlag|withoutWaiting, 0)
	if err != nil {
		return nil
	}
	named, err := f.Stat()
	if err != nil || !os.SameFile(opened, named) {
		_ = f.Close() // nothing was written to it
		return nil
	}
	return &Direct{file: f, size: size, reserved: map[int64]struct{}{}}
}

// Write writes p at an offset. It returns false without an error if the system cannot write p directly, or the disk is
// behind, and the caller has to write all of it in another way. A nil Direct does nothing.
func (d *Direct) Write(p []byte, offset int64) (done bool, err error) {
	if d == nil || d.refused.Load() || len(p)%directAlignment != 0 || offset%directAlignment != 0 {
		return false, nil
	}
	defer d.writing.Add(-1)
	if d.isBehind(d.writing.Add(1) > directAtOnce) {
		return false, nil
	}
	if err := d.reserve(offset, offset+int64(len(p))); err != nil {
		return false, err
	}
	_, err = d.file.WriteAt(p, offset)
	if errors.Is(err, syscall.EINVAL) {
		d.refused.Store(true) // the memory is not aligned, or the disk wants more
		return false, nil
	}
	return err == nil, err
}

// isBehind reports whether a write is better not direct. Many says that there are more than directAtOnce.
func (d *Direct) isBehind(many bool) bool {
	behind := d.behind.Load()
	switch {
	case many && behind < mostBehind:
		d.behind.Add(1)
	case !many && behind > 0:
		d.behind.Add(-1)
	}
	return many && behind >= leastBehind
}

// reserve reserves space for the bytes between two offsets, and around them.
func (d *Direct) reserve(from, to int64) error {
	d.reserving.Lock()
	defer d.reserving.Unlock()
	for part := from / reservedAtOnce; part*reservedAtOnce < to && d.reserved != nil; part++ {
		if _, is := d.reserved[part]; is {
			continue
		}
		begin := part * reservedAtOnce
		err := allocate(d.file, begin, max(to, min(begin+reservedAtOnce, d.size))-begin)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			d.reserved = nil
		case err != nil:
			return err
		default:
			d.reserved[part] = struct{}{}
		}
	}
	return nil
}

// Close closes the file. It makes nothing durable.
func (d *Direct) Close() error {
	if d == nil {
		return nil
	}
	return d.file.Close()
}
