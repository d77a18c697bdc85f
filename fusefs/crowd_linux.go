package fusefs

import (
	"container/list"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
)

const (
	// maxKnown is how many nodes the kernel may know before it is asked to forget unused ones. It would keep them until
	// it needs memory, and each costs the mount about 1 KiB.
	maxKnown = 32 << 10

	// forgetAtOnce is how many nodes the kernel is asked to forget at a time.
	forgetAtOnce = 512
)

// crowd is the set of nodes that the kernel knows, the least recently looked up first.
type crowd struct {
	mu         sync.Mutex
	nodes      list.List // of *node
	dispersing bool
}

func (c *crowd) seen(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.place != nil {
		c.nodes.MoveToBack(n.place)
		return
	}
	n.place = c.nodes.PushBack(n)
	if count := c.nodes.Len(); count > maxKnown && count%(forgetAtOnce/2) == 0 && !c.dispersing {
		c.dispersing = true
		go c.disperse()
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

// disperse asks the kernel to forget some of the oldest nodes, and makes them the newest. No request may wait for it:
// the kernel takes locks for this that it holds during requests.
func (c *crowd) disperse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var inodes []*gofs.Inode
	for range min(forgetAtOnce, c.nodes.Len()-maxKnown) {
		inodes = append(inodes, c.nodes.Front().Value.(*node).EmbeddedInode())
		c.nodes.MoveToBack(c.nodes.Front())
	}
	c.mu.Unlock()
	if len(inodes) > 0 {
		forget(inodes)
	}
	c.mu.Lock()
	c.dispersing = false
}

// forget asks the kernel to forget unused nodes. Before Linux 6.18 the mount can only invalidate names. It spares
// directories, since a program with that working directory would notice.
func forget(inodes []*gofs.Inode) {
	if errno := inodes[0].NotifyPrune(inodes); errno != syscall.ENOSYS {
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
	return n.handles > 0 || n.writing.current() != nil
}
