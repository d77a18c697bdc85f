package fusefs

import (
	"container/list"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
)

const (
	// maxKnown is how many nodes the kernel may know before it is asked to forget those it does not use. It would keep
	// them until it needs memory, and so would the mount, at about 800 bytes each.
	maxKnown = 32 << 10

	// forgetAtOnce is how many it is asked to forget at a time.
	forgetAtOnce = 512
)

// crowd are the nodes that the kernel knows, the one that was looked up longest ago first.
type crowd struct {
	mu    sync.Mutex
	nodes list.List // of *node
	large chan struct{}
}

// seen notes that a node was looked up.
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

func (c *crowd) remove(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.place != nil {
		c.nodes.Remove(n.place)
		n.place = nil
	}
}

// isFull reports whether listings should give names only: the kernel does not forget as fast as they go on.
func (c *crowd) isFull() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes.Len() > maxKnown+maxKnown/4
}

// oldest gives some of those that have waited longest, and has them wait again.
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

// disperse has the kernel forget nodes while there are too many, until the mount ends. No request may wait for it: the
// kernel takes locks for this that it holds during requests.
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

// forget asks the kernel to forget nodes that no program uses. Before Linux 6.18 it can only be told that a name is no
// longer good, which a program would notice whose working directory that is.
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
			_ = parent.NotifyEntry(name) // it was a request
		}
	}
}

func (n *node) isOpen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handles > 0 || n.writing != nil && n.writing.draft != nil
}

// OnForget is called when the kernel has forgotten a node.
func (n *node) OnForget() { n.m.crowd.remove(n) }
