// Package crashfs is a disk in memory for tests of what survives a crash. It behaves as a disk under an operating
// system may at its worst:
//
//   - What is written is in the memory of the system, where every process sees it, until File.Sync puts it on the disk.
//     A crash keeps, drops, zeroes, tears or garbles each block of what was not synced, and keeps or drops each change
//     of a size.
//   - Names that were made, changed or removed are in memory, too, until FS.SyncDir. A crash keeps or drops each of
//     these changes.
//   - The time of a file that was set is in memory until a sync of all of the file, which File.Sync is not.
//   - A write that a crash interrupts damages no other bytes than those it was to write.
//
// A [Disk] is the state; [Disk.Boot] gives the file system that a program uses. [Disk.Kill] ends the program and leaves
// the memory of the system as it is, [Disk.Crash] loses that. What becomes of each block is up to a function, so that a
// test can draw lots or try every combination. [Disk.Hook] sees every operation before it happens and can make it fail,
// or be the last one.
//
// [Disk.Mount] shows the disk as a file system of the kernel, to code that uses package os.
package crashfs

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
)

// Choose picks one of n ways to go on, from 0 to n-1.
type Choose func(n int) int

// Disk is a disk and what the system has in memory of it.
type Disk struct {
	// Hook is called before every operation, if it is not nil, and says how it ends. It must not use the disk.
	Hook func(Operation) Fault

	// Block is the size of the blocks that a crash treats each in its own way; 0 means 512 bytes.
	Block int

	root    string
	mu      sync.Mutex
	session *Session // nil if no program runs
	names   map[string]*inode
	synced  map[string]*inode // the names as they are on the disk
	changes []change          // of names, that are in memory only
	count   int
}

// inode is a file.
type inode struct {
	cached []byte  // as programs see it
	synced []byte  // as it is on the disk
	writes []write // that are in memory only, in their order
	dir    bool

	modified, syncedModified int64 // a time, as programs see it and as it is on the disk; nanoseconds since 1970
	mode                     uint32
}

// write is a change of the content or, without data, of the size of a file.
type write struct {
	offset int64
	data   []byte
	size   int64 // of the file afterwards
}

// change is one of names.
type change struct {
	dir      string // whose sync makes it durable
	from, to string // "" for a new file, and for one that is removed
	file     *inode
}

// New makes an empty disk with one directory, whose name is durable.
func New(dir string) *Disk {
	root := &inode{dir: true}
	return &Disk{root: dir, names: map[string]*inode{dir: root}, synced: map[string]*inode{dir: root}}
}

// Boot begins a program: the file system that it sees. There is one at a time; the one before must have ended.
func (d *Disk) Boot() *Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != nil {
		panic("crashfs: a program is running")
	}
	d.session = &Session{disk: d, locks: map[string]bool{}}
	return d.session
}

// Kill ends the program. The system keeps what it has in memory.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = nil
}

// Crash ends the program and the system. What is left is all on the disk then.
func (d *Disk) Crash(choose Choose) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = nil
	for _, c := range d.changes {
		if choose(2) == 1 {
			c.apply(d.synced)
		}
	}
	d.changes = nil
	maps.DeleteFunc(d.synced, func(name string, _ *inode) bool {
		return name != d.root && d.synced[filepath.Dir(name)] == nil // its directory is gone
	})
	d.names = maps.Clone(d.synced)
	settled := map[*inode]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if f := d.names[name]; !settled[f] {
			settled[f] = true
			f.crash(choose, d.block())
		}
	}
}

func (d *Disk) block() int {
	if d.Block == 0 {
		return 512
	}
	return d.Block
}

// apply makes a change in a table of names, if it can be made there.
func (c change) apply(names map[string]*inode) {
	switch {
	case c.from == "":
		names[c.to] = c.file
	case names[c.from] != c.file:
	case c.to == "":
		delete(names, c.from)
	default:
		delete(names, c.from)
		names[c.to] = c.file
	}
}

// crash decides what becomes of the content of a file.
func (f *inode) crash(choose Choose, block int) {
	content := f.synced
	for _, w := range f.writes {
		if int64(len(content)) != w.size && choose(2) == 1 {
			content = resize(content, w.size)
		}
		for begin := 0; begin < len(w.data); {
			at := w.offset + int64(begin)
			end := min(len(w.data), begin+block-int(at%int64(block)))
			if at+int64(end-begin) <= int64(len(content)) {
				damage(content[at:at+int64(end-begin)], w.data[begin:end], choose)
			}
			begin = end
		}
	}
	f.writes = nil
	f.synced = content
	f.cached = slices.Clone(content)
	if f.modified != f.syncedModified && choose(2) == 0 {
		f.modified = f.syncedModified
	}
	f.syncedModified = f.modified
}

// damage decides what becomes of one block: it keeps what it had, or gets what was written, a part of that, zeros, or
// anything.
func damage(block, written []byte, choose Choose) {
	switch choose(5) {
	case 0:
	case 1:
		copy(block, written)
	case 2:
		copy(block, written[:choose(len(written))])
	case 3:
		clear(block)
	case 4:
		copy(block, written)
		for range 1 + choose(4) {
			block[choose(len(block))] ^= byte(1 + choose(255))
		}
	}
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// Clone copies the disk, without a program and without the hook.
func (d *Disk) Clone() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	copies := map[*inode]*inode{}
	copied := func(f *inode) *inode {
		if copies[f] == nil {
			// What was written is never changed, but content is.
			copies[f] = &inode{
				cached: slices.Clone(f.cached), synced: slices.Clone(f.synced),
				writes: slices.Clone(f.writes), dir: f.dir,
				modified: f.modified, syncedModified: f.syncedModified, mode: f.mode,
			}
		}
		return copies[f]
	}
	c := &Disk{Block: d.Block, root: d.root, names: map[string]*inode{}, synced: map[string]*inode{}}
	for name, f := range d.names {
		c.names[name] = copied(f)
	}
	for name, f := range d.synced {
		c.synced[name] = copied(f)
	}
	for _, change := range d.changes {
		change.file = copied(change.file)
		c.changes = append(c.changes, change)
	}
	return c
}

// Files gives the content of the files in a directory by their names, as programs see it. It can be changed.
func (d *Disk) Files(dir string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	for name, f := range d.names {
		if filepath.Dir(name) == dir && !f.dir {
			files[filepath.Base(name)] = f.cached
		}
	}
	return files
}

// Operations is how many there have been.
func (d *Disk) Operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// Put makes a file of this content, on the disk at once, in place of one that may be there.
func (d *Disk) Put(name string, content []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &inode{cached: slices.Clone(content), synced: slices.Clone(content)}
	d.names[name], d.synced[name] = f, f
}

// Delete removes a file, on the disk at once.
func (d *Disk) Delete(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, name)
	delete(d.synced, name)
}
