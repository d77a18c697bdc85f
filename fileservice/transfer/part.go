package transfer

import (
	"container/heap"
	"io/fs"
	"slices"
	"strings"
)

// dirPart is what is held of a directory: of the names after one, in the order of compareNames, the first ones, as many
// as have room. So a directory of any size is gone through in little memory, whatever order it is listed in.
type dirPart struct {
	after   string // the last name of the part before; empty in the first
	next    string // the first name of the part behind; empty if there is none
	last    string // the last name of this part, once it was passed
	weight  int64  // how often an entry is counted, if more is held beside it
	entries []fs.DirEntry

	held, room int64
	grow       func(*dirPart) bool // gives more room, or not
}

// entryMemory is about what an entry takes in memory: its name, an Info, and two places in a slice, of which one may be
// unused.
func entryMemory(entry fs.DirEntry) int64 { return int64(len(entry.Name())) + 144 }

// add takes an entry that belongs to the part, and gives up the last one if there is no room. There is always some for
// one.
func (p *dirPart) add(entry fs.DirEntry) {
	name := entry.Name()
	if p.after != "" && compareNames(name, p.after) <= 0 || p.next != "" && compareNames(name, p.next) >= 0 {
		return
	}
	heap.Push((*lastFirst)(p), entry)
	p.held += p.weight * entryMemory(entry)
	for p.held > p.room && !p.grow(p) && len(p.entries) > 1 {
		last := heap.Pop((*lastFirst)(p)).(fs.DirEntry)
		p.held -= p.weight * entryMemory(last)
		p.next = last.Name()
	}
}

// reset is for a listing that begins again, or has failed. The part keeps its room.
func (p *dirPart) reset() { p.entries, p.next, p.held = nil, "", 0 }

// sort puts the entries in order, so that twins are neighbours. It reports whether there is a name twice.
func (p *dirPart) sort() (twice string, is bool) {
	slices.SortFunc(p.entries, func(a, b fs.DirEntry) int { return compareNames(a.Name(), b.Name()) })
	for i, entry := range p.entries {
		if p.neighbour(i+1) == entry.Name() {
			return entry.Name(), true
		}
	}
	return "", false
}

// neighbour gives the name of an entry, or of one before or behind all of them.
func (p *dirPart) neighbour(i int) string {
	switch {
	case i < 0:
		return p.after
	case i == len(p.entries):
		return p.next
	}
	return p.entries[i].Name()
}

// isTwin reports whether the name of an entry differs in case only from a neighbour's. A file system may take them for
// the same. Those before it were passed.
func (p *dirPart) isTwin(i int) bool {
	previous := p.last
	if i == 0 {
		previous = p.after
	}
	name := strings.ToLower(p.entries[i].Name())
	return strings.ToLower(previous) == name || strings.ToLower(p.neighbour(i+1)) == name
}

// pass gives up an entry: it may be long until the last one.
func (p *dirPart) pass(i int) {
	p.last = p.entries[i].Name()
	p.entries[i] = nil
}

// lastFirst is a part as a heap.
type lastFirst dirPart

func (h *lastFirst) Len() int { return len(h.entries) }

func (h *lastFirst) Less(i, j int) bool {
	return compareNames(h.entries[i].Name(), h.entries[j].Name()) > 0
}

func (h *lastFirst) Swap(i, j int) { h.entries[i], h.entries[j] = h.entries[j], h.entries[i] }

func (h *lastFirst) Push(entry any) { h.entries = append(h.entries, entry.(fs.DirEntry)) }

func (h *lastFirst) Pop() any {
	last := len(h.entries) - 1
	entry := h.entries[last]
	h.entries[last] = nil
	h.entries = h.entries[:last]
	return entry
}

// compareNames is the order in which a tree is gone through: first without case.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := lowerASCII(a[i]), lowerASCII(b[i])
		switch {
		case x|y >= 0x80: // which is rare
			if order := strings.Compare(strings.ToLower(a), strings.ToLower(b)); order != 0 {
				return order
			}
			return strings.Compare(a, b)
		case x != y:
			return int(x) - int(y)
		}
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
