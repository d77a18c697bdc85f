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
	// maxRequest is the most that the kernel asks for at once: as much as it can.
	maxRequest = 1 << 20

	// maxBackground is how many requests of its read-ahead the kernel has under way.
	maxBackground = 64

	// cacheTime is how long the kernel believes names and attributes. It asks at every open, whatever it believes.
	cacheTime = time.Second

	// politeTime is how long the connection has to end by itself when the directory is unmounted.
	politeTime = time.Second

	// leaveTime is how long Unmount waits for requests that are being answered, after the connection has ended.
	leaveTime = 5 * time.Second
)

// mount is what all nodes and handles of a mounted file system share.
type mount struct {
	config Config
	stat   func(name string) (fs.FileInfo, error)
	uid    uint32
	gid    uint32

	generation atomic.Uint64 // of the next node
	era        atomic.Uint64 // grows with each rename: handles read by the path that a file had
	crowd      crowd
	paths      *pathLock
	inPlace    sync.Map      // *node: those that may be open on the other side, to be written in place
	pageless   bool          // the kernel can write without pages to files that are mapped
	slots      chan struct{} // one for each call of the file system that may still begin
	buffers    *buffers      // of reads
	written    *buffers      // of writes; nil if programs may not write
	link       *link
	workers    *workers
	deadlines  sync.Pool
	moving     moving
	ended      chan struct{} // closed when the kernel asks for nothing any more

	mu      sync.Mutex
	open    map[io.Closer]struct{} // handles that the kernel has not released
	failure error                  // the first panic
	lost    int                    // files under construction at the end
}

// Mounted is a directory that shows a file system. Its methods may be called at once, and more than once.
type Mounted struct {
	mount  *mount
	point  mountPoint
	served chan struct{} // closed when everything is over
	left   chan struct{} // closed when Unmount gave up waiting for that

	unmount sync.Once
	err     error // of unmount
}

// Mount shows config.FS in the directory dir, which has to be there, until it is unmounted. A mount of this package
// that was left at dir by a process that was killed is taken away first. Requests are answered by goroutines of this
// process; it must not itself use the directory, since it could wait for itself.
//
// It asks FS for its root, and fails if that is not a directory.
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
	mounted, err := m.attach(dir)
	if err != nil {
		m.end()
	}
	return mounted, err
}

func (m *mount) attach(dir string) (*Mounted, error) {
	root, err := m.newRoot()
	if err != nil {
		return nil, err
	}
	server, point, err := m.serve(dir, root)
	if err != nil {
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
		stat:    func(name string) (fs.FileInfo, error) { return fs.Stat(config.FS, name) },
		uid:     uint32(os.Getuid()),
		gid:     uint32(os.Getgid()),
		slots:   make(chan struct{}, maxCalls),
		buffers: newBuffers(config.Memory),
		link:    newLink(config.Timeout, config.Memory),
		ended:   make(chan struct{}),
		paths:   newPathLock(),
		open:    map[io.Closer]struct{}{},
		moving:  moving{began: time.Now()},
	}
	if config.ReadWrite {
		m.written = newBuffers(config.Memory / 3)
	}
	if links, is := config.FS.(fs.ReadLinkFS); is {
		m.stat = links.Lstat
	}
	m.workers = newWorkers(m.ended)
	m.crowd.large = make(chan struct{}, 1)
	for range maxCalls {
		m.slots <- struct{}{}
	}
	return m
}

// newRoot asks for the root of the file system.
func (m *mount) newRoot() (*node, error) {
	var failed error
	info, errno := call(context.Background(), m, func() (fs.FileInfo, error) {
		info, err := m.stat(".")
		failed = err
		return info, err
	}, nil)
	switch {
	case errno == syscall.EIO && failed == nil:
		return nil, fmt.Errorf("no answer within %v", m.config.Timeout)
	case errno != 0:
		return nil, failed
	case !info.IsDir():
		return nil, errors.New("the root of the file system is not a directory")
	}
	return &node{m: m, inode: inodeOf(info, ".")}, nil
}

// serve attaches the file system and answers the first request of the kernel, which settles what both can do.
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
			DisableSplice: true, // answers are in memory already
			Logger:        log.New(io.Discard, "", 0),
			PanicHandler: func(r any) fuse.Status {
				return fuse.ToStatus(m.errno(m.panicked(r)))
			},
		},
	}
	before, err := findMount(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	if err != nil {
		return nil, mountPoint{}, errors.Join(err, before.restore(dir))
	}
	m.pageless = m.config.ReadWrite && server.KernelSettings().Flags64()&fuse.CAP_DIRECT_IO_ALLOW_MMAP != 0
	point, err := findMount(dir)
	if err != nil {
		return nil, mountPoint{}, errors.Join(err, before.restore(dir))
	}
	return server, point, nil
}

// end closes what the kernel can no longer release.
func (m *mount) end() {
	m.mu.Lock()
	left := m.open
	m.open = nil
	if left != nil {
		close(m.ended)
	}
	for handle := range left {
		if begun, is := handle.(*draft); is && begun.isAwaited() {
			m.lost++
		}
	}
	m.mu.Unlock()
	for handle := range left {
		m.discard(handle)
	}
}

// endError is what is to be said at the end.
func (m *mount) endError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost > 0 {
		return errors.Join(m.failure, &LostError{m.lost})
	}
	return m.failure
}

// hold notes a handle that has to be closed in the end. The kernel releases most of them before. After the end it is
// closed at once.
func (m *mount) hold(handle io.Closer) {
	m.mu.Lock()
	ended := m.open == nil
	if !ended {
		m.open[handle] = struct{}{}
	}
	m.mu.Unlock()
	if ended {
		m.discard(handle)
	}
}

func (m *mount) release(handle io.Closer) {
	if m.letGo(handle) {
		m.discard(handle)
	}
}

// letGo reports whether the caller has to close a handle that was held.
func (m *mount) letGo(handle io.Closer) (held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, held = m.open[handle]
	delete(m.open, handle)
	return held
}

// discard closes what was only read from, of which an error changes nothing any more. Nobody waits for it.
func (m *mount) discard(closer io.Closer) {
	m.workers.start(func() {
		_, _ = guarded(m, func() (struct{}, error) { return struct{}{}, closer.Close() })
	})
}

// Wait waits until the directory is unmounted, by Unmount or by somebody else. Its error tells of a panic of the file
// system, which programs saw as EIO, and is a [*LostError] if programs had files open that they had written to.
func (m *Mounted) Wait() error {
	select {
	case <-m.served:
	case <-m.left:
	}
	return m.mount.endError()
}

// Unmount takes the file system from the directory. If programs still use it, it is gone from the directory all the
// same, and their requests fail. It is not an error if there is nothing mounted any more. Its error may also be that of
// Wait.
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
		// Somebody else has unmounted it, and what is there now may be another mount: the kernel gives the number of a
		// device again. Or he has ended the connection only.
		if !m.point.isDead() {
			return nil
		}
	default:
	}
	if m.point.unmount() != nil {
		if err := m.point.abort(); err != nil {
			return fmt.Errorf("fusefs: unmount %s: %w", m.point.dir, err)
		}
	}
	if m.isServed(politeTime) {
		return nil
	}
	// Another mount namespace still has it, such as that of a container.
	m.point.disconnect()
	if !m.isServed(leaveTime) {
		// The connection cannot be ended, for want of rights. All requests fail from now on; with this process it ends.
		m.mount.end()
		close(m.left)
	}
	return nil
}

// isServed waits for the end, and reports whether it came.
func (m *Mounted) isServed(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-m.served:
		return true
	case <-timer.C:
		return false
	}
}
