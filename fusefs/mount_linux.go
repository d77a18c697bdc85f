package fusefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log" //nolint:depguard // go-fuse asks for one of its loggers
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	// maxRequest is the largest request of the kernel, in bytes: its maximum.
	maxRequest = 1 << 20

	// maxBackground is how many read-ahead requests the kernel may have under way.
	maxBackground = 64

	// cacheTime is how long the kernel caches names and attributes. It asks at every open all the same.
	cacheTime = time.Second

	// fileNameTime is cacheTime for names of files that this mount cannot change. To open or stat a file asks the file
	// system by its name anyway, so a lookup before that would only ask twice.
	fileNameTime = 20 * time.Second

	// politeTime is how long the connection may take to end by itself after an unmount.
	politeTime = time.Second

	// leaveTime is how long Unmount waits for requests after the connection has ended.
	leaveTime = 5 * time.Second
)

// mount is the state that all nodes and handles of a mounted file system share.
type mount struct {
	config Config
	uid    uint32
	gid    uint32

	generation atomic.Uint64 // of the next node
	era        atomic.Uint64 // grows with each rename, since handles read by path
	crowd      crowd
	paths      sync.RWMutex  // shared by what depends on a path, held by a rename
	inPlace    sync.Map      // the nodes that may be open on the other side, to be written in place
	pageless   bool          // the kernel can bypass its pages for files that are mapped
	slots      chan struct{} // a token for each call of the file system that may begin
	buffers    *buffers      // of reads
	written    *buffers      // of writes; nil if programs may not write
	link       *link
	ended      chan struct{} // closed when the kernel sends no more requests

	mu      sync.Mutex
	open    map[io.Closer]struct{} // handles that the kernel has not released
	failure error                  // the first panic, or why the connection to the kernel failed
	lost    int                    // unfinished files at the end
}

// Mounted is a mounted directory. Its methods are safe for concurrent use, and may be called more than once.
type Mounted struct {
	mount  *mount
	point  mountPoint
	served chan struct{} // closed when everything is over
	left   chan struct{} // closed when Unmount has given up waiting for served

	unmount sync.Once
	err     error // of unmount
}

// Mount mounts config.FS, whose root must be a directory, at the existing directory dir. It first removes a mount of
// this package that a killed process left there. This process must not use the directory: it could wait for itself.
func Mount(dir string, config Config) (*Mounted, error) {
	mounted, err := attach(dir, config)
	if err != nil {
		return nil, fmt.Errorf("fusefs: mount %s: %w", dir, err)
	}
	return mounted, nil
}

func attach(dir string, config Config) (*Mounted, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, err = clearPoint(dir)
	if err != nil {
		return nil, err
	}
	m := newMount(config)
	root, err := m.newRoot()
	if err != nil {
		m.end()
		return nil, err
	}
	before, err := findMount(dir)
	if err != nil {
		m.end()
		return nil, err
	}
	device, point, err := m.connect(dir, root)
	if err != nil {
		m.end()
		return nil, errors.Join(err, before.restore(dir))
	}
	point.raiseReadAhead()
	mounted := &Mounted{mount: m, point: point, served: make(chan struct{}), left: make(chan struct{})}
	go func() {
		defer close(mounted.served)
		device.serve(point.abort)
		m.end()
	}()
	return mounted, nil
}

func newMount(config Config) *mount {
	m := &mount{
		config:  config,
		uid:     uint32(os.Getuid()),
		gid:     uint32(os.Getgid()),
		slots:   make(chan struct{}, maxCalls),
		buffers: newBuffers(config.Memory),
		link:    newLink(config.Timeout, config.Memory),
		ended:   make(chan struct{}),
		open:    map[io.Closer]struct{}{},
	}
	if config.ReadWrite {
		m.written = newBuffers(config.Memory / 3)
	}
	for range maxCalls {
		m.slots <- struct{}{}
	}
	return m
}

// stat does not follow a symbolic link, if the file system has them.
func (m *mount) stat(name string) (fs.FileInfo, error) { return fs.Lstat(m.config.FS, name) }

// newRoot asks the file system for its root.
func (m *mount) newRoot() (*node, error) {
	var failed error
	info, errno := call(m.deadline(context.Background()), func() (info fs.FileInfo, _ error) {
		info, failed = m.stat(".")
		return info, nil
	}, nil)
	switch {
	case errno != 0:
		return nil, fmt.Errorf("no answer within %v", m.config.Timeout)
	case failed != nil:
		return nil, failed
	case !info.IsDir():
		return nil, errors.New("the root of the file system is not a directory")
	}
	return &node{m: m, inode: inodeOf(info, ".")}, nil
}

// connect attaches the file system and answers the first request, which negotiates capabilities.
func (m *mount) connect(dir string, root *node) (*device, mountPoint, error) {
	timeout := cacheTime
	options := &gofs.Options{
		EntryTimeout:    &timeout,
		AttrTimeout:     &timeout,
		NullPermissions: true,
		RootStableAttr:  &gofs.StableAttr{Ino: root.inode},
		MountOptions: fuse.MountOptions{
			Name:          subtype,
			MaxBackground: maxBackground,
			MaxWrite:      maxRequest,
			DisableXAttrs: true,
			Logger:        log.New(io.Discard, "", 0),
			PanicHandler:  func(r any) fuse.Status { return fuse.ToStatus(m.errno(m.panicked(r))) },
		},
	}
	if m.config.ReadWrite {
		options.ExtraCapabilities = fuse.CAP_DIRECT_IO_ALLOW_MMAP
	}
	fd, err := mountDirect(dir, m.config)
	if errors.Is(err, fs.ErrPermission) {
		fd, err = mountWithHelp(dir, m.config)
	}
	if err != nil {
		return nil, mountPoint{}, err
	}
	nodes := lockedRenames{gofs.NewNodeFS(root, options), m}
	server, err := fuse.NewServer(nodes, fmt.Sprintf("/dev/fd/%d", fd), &options.MountOptions)
	if err != nil {
		return nil, mountPoint{}, err
	}
	var d *device
	point, err := findMount(dir)
	switch {
	case err != nil:
	case point.dir == "":
		err = errors.New("another process has unmounted it")
	default:
		d, err = newDevice(m, fd, server, nodes, &options.MountOptions)
	}
	if err != nil {
		return nil, mountPoint{}, errors.Join(err, syscall.Close(fd))
	}
	m.pageless = m.config.ReadWrite && server.KernelSettings().Flags64()&fuse.CAP_DIRECT_IO_ALLOW_MMAP != 0
	return d, point, nil
}

// end closes everything that the kernel can no longer release.
func (m *mount) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open != nil {
		close(m.ended)
	}
	for handle := range m.open {
		if begun, is := handle.(*draft); is && begun.isAwaited() {
			m.lost++
		}
		m.discard(handle)
	}
	m.open = nil
}

// endError returns the error of Wait and Unmount.
func (m *mount) endError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost > 0 {
		return errors.Join(m.failure, &LostError{m.lost})
	}
	return m.failure
}

// hold registers a handle that must be closed at the end of the mount, unless the kernel releases it before. After the
// end it is closed immediately.
func (m *mount) hold(handle io.Closer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.discard(handle)
		return
	}
	m.open[handle] = struct{}{}
}

func (m *mount) release(handle io.Closer) {
	if m.letGo(handle) {
		m.discard(handle)
	}
}

// letGo unregisters a handle, and reports whether the caller must close it.
func (m *mount) letGo(handle io.Closer) (held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, held = m.open[handle]
	delete(m.open, handle)
	return held
}

// discard closes a handle whose error no longer matters. Nothing waits for it.
func (m *mount) discard(closer io.Closer) {
	go func() { _, _ = guarded(m, func() (struct{}, error) { return struct{}{}, closer.Close() }) }()
}

// Wait waits until the directory is unmounted, by Unmount or otherwise. It returns the first panic of the file system,
// which programs saw as EIO, and a [*LostError] if programs had unsynced files open.
func (m *Mounted) Wait() error {
	select {
	case <-m.served:
	case <-m.left:
	}
	return m.mount.endError()
}

// Unmount unmounts the directory. If programs still use it, it is unmounted all the same, and their requests fail. If
// it is no longer mounted, Unmount succeeds. Otherwise it returns its own error, or that of Wait.
func (m *Mounted) Unmount() error {
	m.unmount.Do(func() { m.err = m.leave() })
	if m.err != nil {
		return m.err
	}
	return m.mount.endError()
}

func (m *Mounted) leave() error {
	select {
	case <-m.served:
		// Another process has unmounted it, or only ended its connection. The directory may have another mount, even
		// with the same device number.
		if !m.point.isDead() {
			return nil
		}
	default:
	}
	if m.point.unmount(0, "-u") != nil {
		if err := m.point.abort(); err != nil {
			return fmt.Errorf("fusefs: unmount %s: %w", m.point.dir, err)
		}
	}
	if m.isServed(politeTime) {
		return nil
	}
	// It is still in another mount namespace, such as a container's.
	m.point.disconnect()
	if !m.isServed(leaveTime) {
		// The process may not end the connection. All requests fail from now on, and it ends with this process.
		m.mount.end()
		close(m.left)
	}
	return nil
}

// isServed waits for the end up to limit, and reports whether it came.
func (m *Mounted) isServed(limit time.Duration) bool {
	select {
	case <-m.served:
		return true
	case <-time.After(limit):
		return false
	}
}
