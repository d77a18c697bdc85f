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
	paths      *pathLock
	inPlace    sync.Map      // the nodes that may be open on the other side, to be written in place
	pageless   bool          // the kernel can bypass its pages for files that are mapped
	slots      chan struct{} // a token for each call of the file system that may begin
	buffers    *buffers      // of reads
	written    *buffers      // of writes; nil if programs may not write
	link       *link
	workers    *workers
	deadlines  sync.Pool
	moving     moving
	ended      chan struct{} // closed when the kernel sends no more requests

	mu      sync.Mutex
	open    map[io.Closer]struct{} // handles that the kernel has not released
	failure error                  // the first panic
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
	server, point, err := m.serve(dir, root)
	if err != nil {
		m.end()
		return nil, err
	}
	point.raiseReadAhead()
	mounted := &Mounted{mount: m, point: point, served: make(chan struct{}), left: make(chan struct{})}
	go func() {
		defer close(mounted.served)
		server.Serve()
		m.end()
	}()
	go m.disperse(root)
	if moving, is := m.config.FS.(MovingFS); is {
		go m.moving.watch(m, moving)
	}
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
		paths:   newPathLock(),
		open:    map[io.Closer]struct{}{},
	}
	if config.ReadWrite {
		m.written = newBuffers(config.Memory / 3)
	}
	m.workers = &workers{tasks: make(chan func()), ended: m.ended}
	m.crowd.large = make(chan struct{}, 1)
	for range maxCalls {
		m.slots <- struct{}{}
	}
	return m
}

// stat does not follow a symbolic link, if the file system has them.
func (m *mount) stat(name string) (fs.FileInfo, error) { return fs.Lstat(m.config.FS, name) }

// newRoot asks the file system for its root.
func (m *mount) newRoot() (*node, error) {
	answer, errno := call(context.Background(), m, func() (outcome[fs.FileInfo], error) {
		info, err := m.stat(".")
		return outcome[fs.FileInfo]{info, err}, nil
	}, nil)
	switch {
	case errno != 0:
		return nil, fmt.Errorf("no answer within %v", m.config.Timeout)
	case answer.err != nil:
		return nil, answer.err
	case !answer.value.IsDir():
		return nil, errors.New("the root of the file system is not a directory")
	}
	return &node{m: m, inode: inodeOf(answer.value, ".")}, nil
}

// serve attaches the file system and answers the first request, which negotiates capabilities.
func (m *mount) serve(dir string, root *node) (*fuse.Server, mountPoint, error) {
	timeout := cacheTime
	options := &gofs.Options{
		EntryTimeout:    &timeout,
		AttrTimeout:     &timeout,
		NullPermissions: true,
		RootStableAttr:  &gofs.StableAttr{Ino: root.inode},
		MountOptions: fuse.MountOptions{
			FsName:        m.config.Name,
			Name:          subtype,
			AllowOther:    m.config.AllowOther,
			Options:       mountOptions(m.config),
			MaxBackground: maxBackground,
			MaxWrite:      maxRequest,
			DisableXAttrs: true,
			DisableSplice: true, // answers are already in memory
			Logger:        log.New(io.Discard, "", 0),
			PanicHandler:  func(r any) fuse.Status { return fuse.ToStatus(m.errno(m.panicked(r))) },
		},
	}
	before, err := findMount(dir)
	if err != nil {
		return nil, mountPoint{}, err
	}
	target := dir
	if fd, err := mountDirect(dir, m.config); err == nil {
		target = fmt.Sprintf("/dev/fd/%d", fd)
	} else if !errors.Is(err, fs.ErrPermission) {
		return nil, mountPoint{}, err
	}
	if m.config.ReadWrite {
		options.ExtraCapabilities = fuse.CAP_DIRECT_IO_ALLOW_MMAP
	}
	server, err := fuse.NewServer(lockedRenames{gofs.NewNodeFS(root, options), m}, target, &options.MountOptions)
	var point mountPoint
	if err == nil {
		point, err = findMount(dir)
	}
	if err == nil && point.dir == "" {
		err = errors.New("another process has unmounted it")
	}
	if err != nil {
		return nil, mountPoint{}, errors.Join(err, before.restore(dir))
	}
	m.pageless = m.config.ReadWrite && server.KernelSettings().Flags64()&fuse.CAP_DIRECT_IO_ALLOW_MMAP != 0
	return server, point, nil
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
	m.workers.start(func() {
		_, _ = guarded(m, func() (struct{}, error) { return struct{}{}, closer.Close() })
	})
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
