package fusefs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	// batchEntries is how many entries of a directory are in memory at a time.
	batchEntries = 512

	// maxEmptyBatches is how often a file system may return neither an entry nor an end.
	maxEmptyBatches = 16
)

// directory is a directory that a program has open. It holds only a part of the listing.
type directory struct {
	node *node

	mu       sync.Mutex
	listing  *listing      // nil before the first entry was asked for
	batch    []entry       // the rest of the last part that was read
	arrived  time.Time     // when that part was read
	span     *span         // of the listing
	paused   bool          // the listing was, so its attributes may be old
	current  entry         // the last result of Readdirent
	position uint64        // how many entries Readdirent has returned
	finished syscall.Errno // what follows the batch: an error that stays until a rewind, or endOfDirectory
	made     []string      // names that only this mount knows, and the listing has not returned
	closed   bool
}

// endOfDirectory is the end of a listing, in place of an error.
const endOfDirectory = syscall.Errno(largestErrno + 1)

var (
	_ gofs.FileReaddirenter = (*directory)(nil)
	_ gofs.FileLookuper     = (*directory)(nil)
	_ gofs.FileSeekdirer    = (*directory)(nil)
	_ gofs.FileReleasedirer = (*directory)(nil)
)

// OpendirHandle opens nothing yet, which saves a call.
func (n *node) OpendirHandle(context.Context, uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	d := &directory{node: n}
	n.m.hold(d)
	return d, 0, 0
}

func (d *directory) Readdirent(ctx context.Context) (*fuse.DirEntry, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next(ctx)
}

// next returns the next entry, or nil at the end.
func (d *directory) next(ctx context.Context) (*fuse.DirEntry, syscall.Errno) {
	switch d.position {
	case 0:
		d.current = entry{name: ".", mode: syscall.S_IFDIR}
	case 1:
		d.current = entry{name: "..", mode: syscall.S_IFDIR}
		d.made = d.node.madeNames()
	default:
		for len(d.batch) == 0 {
			if d.finished == endOfDirectory {
				if !d.nextMade() {
					return nil, 0
				}
				continue
			}
			if errno := d.finished; errno != 0 {
				return nil, errno
			}
			if errno := d.read(ctx); errno != 0 {
				return nil, errno
			}
		}
		d.current, d.batch = d.batch[0], d.batch[1:]
	}
	d.position++
	return &fuse.DirEntry{
		Name: d.current.name, Mode: d.current.mode, Ino: d.inodeOf(d.current), Off: d.position,
	}, 0
}

// nextMade adds the next name that only this mount knows to the batch.
func (d *directory) nextMade() bool {
	for len(d.made) > 0 {
		name := d.made[0]
		d.made = d.made[1:]
		if d.node.childNode(name) != nil {
			d.batch = append(d.batch, entry{name: name, mode: syscall.S_IFREG})
			return true
		}
	}
	return false
}

// inodeOf returns the inode number that a lookup would return, if that costs nothing.
func (d *directory) inodeOf(e entry) uint64 {
	if e.name == "." {
		return d.node.inode
	}
	if e.info != nil {
		if number := numberOf(e.info); number != 0 {
			return number
		}
	}
	if made := d.node.made(e.name); made != nil {
		return made.StableAttr().Ino
	}
	path, errno := d.node.childPath(e.name)
	if errno != 0 {
		path = e.name
	}
	return hashOf(path)
}

// read reads the next part of the listing. No signal ends the wait: many programs take EINTR for the end of a listing,
// since no disk returns it.
func (d *directory) read(ctx context.Context) syscall.Errno {
	if d.closed { // with the mount
		return syscall.EIO
	}
	m, known := d.node.m, d.listing
	if known == nil {
		d.span = &span{directory: d.node, named: d.node.named.Load(), began: time.Now()}
	} else if time.Since(d.arrived) > cacheTime {
		d.paused = true
		d.span.pause()
	}
	got, errno := steadily(context.WithoutCancel(ctx), m, d.node.path, func(path string) (part, error) {
		if known != nil {
			return known.read(), nil
		}
		opened, err := openListing(m, path)
		if err != nil {
			return part{}, err
		}
		return opened.read(), nil
	}, func(late part) {
		if known == nil {
			m.discard(late.listing)
		}
	})
	if errno != 0 {
		// The entries of a call that is still under way are lost, so the rest would have a gap.
		d.finished = errno
		return errno
	}
	d.listing, d.batch, d.arrived = got.listing, got.entries, time.Now()
	d.span.arrived(d.arrived)
	if len(d.made) > 0 {
		for _, e := range d.batch {
			d.made = slices.DeleteFunc(d.made, func(name string) bool { return name == e.name })
		}
	}
	switch {
	case got.finished == io.EOF:
		d.finished = endOfDirectory
	case got.finished != nil:
		d.finished = m.errno(got.finished)
	}
	return 0
}

// Lookup returns the attributes that came with the listing, so that a listing costs no call for each entry. If there
// are none, if they are old or from before a change made here, or if the kernel knows too many names, it returns EAGAIN
// and the kernel looks the name up when a program needs it.
func (d *directory) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	before := d.node.before(name)
	if made := d.node.made(name); made != nil && made.showsDraft(&out.Attr) {
		return made.EmbeddedInode(), 0
	}
	if before.node != nil && before.node.isOpen() {
		return nil, syscall.EAGAIN
	}
	// A file that was closed before this has changed named.
	d.mu.Lock()
	current, of, good := d.current, d.span, cacheTime-time.Since(d.arrived)
	if d.paused || of == nil || of.named != d.node.named.Load() {
		good = 0
	}
	d.mu.Unlock()
	if current.name != name || current.info == nil || good <= 0 || d.node.m.crowd.isFull() {
		return nil, syscall.EAGAIN
	}
	out.SetEntryTimeout(good)
	out.SetAttrTimeout(good)
	child, errno := d.node.child(ctx, name, current.info, before, out)
	if errno == 0 {
		child.Operations().(*node).keepListed(current.info, of)
	}
	return child, errno
}

// Seekdir goes to behind the entry with this offset, or to the beginning.
func (d *directory) Seekdir(ctx context.Context, offset uint64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if offset < d.position {
		if d.listing != nil {
			d.node.m.discard(d.listing)
		}
		d.listing, d.batch, d.position, d.finished, d.paused = nil, nil, 0, 0, false
	}
	for d.position < offset {
		given, errno := d.next(ctx)
		if errno != 0 || given == nil {
			return errno
		}
	}
	return 0
}

func (d *directory) Releasedir(context.Context, uint32) { d.node.m.release(d) }

func (d *directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.listing == nil {
		return nil
	}
	return d.listing.Close()
}

// entry is one name of a listing, with its attributes if the file system returned them.
type entry struct {
	name string
	mode uint32 // the type
	info fs.FileInfo
}

// listing is a directory of the file system that is open.
type listing struct {
	m *mount

	mu   sync.Mutex // held by a call of the file system, which may not return
	file fs.ReadDirFile
}

func openListing(m *mount, path string) (*listing, error) {
	file, err := m.config.FS.Open(path)
	if err != nil {
		return nil, err
	}
	dir, is := file.(fs.ReadDirFile)
	if !is {
		return nil, errors.Join(syscall.ENOTDIR, file.Close())
	}
	return &listing{m: m, file: dir}, nil
}

// part is the next part of a listing, and the error or end after it.
type part struct {
	listing  *listing
	entries  []entry
	finished error
}

// read reads some entries with their attributes, which programs that list a directory usually want.
func (l *listing) read() part {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range maxEmptyBatches {
		entries, err := guarded(l.m, l.readBatch)
		if len(entries) > 0 || err != nil {
			return part{l, entries, err}
		}
	}
	return part{l, nil, errors.New("fusefs: listing returns neither entries nor an end")}
}

func (l *listing) readBatch() ([]entry, error) {
	listed, err := l.file.ReadDir(batchEntries)
	entries := make([]entry, 0, len(listed))
	for _, l := range listed {
		name, kind := l.Name(), kindOf(l.Type())
		if !isNamable(name) || kind == 0 {
			continue
		}
		info, infoErr := l.Info()
		if errors.Is(infoErr, fs.ErrNotExist) {
			continue
		}
		if infoErr != nil {
			info = nil
		}
		entries = append(entries, entry{name, kind, info})
	}
	return entries, err
}

// Close waits for a call that is under way.
func (l *listing) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
