package fusefs

import (
	"container/list"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// maxPath is the longest path, in bytes. The kernel does not limit programs that descend step by step, and a hostile
// file system may have endless directories.
const maxPath = 32 << 10

// node is a name of the file system that the kernel knows. It stays the same while the file keeps its inode number. A
// file that replaces it under the name is another node, with its own pages in the kernel's cache.
type node struct {
	gofs.Inode
	m *mount

	place *list.Element // guarded by m.crowd.mu

	mu      sync.Mutex  // guards what follows
	inode   uint64      // on the other side; it changes when other content takes the name
	version version     // whose attributes the kernel has
	listed  listed      // attributes of a listing
	changes uint64      // made here
	writes  uint64      // changes of the content
	cached  version     // whose pages the kernel has, if pages
	pages   bool        // the kernel may have pages of version cached
	handles int         // open handles
	opened  fs.FileInfo // attributes of version, if there are handles
	writing *writing    // nil if the file was never written to

	files map[string]*node // of a directory: files whose names exist in this mount only

	named atomic.Uint64 // of a directory: grows when files in it, or their names, are changed here
}

var (
	_ gofs.NodeLookuper       = (*node)(nil)
	_ gofs.NodeGetattrer      = (*node)(nil)
	_ gofs.NodeReadlinker     = (*node)(nil)
	_ gofs.NodeOpener         = (*node)(nil)
	_ gofs.NodeOpendirHandler = (*node)(nil)
	_ gofs.NodeStatfser       = (*node)(nil)
	_ gofs.NodeAccesser       = (*node)(nil)
	_ gofs.NodeOnForgetter    = (*node)(nil)
)

// path returns the path in the file system. A node that has lost its name has none.
func (n *node) path() (string, syscall.Errno) {
	var names []string
	for at := n.EmbeddedInode(); !at.IsRoot(); {
		name, parent := at.Parent()
		if parent == nil {
			return "", syscall.ESTALE
		}
		names = append(names, name)
		at = parent
	}
	if len(names) == 0 {
		return ".", 0
	}
	slices.Reverse(names)
	path := strings.Join(names, "/")
	if len(path) >= maxPath {
		return "", syscall.ENAMETOOLONG
	}
	return path, 0
}

// childPath returns the path of a name in a directory.
func (n *node) childPath(name string) (string, syscall.Errno) {
	if len(name) > maxName {
		return "", syscall.ENAMETOOLONG
	}
	if !isNamable(name) {
		return "", syscall.ENOENT
	}
	path, errno := n.path()
	if errno != 0 || path == "." {
		return name, errno
	}
	return path + "/" + name, 0
}

// newPath is childPath for a name that is about to be created.
func (n *node) newPath(name string) (string, syscall.Errno) {
	if len(name) <= maxName && !isNamable(name) {
		return "", syscall.EINVAL
	}
	return n.childPath(name)
}

// maxName is the longest name on Linux, in bytes.
const maxName = 255

// isNamable reports whether a name may be shown: it does not lead elsewhere, io/fs can open it, and it cannot control
// the terminal of a user who lists it.
func isNamable(name string) bool {
	return name != "." && len(name) <= maxName && fs.ValidPath(name) && !strings.Contains(name, "/") &&
		!strings.ContainsFunc(name, isControl)
}

// Lookup asks the file system for a name.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	if made := n.made(name); made != nil && made.showsDraft(&out.Attr) {
		return made.EmbeddedInode(), 0
	}
	path := func() (string, syscall.Errno) { return n.childPath(name) }
	for range maxLookups {
		before := n.before(name)
		info, errno := before.node.fromListing(), syscall.Errno(0)
		if info == nil {
			info, errno = steadily(ctx, n.m, path, n.m.stat, nil)
		}
		if errno != 0 {
			return nil, errno
		}
		child, errno := n.child(ctx, name, info, before, out)
		if errno != syscall.ESTALE {
			return child, errno
		}
	}
	return nil, syscall.ESTALE
}

// maxLookups is how often a name is looked up if it gets new content here meanwhile.
const maxLookups = 8

// era changes whenever the file is changed here. A nil node has era 0.
func (n *node) era() uint64 {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changes
}

// before is what was known of a name before the file system was asked for its attributes.
type before struct {
	node *node // nil if the kernel did not know the name
	era  uint64
}

func (n *node) before(name string) before {
	known := n.childNode(name)
	return before{known, known.era()}
}

// child returns the node for a name with these attributes, and fills them in. It returns ESTALE if the name got new
// content here meanwhile: attributes from before that would make it another file, or bring back its previous size.
func (n *node) child(ctx context.Context, name string, info fs.FileInfo, before before, out *fuse.EntryOut,
) (*gofs.Inode, syscall.Errno) {
	if errno := n.m.attributes(info, &out.Attr); errno != 0 {
		return nil, errno
	}
	inode := numberOf(info)
	if inode == 0 {
		path, errno := n.childPath(name)
		if errno != 0 {
			return nil, errno
		}
		inode = hashOf(path)
	}
	kind := out.Mode & syscall.S_IFMT
	if kind == syscall.S_IFREG && !n.m.config.ReadWrite {
		out.SetEntryTimeout(fileNameTime)
	}
	known := n.childNode(name)
	overtaken := n.m.config.ReadWrite && known != before.node
	if !overtaken && known != nil && known.Mode() == kind {
		if begun, is := known.accept(info, inode, before.era); is {
			begun.show(&out.Attr)
			n.m.crowd.seen(known)
			return known.EmbeddedInode(), 0
		}
		overtaken = known.era() != before.era
	}
	if overtaken {
		return nil, syscall.ESTALE
	}
	made := &node{m: n.m, inode: inode, version: versionOf(info)}
	n.m.crowd.seen(made)
	// Two names of one file are two nodes, since the file system may treat their paths differently. The generation
	// keeps them apart, and keeps a hostile file system from building cycles out of inode numbers.
	return n.NewInode(ctx, made, gofs.StableAttr{Mode: kind, Ino: inode, Gen: n.m.generation.Add(1)}), 0
}

// accept updates the version of a node, and reports whether the attributes are still those of the node, or of the draft
// that it returns. They are not if the file was changed here since they were asked for, in that era. A node with an
// open version keeps it: programs that have it open see one version until it can no longer be read, and later opens get
// another node. A draft keeps its node too, since it has the name or will get it, unless it has failed.
func (n *node) accept(info fs.FileInfo, inode, era uint64) (begun *draft, is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes != era {
		return nil, false
	}
	other := n.inode != inode
	if begun := n.writing.current(); begun != nil {
		// Others may have replaced a file in place.
		replaced := other && numberOf(info) != 0 && begun.inPlace.Load()
		return begun, !replaced && !begun.hasFailed()
	}
	if other {
		return nil, false
	}
	if !info.Mode().IsRegular() {
		return nil, true
	}
	now := versionOf(info)
	if n.handles > 0 && n.version != now {
		return nil, false
	}
	n.version = now
	return nil, true
}

// Getattr returns the attributes of the open version, or else of the current one.
func (n *node) Getattr(ctx context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	errno := n.currentAttributes(ctx, out)
	if mayBeOurs(errno) && n.afterChanges(ctx) {
		errno = n.currentAttributes(ctx, out)
	}
	return errno
}

func (n *node) currentAttributes(ctx context.Context, out *fuse.AttrOut) syscall.Errno {
	// Both are of one moment. A program that starts another one closes its copies of all descriptors, so a draft may be
	// published at any time. If that was before the draft is looked for, opened would have the size from before it, and
	// the kernel would append there even after a truncation.
	n.mu.Lock()
	opened, inode, begun, era := n.opened, n.inode, n.writing.current(), n.changes
	n.mu.Unlock()
	isDraft, errno := begun.show(&out.Attr), syscall.Errno(0)
	if opened != nil && !isDraft {
		errno = n.m.attributes(opened, &out.Attr)
	}
	if opened != nil || isDraft {
		if n.isOrphan() {
			out.Nlink = 0
		}
		return errno
	}
	info := n.fromListing()
	if info == nil {
		info, errno = steadily(ctx, n.m, n.path, n.m.stat, nil)
	}
	if errno != 0 {
		return errno
	}
	if errno := n.m.attributes(info, &out.Attr); errno != 0 {
		return errno
	}
	if number := numberOf(info); number != 0 && info.Mode().IsRegular() && !n.m.config.ReadWrite {
		inode = number
	}
	// ESTALE makes the kernel look the name up again.
	if !n.IsRoot() && out.Mode&syscall.S_IFMT != n.Mode() {
		return syscall.ESTALE
	}
	begun, is := n.accept(info, inode, era)
	if !is {
		return syscall.ESTALE
	}
	begun.show(&out.Attr)
	return 0
}

// Readlink returns the target of a symbolic link. The kernel follows it on this machine.
func (n *node) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	read := func(path string) (string, error) { return fs.ReadLink(n.m.config.FS, path) }
	target, errno := steadily(ctx, n.m, n.path, read, nil)
	if errno != 0 {
		return nil, errno
	}
	if len(target) >= syscall.PathMax || strings.Contains(target, "\x00") {
		return nil, syscall.EIO
	}
	return []byte(target), 0
}

// Access leaves permissions to the file system, or with AllowOther to the kernel. After ENOSYS it is not asked again.
func (n *node) Access(context.Context, uint32) syscall.Errno { return syscall.ENOSYS }

// Statfs returns how much space there is, if the file system knows.
func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	const block = 4096
	out.Bsize, out.Frsize, out.NameLen = block, block, maxName
	space, is := n.m.config.FS.(SpaceFS)
	if !is {
		return 0
	}
	path, errno := n.path()
	if errno != 0 {
		path = "."
	}
	type room struct{ total, free, available uint64 }
	has, errno := call(n.m.deadline(ctx), func() (room, error) {
		total, free, available, err := space.Space(path)
		if errors.Is(err, fs.ErrNotExist) && path != "." {
			// The file is open here, but has no name there yet, or no longer.
			total, free, available, err = space.Space(".")
		}
		return room{total, free, available}, err
	}, nil)
	out.Blocks, out.Bfree, out.Bavail = has.total/block, has.free/block, has.available/block
	return errno
}
