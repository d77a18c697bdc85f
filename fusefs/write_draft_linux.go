package fusefs

import (
	"io"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// slowestDisk is how many bytes a disk on the other side is taken to write in a second, at least. Calls that wait for
// it to write a whole file are given so much more time.
const slowestDisk = 16 << 20

// longestDisk is how much more time a disk is given at most: sizes can be lies, and most of a large file a hole.
const longestDisk = time.Hour

// draft is a file that is being written: new content that has no name yet, or a file in place. What is written to it
// goes to the file system in chunks, several at once. Those that overlap go in order. The first error stays.
//
// Its methods other than send and attributes are called one at a time.
type draft struct {
	m    *mount
	file WritableFile
	info fs.FileInfo // when it began

	mu       sync.Mutex // guards what follows
	size     int64
	modified time.Time // when it was last written to; zero if it was not
	mode     fs.FileMode
	filling  *chunk      // nil if there is none
	sender   *time.Timer // sends it, if it is not full for long
	pending  []*chunk    // that the file system does not have yet, in order
	inPlace  bool        // it has its name, and others see what is written
	unsynced int64       // bytes written since the last sync
	touched  bool        // its content was changed
	synced   bool        // nothing was changed since the last sync
	settled  bool        // others have it, or it has lost its name to a program
	failed   syscall.Errno
}

func newDraft(m *mount, file WritableFile, info fs.FileInfo) *draft {
	return &draft{m: m, file: file, info: info, size: info.Size(), mode: info.Mode()}
}

// write takes data over, all of it or nothing. It copies it, and waits only if there is no chunk to copy it to.
func (w *draft) write(d *deadline, data []byte, offset int64) syscall.Errno {
	var spare *chunk
	for {
		needed, errno := w.fill(data, offset, spare)
		if !needed {
			return errno
		}
		if spare, errno = w.m.chunks.get(d); errno != 0 {
			return w.fail(errno)
		}
	}
}

// fill copies data to the chunk that is being filled, and what does not fit, to another one. Without a spare one that
// is needed it does nothing, and says so.
func (w *draft) fill(data []byte, offset int64, spare *chunk) (needed bool, errno syscall.Errno) {
	w.mu.Lock()
	defer w.mu.Unlock()
	room := 0
	if w.filling != nil && w.filling.end() == offset {
		room = chunkSize - len(w.filling.data)
	}
	switch {
	case w.failed != 0:
		errno = w.failed
	case len(data) > room && spare == nil:
		return true, 0
	}
	if spare != nil && (errno != 0 || len(data) <= room) {
		w.m.chunks.put(spare)
	}
	if errno != 0 {
		return false, errno
	}
	w.unsynced += int64(len(data))
	w.synced, w.touched = false, true
	w.size = max(w.size, offset+int64(len(data)))
	w.modified = time.Now()
	if room > 0 {
		n := min(room, len(data))
		w.filling.data = append(w.filling.data, data[:n]...)
		data, offset = data[n:], offset+int64(n)
	}
	if len(data) > 0 {
		w.startFilling()
		if cap(spare.data) == 0 {
			spare.data = make([]byte, 0, chunkSize)
		}
		spare.offset, spare.data = offset, append(spare.data, data...)
		w.filling = spare
		w.sendLater()
	}
	if len(w.filling.data) >= chunkSize {
		w.startFilling()
	} else {
		w.m.chunks.note(w)
	}
	return false, 0
}

// longestFilling is how long a chunk waits for more. Others are to see what is written in place.
const longestFilling = time.Second

// sendLater has the chunk sent that is being filled. It is called with mu held.
func (w *draft) sendLater() {
	if w.sender == nil {
		w.sender = time.AfterFunc(longestFilling, func() { w.send() })
		return
	}
	w.sender.Reset(longestFilling)
}

// send sends the chunk that is not full, and reports whether there was one.
func (w *draft) send() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.startFilling()
}

// startFilling is send, with mu held.
func (w *draft) startFilling() bool {
	c := w.filling
	if c == nil {
		return false
	}
	w.filling = nil
	w.start(c)
	return true
}

// start gives a chunk to the file system, in a goroutine of its own, after those before it that overlap it. It is
// called with mu held.
func (w *draft) start(c *chunk) {
	var before []chan struct{}
	for _, other := range w.pending {
		if other.overlaps(c) {
			before = append(before, other.done)
		}
	}
	c.done = make(chan struct{})
	w.pending = append(w.pending, c)
	go func() {
		for _, done := range before {
			<-done
		}
		_, err := guarded(w.m, func() (struct{}, error) { return struct{}{}, w.deliver(c) })
		w.delivered(c, err)
	}()
}

func (w *draft) deliver(c *chunk) error {
	w.mu.Lock()
	failed := w.failed
	w.mu.Unlock()
	if failed != 0 {
		return failed
	}
	n, err := w.file.WriteAt(c.data, c.offset)
	if err == nil && n < len(c.data) {
		err = io.ErrShortWrite
	}
	return err
}

func (w *draft) delivered(c *chunk, err error) {
	w.mu.Lock()
	if err != nil && w.failed == 0 {
		w.failed = w.m.errno(err)
	}
	w.pending = slices.DeleteFunc(w.pending, func(other *chunk) bool { return other == c })
	done := c.done
	w.mu.Unlock()
	close(done)
	w.m.chunks.put(c)
}

// settle notes that others have it, and that what is written from now on is written in place.
func (w *draft) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled, w.inPlace = true, true
}

// goOn notes that what was settled is written to again.
func (w *draft) goOn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = false
}

// adopt takes over what a file in place is after a change of ours that left its content alone.
func (w *draft) adopt(info fs.FileInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.info, w.mode = info, info.Mode()
}

// isUntouched reports whether it was new content to which nothing was written.
func (w *draft) isUntouched() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size == 0 && !w.touched
}

func (w *draft) isInPlace() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inPlace
}

// isAwaited reports whether a program expects the content under a name, and knows of no failure.
func (w *draft) isAwaited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.settled && w.failed == 0
}

func (w *draft) hasFailed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed != 0
}

// fail makes an error the one that stays, but for that of a signal: with that, nothing was lost.
func (w *draft) fail(errno syscall.Errno) syscall.Errno {
	if errno == 0 || errno == syscall.EINTR {
		return errno
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == 0 {
		w.failed = errno
	}
	return errno
}

// drain waits until the file system has all that was written. As long as something arrives, it waits on.
func (w *draft) drain(d *deadline) syscall.Errno {
	for _, done := range w.underWay() {
		if _, errno := wait(d, done); errno != 0 {
			return w.fail(errno)
		}
		d.extend(0)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// underWay sends what is left and gives what each chunk closes that the file system does not have yet.
func (w *draft) underWay() []chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.startFilling()
	waits := make([]chan struct{}, len(w.pending))
	for i, c := range w.pending {
		waits[i] = c.done
	}
	return waits
}

// read gives what was written, and what was there before.
func (w *draft) read(d *deadline, length int, offset int64) (fuse.ReadResult, syscall.Errno) {
	if errno := w.drain(d); errno != 0 {
		return nil, errno
	}
	w.mu.Lock()
	length = int(max(0, min(int64(length), w.size-offset)))
	w.mu.Unlock()
	if length == 0 {
		return fuse.ReadResultData(nil), 0
	}
	buffer, errno := w.m.buffers.take(d, length)
	if errno != 0 {
		return nil, errno
	}
	done := make(chan outcome[struct{}], 1)
	w.m.workers.start(func() {
		_, err := guarded(w.m, func() (struct{}, error) { return struct{}{}, w.fetch(buffer[:length], offset) })
		done <- outcome[struct{}]{err: err}
	})
	return w.m.filled(d, done, buffer, length)
}

// fetch fills p.
func (w *draft) fetch(p []byte, offset int64) error {
	n, err := w.file.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// sync returns when the content is durable, and of a file in place the name.
func (w *draft) sync(d *deadline) syscall.Errno {
	if errno := w.drain(d); errno != 0 || w.isSynced() {
		return errno
	}
	w.extend(d)
	errno := w.change(d, w.file.Sync)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.synced = errno == 0
	return errno
}

func (w *draft) isSynced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.synced
}

// noteUnsynced notes that the file was changed, in this way or in another one.
func (w *draft) noteUnsynced() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.synced = false
}

// extend gives a wait for the disk the time that it needs for what was written since the last one.
func (w *draft) extend(d *deadline) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.extend(w.unsynced)
	w.unsynced = 0
}

// publish gives the content its name, if it has none yet, and returns what the file is now.
func (w *draft) publish(d *deadline, path string, replace bool) (info fs.FileInfo, errno syscall.Errno) {
	if errno := w.drain(d); errno != 0 {
		return nil, errno
	}
	w.extend(d) // Publish may sync, too
	info, errno = callWithin(d, func() (fs.FileInfo, error) {
		publish := w.file.Flush
		if !w.isInPlace() {
			publish = func() error { return w.file.Publish(path, replace) }
		}
		if err := publish(); err != nil {
			return nil, err
		}
		return w.file.Stat()
	}, nil)
	if errno == 0 {
		w.settle()
		w.mu.Lock()
		w.info, w.modified = info, time.Time{}
		w.mu.Unlock()
	}
	return info, w.fail(errno)
}

// end closes the file. Nobody waits for it: what is lost by it was published before, or was to be thrown away.
func (w *draft) end() {
	w.m.chunks.forget(w)
	w.m.release(w)
}

// Close waits until nothing of it is under way.
func (w *draft) Close() error {
	_ = w.fail(syscall.EIO) // so that the rest is not sent
	for _, done := range w.underWay() {
		<-done
	}
	return w.file.Close()
}

// attributes fills in what the kernel is told of the content as it is now.
func (w *draft) attributes(out *fuse.Attr) syscall.Errno {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errno := w.m.attributes(w.info, out); errno != 0 {
		return errno
	}
	out.Size = uint64(w.size)
	out.Mode = kindOf(w.mode) | permissionsOf(w.mode)
	if !w.modified.IsZero() {
		setTimes(w.modified, out)
	}
	return 0
}

// extend gives a wait that has got somewhere its whole time again, and what a slow disk needs for some bytes.
func (d *deadline) extend(bytes int64) {
	if d.errno != syscall.EINTR {
		disk := min(time.Duration(bytes/slowestDisk)*time.Second, longestDisk)
		d.timer.Reset(d.m.config.Timeout + disk)
	}
}
