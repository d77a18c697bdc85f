// Package crashfs simulates a disk in memory, for tests of crashes. It behaves as badly as a disk under an operating
// system may:
//
//   - Written data stays in the page cache, visible to every process, until File.Sync. A crash keeps, drops, zeroes,
//     tears or garbles each block that was not synced, and keeps or drops each change of a size.
//   - New, changed and removed names stay in the cache until FS.SyncDir. A crash keeps or drops each of these changes.
//   - A file's modification time stays in the cache until a full sync, which File.Sync is not.
//   - A write that a crash interrupts damages only the bytes that it was to write.
//   - [Disk.Space] limits the size of all files. Freed space is reused only once a crash cannot bring its file back, as
//     with a file system's journal.
//
// A [Disk] holds the state, and [Disk.Boot] returns the file system of a program. [Disk.Kill] ends the program and
// keeps the cache; [Disk.Crash] loses it. A function decides the fate of each block, so tests can choose at random or
// try every combination. [Disk.Hook] is called before every operation, and can make it fail or end the program.
//
// [Disk.Mount] mounts the disk with FUSE, for code that uses package os.
package crashfs

import (
	"maps"
	"slices"
	"sync"
)

// Choose picks one of n outcomes, from 0 to n-1.
type Choose func(n int) int

// Disk is a disk with its page cache.
type Disk struct {
	// Hook, if not nil, is called before every operation and decides its outcome. It must not use the disk.
	Hook func(Operation) Fault

	// Block is the size of the blocks that a crash treats separately; 0 means 512 bytes.
	Block int

	// Space limits the total size of all files in bytes; 0 means no limit.
	Space int64

	path    string // of the top directory
	top     *inode
	mu      sync.Mutex
	session *Session // nil if no program runs
	names   table
	synced  table          // names on the disk
	changes []change       // of names, in the cache only
	open    map[*inode]int // open files of the program, and their counts
	count   int
}

// inode is a file or a directory.
type inode struct {
	cached []byte  // seen by programs
	synced []byte  // on the disk
	writes []write // in the cache only, in order
	dir    bool
	gone   bool // a directory that was removed

	modified, syncedModified int64 // times seen by programs and on the disk, in Unix nanoseconds
	mode                     uint32
}

// write is a change of the content or, without data, of the size of a file.
type write struct {
	offset int64
	data   []byte
	size   int64 // of the file afterwards
}

// change is a change of names.
type change struct {
	dir      *inode // whose sync makes it durable
	from, to entry  // from is empty for a new file, to for a removed one
	file     *inode
}

// New returns an empty disk with one directory, whose name is durable.
func New(dir string) *Disk {
	return &Disk{path: dir, top: &inode{dir: true}, names: table{}, synced: table{}}
}

// Boot starts a program and returns its file system. The previous program must have ended.
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

// Kill ends the program and keeps the cache.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = nil
}

// Crash ends the program and the system. Everything that survives is then on the disk.
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
	reached := table{} // files in a removed directory are lost
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

// crash decides the fate of a file's content.
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

// damage decides the fate of one block: it keeps its old content, or gets the new content, a part of it, zeros, or
// garbage.
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

// Clone copies the disk without its program and hook.
func (d *Disk) Clone() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	copies := map[*inode]*inode{}
	copied := func(f *inode) *inode {
		if copies[f] == nil {
			// Written data never changes, but content does.
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

// Files returns the content of the files in a directory by name, as programs see it. The caller may change it.
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

// Operations returns the number of operations so far.
func (d *Disk) Operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// Put creates or replaces a file, on the disk at once.
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
