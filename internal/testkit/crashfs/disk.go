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
//   - With [Disk.Space], the files have that much room. What was freed is used again only once it is certain that it
//     stays free, as a journal of a file system has it.
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

	// Space is how many bytes all files may have together; 0 means any number.
	Space int64

	path    string // of the top directory
	top     *inode
	mu      sync.Mutex
	session *Session // nil if no program runs
	names   table
	synced  table          // the names as they are on the disk
	changes []change       // of names, that are in memory only
	open    map[*inode]int // files that the program has open, and how often
	count   int
}

// inode is a file or a directory.
type inode struct {
	cached []byte  // as programs see it
	synced []byte  // as it is on the disk
	writes []write // that are in memory only, in their order
	dir    bool
	gone   bool // a directory that was removed

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
	dir      *inode // whose sync makes it durable
	from, to entry  // no from for a new file, and no to for one that is removed
	file     *inode
}

// New makes an empty disk with one directory, whose name is durable.
func New(dir string) *Disk {
	return &Disk{path: dir, top: &inode{dir: true}, names: table{}, synced: table{}}
}

// Boot begins a program: the file system that it sees. There is one at a time; the one before must have ended.
func (d *Disk) Boot() *Session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != nil {
		panic("crashfs: a program is running")
	}
	d.session = &Session{disk: d, locks: map[*inode]bool{}}
	d.open = map[*inode]int{}
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
	reached := table{} // what is in a directory that is gone is not
	settled := map[*inode]bool{}
	d.synced.walk(d.top, func(e entry, f *inode) {
		reached[e] = f
		if !settled[f] {
			settled[f] = true
			f.gone = false
			f.crash(choose, d.block())
		}
	})
	d.synced, d.names = reached, maps.Clone(reached)
}

func (d *Disk) block() int {
	if d.Block == 0 {
		return 512
	}
	return d.Block
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
				writes: slices.Clone(f.writes), dir: f.dir, gone: f.gone,
				modified: f.modified, syncedModified: f.syncedModified, mode: f.mode,
			}
		}
		return copies[f]
	}
	c := &Disk{Block: d.Block, Space: d.Space, path: d.path, top: copied(d.top), names: table{}, synced: table{}}
	place := func(e entry) entry {
		if e.dir != nil {
			e.dir = copied(e.dir)
		}
		return e
	}
	for e, f := range d.names {
		c.names[place(e)] = copied(f)
	}
	for e, f := range d.synced {
		c.synced[place(e)] = copied(f)
	}
	for _, change := range d.changes {
		change.dir, change.file = copied(change.dir), copied(change.file)
		change.from, change.to = place(change.from), place(change.to)
		c.changes = append(c.changes, change)
	}
	return c
}

// Files gives the content of the files in a directory by their names, as programs see it. It can be changed.
func (d *Disk) Files(dir string) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	in := d.find(dir)
	for e, f := range d.names {
		if e.dir == in && !f.dir {
			files[e.name] = f.cached
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
	e := d.place(name)
	d.names[e], d.synced[e] = f, f
}

// Delete removes a file, on the disk at once.
func (d *Disk) Delete(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, d.place(name))
	delete(d.synced, d.place(name))
}
