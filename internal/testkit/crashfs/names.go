package crashfs

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a place in a directory. It stays there if the directory is renamed.
type entry struct {
	dir  *inode
	name string
}

// table maps the entries of directories to files.
type table map[entry]*inode

// apply makes a change in a table, if possible.
func (c change) apply(names table) {
	none := entry{}
	switch {
	case c.from == none:
		names[c.to] = c.file
	case names[c.from] != c.file:
	case c.to == none:
		delete(names, c.from)
	default:
		delete(names, c.from)
		names[c.to] = c.file
	}
}

// walk visits everything below a directory, always in the same order.
func (t table) walk(dir *inode, visit func(entry, *inode)) {
	below := map[*inode][]entry{}
	for e := range t {
		below[e.dir] = append(below[e.dir], e)
	}
	var descend func(*inode)
	descend = func(dir *inode) {
		entries := below[dir]
		slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		for _, e := range entries {
			f := t[e]
			visit(e, f)
			if f.dir {
				descend(f)
			}
		}
	}
	descend(dir)
}

// find returns the file at a path, or nil. The disk is locked.
func (d *Disk) find(path string) *inode {
	if path == d.path {
		return d.top
	}
	e := d.place(path)
	if e.dir == nil {
		return nil
	}
	return d.names[e]
}

// place gives the entry that a path leads to, whether there is something or not; its directory is nil if that is
// missing. The disk is locked.
func (d *Disk) place(path string) entry {
	if path == "/" || path == "." || path == d.path {
		return entry{}
	}
	return entry{d.find(filepath.Dir(path)), filepath.Base(path)}
}

// makeRoom reports whether files can grow by n bytes. If that takes what was freed and could come back in a crash, the
// changes that have freed it are put on the disk. The disk is locked.
func (d *Disk) makeRoom(n int64) bool {
	if d.Space == 0 || n <= 0 {
		return true
	}
	used, perhaps := int64(0), int64(0)
	files := d.files()
	for f, inUse := range files {
		if inUse {
			used += int64(len(f.cached))
		}
		perhaps += int64(max(len(f.cached), len(f.synced)))
	}
	if used+n > d.Space {
		return false
	}
	if perhaps+n <= d.Space {
		return true
	}
	for _, c := range d.changes {
		c.apply(d.synced)
	}
	d.changes = nil
	for f := range files {
		if len(f.synced) > len(f.cached) {
			f.sync()
		}
	}
	return true
}

// files gives all files that take room or could after a crash, and whether they do now.
func (d *Disk) files() map[*inode]bool {
	files := map[*inode]bool{}
	for f := range maps.Values(d.synced) {
		files[f] = false
	}
	for f := range maps.Values(d.names) {
		files[f] = true
	}
	for f := range d.open {
		files[f] = true
	}
	return files
}
