package disk

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// directAlignment is what offsets and lengths must be multiples of: no disk has larger sectors.
const directAlignment = 4 << 10

// reservedAtOnce is how much of a file is reserved when the first byte of it is written: so little that whoever claims
// to send much more than that, and does not, takes no room, and so much that the time it takes does not count.
const reservedAtOnce = 64 << 20

// Direct writes to a file past the page cache of the system (O_DIRECT): without a copy, without the pages, and a Sync
// has nothing left to write. A write takes until the disk has it. What is durable is still only what was synced, by way
// of the File. Its methods may be called by several goroutines at once.
//
// The space is reserved 64 MiB at a time. Writes that go beyond the end of a file, or into a hole, have the file to
// themselves in the file systems of Linux; those to space that is reserved go on beside each other.
type Direct struct {
	file    *os.File
	size    int64
	refused atomic.Bool

	reserving sync.Mutex
	reserved  map[int64]struct{} // numbers of parts of reservedAtOnce; nil where the file system cannot do that
}

// OpenDirect opens a file, which is open as beside, for direct writes. It gives nil where that cannot be done. The file
// is to have a size in the end, and grows up to that before it is all written.
func (r InRoot) OpenDirect(name string, size int64, beside LockedFile) *Direct {
	opened, err := beside.Stat()
	if directFlag == 0 || err != nil {
		return nil
	}
	f, err := r.Root.OpenFile(name, os.O_WRONLY|directFlag|withoutWaiting, 0)
	if err != nil {
		return nil
	}
	named, err := f.Stat()
	if err != nil || !os.SameFile(opened, named) {
		_ = f.Close() // it is another one, of which nothing was written
		return nil
	}
	return &Direct{file: f, size: size, reserved: map[int64]struct{}{}}
}

// Write writes p at an offset. If it is not done and there is no error, the system does not write this directly, and
// all of it has to be written in another way. A nil Direct does nothing.
func (d *Direct) Write(p []byte, offset int64) (done bool, err error) {
	if d == nil || d.refused.Load() || len(p)%directAlignment != 0 || offset%directAlignment != 0 {
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

// reserve has the space for the bytes from an offset to another one, and for what is near them.
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

// Close closes the file. What was written is durable only if it was synced.
func (d *Direct) Close() error {
	if d == nil {
		return nil
	}
	return d.file.Close()
}
