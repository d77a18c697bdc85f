package fusefs

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"culvert/internal/testkit"
)

// inPlaceFS is a directory whose files can only be written in place.
type inPlaceFS struct {
	WritableFS // nil: the other methods are not called
	dir        string

	pauses atomic.Bool // the next use of attributes waits, once they are used
	paused chan struct{}
	resume chan struct{}
}

func (f *inPlaceFS) Open(name string) (fs.File, error) {
	file, err := os.Open(filepath.Join(f.dir, name))
	return pausingFile{file, f}, err
}

func (f *inPlaceFS) OpenFile(name string, flag int, perm fs.FileMode) (fs.File, error) {
	file, err := os.OpenFile(filepath.Join(f.dir, name), flag, perm)
	return inPlaceFile{file}, err
}

type inPlaceFile struct{ *os.File }

func (f inPlaceFile) Chtimes(atime, mtime time.Time) error { return os.Chtimes(f.Name(), atime, mtime) }
func (f inPlaceFile) Publish(string, bool) error           { return fs.ErrInvalid }
func (f inPlaceFile) Flush() error                         { return nil }

type pausingFile struct {
	*os.File
	fs *inPlaceFS
}

func (f pausingFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return pausingInfo{info, f.fs}, err
}

type pausingInfo struct {
	fs.FileInfo
	fs *inPlaceFS
}

func (i pausingInfo) ModTime() time.Time {
	if i.fs.pauses.CompareAndSwap(true, false) {
		i.fs.paused <- struct{}{}
		<-i.fs.resume
	}
	return i.FileInfo.ModTime()
}

// requests makes the requests of the kernel for one file. Through the kernel, too few would be under way at the same
// time.
type requests struct {
	t     *testing.T
	files *inPlaceFS
	nodes fuse.RawFileSystem
	file  fuse.InHeader
}

// newRequests looks up a file of that size.
func newRequests(t *testing.T, size int) *requests {
	t.Helper()
	files := &inPlaceFS{dir: t.TempDir(), paused: make(chan struct{}), resume: make(chan struct{})}
	if err := os.WriteFile(filepath.Join(files.dir, "file"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := Config{FS: files, ReadWrite: true}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m := newMount(config)
	t.Cleanup(m.end)
	root, err := m.newRoot()
	if err != nil {
		t.Fatal(err)
	}
	r := &requests{t: t, files: files, nodes: gofs.NewNodeFS(root, &gofs.Options{})}
	entry, status := r.lookup()
	r.must(status)
	r.file.NodeId = entry.NodeId
	return r
}

func (r *requests) must(status fuse.Status) {
	r.t.Helper()
	if !status.Ok() {
		r.t.Fatal(status)
	}
}

func (r *requests) lookup() (fuse.EntryOut, fuse.Status) {
	var entry fuse.EntryOut
	status := r.nodes.Lookup(nil, &fuse.InHeader{NodeId: fuse.FUSE_ROOT_ID}, "file", &entry)
	return entry, status
}

func (r *requests) open(flags uint32) (handle uint64, status fuse.Status) {
	var opened fuse.OpenOut
	status = r.nodes.Open(nil, &fuse.OpenIn{InHeader: r.file, Flags: flags}, &opened)
	return opened.Fh, status
}

func (r *requests) size() (uint64, fuse.Status) {
	var answer fuse.AttrOut
	status := r.nodes.GetAttr(nil, &fuse.GetAttrIn{InHeader: r.file}, &answer)
	return answer.Size, status
}

// truncate truncates the file by a handle, or by its name if that is 0.
func (r *requests) truncate(handle, size uint64) {
	r.t.Helper()
	in := fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{
		InHeader: r.file, Valid: fuse.FATTR_SIZE, Fh: handle, Size: size,
	}}
	if handle != 0 {
		in.Valid |= fuse.FATTR_FH
	}
	var answer fuse.AttrOut
	r.must(r.nodes.SetAttr(nil, &in, &answer))
	if answer.Size != size {
		r.t.Errorf("a truncation to %d returns the size %d", size, answer.Size)
	}
}

// flush is what the kernel asks for when a copy of a descriptor is closed.
func (r *requests) flush(handle uint64) {
	r.t.Helper()
	r.must(r.nodes.Flush(nil, &fuse.FlushIn{InHeader: r.file, Fh: handle}))
}

func (r *requests) release(handle uint64) {
	r.nodes.Release(nil, &fuse.ReleaseIn{InHeader: r.file, Fh: handle})
}

// TestAttributesWhileClosing asks for attributes while a file is truncated and each time closed through a copy of its
// descriptor, as it is when the program starts another one. The size from before a truncation does not come back: the
// kernel would append there.
func TestAttributesWhileClosing(t *testing.T) {
	rounds := testkit.Fewer(10_000)
	r := newRequests(t, rounds)
	handle, status := r.open(syscall.O_RDWR)
	r.must(status)
	defer r.release(handle)
	var group sync.WaitGroup
	defer group.Wait()
	var truncated atomic.Uint64
	truncated.Store(uint64(rounds))
	defer truncated.Store(0) // which ends the others
	for range 2 {
		group.Go(func() {
			for most := uint64(rounds); most > 0; most = truncated.Load() {
				if size, status := r.size(); !status.Ok() || size > most {
					t.Errorf("after a truncation to %d, the size is %d, %v", most, size, status)
					return
				}
			}
		})
	}
	for size := uint64(rounds); size > 0; {
		size--
		r.truncate(handle, size)
		truncated.Store(size)
		r.flush(handle)
	}
}

// TestLookupOvertaken has a lookup use attributes from before a truncation that was published meanwhile. It returns the
// same file, with its new size.
func TestLookupOvertaken(t *testing.T) {
	r := newRequests(t, 100)
	handle, status := r.open(syscall.O_RDWR)
	r.must(status)
	defer r.release(handle)
	r.files.pauses.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		entry, status := r.lookup()
		if node, size := entry.NodeId, entry.Attr.Size; !status.Ok() || node != r.file.NodeId || size != 10 {
			t.Errorf("it returns node %d of %d bytes, %v; want %d of 10", node, size, status, r.file.NodeId)
		}
	}()
	<-r.files.paused
	r.truncate(handle, 10)
	r.flush(handle)
	r.files.resume <- struct{}{}
	<-done
}
