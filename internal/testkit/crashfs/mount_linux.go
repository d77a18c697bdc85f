package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"culvert/internal/testkit"
)

// Mount begins a program, and shows its file system at a directory, to the kernel and to whoever uses that. The hook is
// to be set before it. The program ends with [Disk.Kill] or [Disk.Crash], after which everything fails but to close
// what is open; then the directory is to be unmounted.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	m := &mounted{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), session: d.Boot(),
		nodes: map[uint64]node{}, ids: map[*inode]uint64{}, listings: map[uint64][]fuse.DirEntry{},
	}
	m.identify(d.top, d.path)
	server, err := fuse.NewServer(m, dir, &fuse.MountOptions{
		Name: "crashfs", DirectMount: true, MaxWrite: 1 << 20,
		DisableXAttrs: true, DisableReadDirPlus: true, DisableSplice: true,
	})
	if err != nil {
		d.Kill()
		return nil, err
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return nil, err
	}
	return func() error {
		// It is detached since it may be in use a little longer: a child process that is being started has all files
		// open until it runs its program.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			return err
		}
		server.Wait()
		return nil
	}, nil
}

// mounted serves a session to the kernel, which must cache nothing.
type mounted struct {
	fuse.RawFileSystem
	session *Session

	mu       sync.Mutex
	nodes    map[uint64]node // by the number that the kernel knows it by, from 1 on, which is the root
	ids      map[*inode]uint64
	listings map[uint64][]fuse.DirEntry // of open directories
	handle   uint64
}

// node is a file or directory with the name by which it was first found.
type node struct {
	inode *inode
	name  string
}

func (m *mounted) identify(f *inode, name string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids[f] == 0 {
		m.ids[f] = uint64(len(m.ids) + 1)
		m.nodes[m.ids[f]] = node{f, name}
	}
	return m.ids[f]
}

func (m *mounted) node(id uint64) node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes[id]
}

// file returns a node as an open file.
func (m *mounted) file(id uint64) *file {
	n := m.node(id)
	return &file{session: m.session, name: n.name, inode: n.inode, writable: true}
}

// in returns the place of a name in a directory, and its path for the hook.
func (m *mounted) in(dir uint64, name string) (place, string) {
	n := m.node(dir)
	return func() entry { return entry{n.inode, name} }, filepath.Join(n.name, name)
}

// directory returns the place of a directory itself.
func (m *mounted) directory(id uint64) (place, string) {
	n := m.node(id)
	return func() entry { return entry{dir: n.inode} }, n.name
}

// status returns the number of an error.
func status(err error) fuse.Status {
	var errno syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &errno):
		return fuse.Status(errno)
	case errors.Is(err, fs.ErrNotExist):
		return fuse.ENOENT
	case errors.Is(err, fs.ErrExist):
		return fuse.Status(syscall.EEXIST)
	}
	return fuse.EIO
}

func (m *mounted) describe(f *inode, id uint64, out *fuse.Attr) {
	d := m.session.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	*out = fuse.Attr{Ino: id, Size: uint64(len(f.cached)), Mode: syscall.S_IFREG | f.mode, Blksize: 4096}
	out.Mtime, out.Mtimensec = uint64(f.modified/1e9), uint32(f.modified%1e9)
	for _, named := range d.names {
		if named == f {
			out.Nlink++
		}
	}
	if f.dir {
		out.Mode, out.Nlink = syscall.S_IFDIR|0o700, 2
	}
}

// enter finds a name.
func (m *mounted) enter(dir uint64, name string, out *fuse.EntryOut) fuse.Status {
	at, path := m.in(dir, name)
	d := m.session.disk
	d.mu.Lock()
	f := d.names[at()]
	d.mu.Unlock()
	if f == nil {
		return fuse.ENOENT
	}
	out.NodeId, out.Generation = m.identify(f, path), 1
	m.describe(f, out.NodeId, &out.Attr)
	return fuse.OK
}

func (m *mounted) Lookup(_ <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return m.enter(header.NodeId, name, out)
}

func (m *mounted) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	m.describe(m.node(in.NodeId).inode, in.NodeId, &out.Attr)
	return fuse.OK
}

func (m *mounted) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	f := m.file(in.NodeId)
	var err error
	if size, is := in.GetSize(); is {
		err = f.Truncate(int64(size))
	}
	if mode, is := in.GetMode(); is && err == nil {
		err = f.do(SetTime, func() error { f.inode.mode = mode & 0o7777; return nil })
	}
	if modified, is := in.GetMTime(); is && err == nil {
		err = f.do(SetTime, func() error { f.inode.modified = modified.UnixNano(); return nil })
	}
	m.describe(f.inode, in.NodeId, &out.Attr)
	return status(err)
}

func (m *mounted) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	if m.enter(in.NodeId, name, out) == fuse.OK {
		return fuse.Status(syscall.EEXIST)
	}
	if err := m.session.mkdir(m.in(in.NodeId, name)); err != nil {
		return status(err)
	}
	return m.enter(in.NodeId, name, out)
}

func (m *mounted) Unlink(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	return status(m.session.remove(m.in(header.NodeId, name)))
}

func (m *mounted) Rmdir(_ <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	at, path := m.in(header.NodeId, name)
	names, err := m.session.list(func() entry { return entry{dir: m.session.disk.names[at()]} }, path)
	if err == nil && len(names) > 0 {
		err = syscall.ENOTEMPTY
	}
	if err == nil {
		err = m.session.remove(at, path)
	}
	return status(err)
}

func (m *mounted) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	source, path := m.in(in.NodeId, from)
	target, newPath := m.in(in.Newdir, to)
	return status(m.session.rename(source, target, path, newPath, in.Flags == 0))
}

func (m *mounted) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	at, path := m.in(in.NodeId, name)
	if err := m.session.link(m.node(in.Oldnodeid).inode, at, path); err != nil {
		return status(err)
	}
	return m.enter(in.NodeId, name, out)
}

func (m *mounted) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	if found := m.enter(in.NodeId, name, &out.EntryOut); found == fuse.OK {
		return fuse.Status(syscall.EEXIST) // the kernel opens what it knows to be there
	}
	created, err := m.session.create(m.in(in.NodeId, name))
	if err != nil {
		return status(err)
	}
	m.session.disk.mu.Lock()
	created.(*file).inode.mode = in.Mode & 0o7777
	delete(m.session.disk.open, created.(*file).inode) // whether the kernel has it open is not followed
	m.session.disk.mu.Unlock()
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return m.enter(in.NodeId, name, &out.EntryOut)
}

func (m *mounted) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	if in.Flags&syscall.O_TRUNC != 0 {
		return status(m.file(in.NodeId).Truncate(0))
	}
	return fuse.OK
}

func (m *mounted) Read(_ <-chan struct{}, in *fuse.ReadIn, p []byte) (fuse.ReadResult, fuse.Status) {
	n, err := m.file(in.NodeId).ReadAt(p, int64(in.Offset))
	if err != nil && err != io.EOF {
		return nil, status(err)
	}
	return fuse.ReadResultData(p[:n]), fuse.OK
}

func (m *mounted) Write(_ <-chan struct{}, in *fuse.WriteIn, p []byte) (uint32, fuse.Status) {
	n, err := m.file(in.NodeId).WriteAt(p, int64(in.Offset))
	if n > 0 && !errors.Is(err, ErrStopped) {
		err = nil // a short write
	}
	return uint32(n), status(err)
}

func (m *mounted) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	return status(m.file(in.NodeId).Reserve(int64(in.Offset + in.Length)))
}

func (m *mounted) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (m *mounted) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	const datasync = 1
	return status(m.file(in.NodeId).sync(in.FsyncFlags&datasync == 0))
}

func (m *mounted) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(m.session.syncDir(m.directory(in.NodeId)))
}

func (m *mounted) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	names, err := m.session.list(m.directory(in.NodeId))
	if err != nil {
		return status(err)
	}
	var entries []fuse.DirEntry
	for _, name := range names {
		var entry fuse.EntryOut
		if m.enter(in.NodeId, name, &entry) == fuse.OK {
			entries = append(entries, fuse.DirEntry{Name: name, Ino: entry.Ino, Mode: entry.Mode})
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handle++
	out.Fh = m.handle
	m.listings[out.Fh] = entries
	return fuse.OK
}

func (m *mounted) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := m.listings[in.Fh]
	for i := in.Offset; i < uint64(len(entries)); i++ {
		if !out.AddDirEntry(entries[i]) {
			break
		}
	}
	return fuse.OK
}

func (m *mounted) ReleaseDir(in *fuse.ReleaseIn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.listings, in.Fh)
}

func (m *mounted) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	*out = fuse.StatfsOut{Blocks: 1 << 20, Bfree: 1 << 20, Bavail: 1 << 20, Bsize: 4096, NameLen: 255}
	return fuse.OK
}

// Need fails or skips a test where no disk can be mounted.
func Need(t testing.TB) {
	t.Helper()
	if file, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil || os.Getuid() != 0 {
		testkit.Missing(t, "a file system of a test", "run the tests as root where there is /dev/fuse")
	} else if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
