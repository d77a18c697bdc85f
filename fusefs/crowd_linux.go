package fusefs

import (
	"container/list"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
)

const (
	// maxKnown is how many nodes the kernel may know before it is asked to forget unused ones. It would keep them until
	// it needs memory, and each costs the mount about 800 bytes.
	maxKnown = 32 << 10

	// forgetAtOnce is how many nodes the kernel is asked to forget at a time.
	forgetAtOnce = 512
)

// crowd is the set of nodes that the kernel knows, the least recently looked up first.
type crowd struct {
	mu    sync.Mutex
	nodes list.List // of *node
	large chan struct{}
}

func (c *crowd) seen(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.place != nil {
		c.nodes.MoveToBack(n.place)
		return
	}
	n.place = c.nodes.PushBack(n)
	if count := c.nodes.Len(); count > maxKnown && count%(forgetAtOnce/2) == 0 {
		select {
		case c.large <- struct{}{}:
		default:
		}
	}
}

func (n *node) OnForget() {
	c := &n.m.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.place != nil {
		c.nodes.Remove(n.place)
		n.place = nil
	}
}

// isFull reports whether listings should return names only, because the kernel forgets more slowly than they add nodes.
func (c *crowd) isFull() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes.Len() > maxKnown+maxKnown/4
}

// oldest returns some of the oldest nodes, and makes them the newest.
func (c *crowd) oldest() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make([]*node, 0, forgetAtOnce)
	for range min(cap(nodes), max(c.nodes.Len()-maxKnown, 0)) {
		nodes = append(nodes, c.nodes.Front().Value.(*node))
		c.nodes.MoveToBack(c.nodes.Front())
	}
	return nodes
}

// disperse makes the kernel forget nodes while there are too many, until the mount ends. No request may wait for it:
// the kernel takes locks for this that it holds during requests.
func (m *mount) disperse(root *node) {
	for {
		select {
		case <-m.ended:
			return
		case <-m.crowd.large:
		}
		if nodes := m.crowd.oldest(); len(nodes) > 0 {
			forget(root, nodes)
		}
	}
}

// forget asks the kernel to forget unused nodes. Before Linux 6.18 the mount can only invalidate names. It spares
// directories, since a program with that working directory would notice.
func forget(root *node, nodes []*node) {
	inodes := make([]*gofs.Inode, 0, len(nodes))
	for _, n := range nodes {
		inodes = append(inodes, n.EmbeddedInode())
	}
	if errno := root.NotifyPrune(inodes); errno != syscall.ENOSYS {
		return
	}
	for _, n := range inodes {
		name, parent := n.Parent()
		if parent != nil && !n.IsDir() && !n.Operations().(*node).isOpen() {
			_ = parent.NotifyEntry(name) // it is a request that may fail
		}
	}
}

func (n *node) isOpen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handles > 0 || n.writing != nil && n.writing.draft != nil
}
