package transfer

import (
	"container/heap"
	"io/fs"
	"slices"
	"strings"
)

// dirPart holds the first names after a given one, in the order of compareNames, as many as fit in room. So a directory
// of any size, listed in any order, takes little memory.
type dirPart struct {
	after   string // the last name of the part before; empty in the first
	next    string // the first name of the next part; empty if there is none
	last    string // the last name passed
	weight  int64  // multiplies the memory of an entry
	entries []fs.DirEntry

	held, room int64
	grow       func(*dirPart) bool // increases room, if possible
}

// entryMemory estimates the memory of an entry: its name, an Info, and two slice elements, one of them spare.
func entryMemory(entry fs.DirEntry) int64 { return int64(len(entry.Name())) + 144 }

// add adds an entry that belongs to the part. If there is no room, it drops the last entry, but keeps at least one.
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

// reset empties the part after a listing failed. It keeps room.
func (p *dirPart) reset() { p.entries, p.next, p.held = nil, "", 0 }

// sort sorts the entries, so that twins are neighbors. It reports whether a name occurs twice.
func (p *dirPart) sort() (twice string, is bool) {
	slices.SortFunc(p.entries, func(a, b fs.DirEntry) int { return compareNames(a.Name(), b.Name()) })
	for i, entry := range p.entries {
		if p.neighbor(i+1) == entry.Name() {
			return entry.Name(), true
		}
	}
	return "", false
}

// neighbor returns the name of entry i, or the name just before or after the part.
func (p *dirPart) neighbor(i int) string {
	switch {
	case i < 0:
		return p.after
	case i == len(p.entries):
		return p.next
	}
	return p.entries[i].Name()
}

// isTwin reports whether a neighbor's name differs only in case, so that a file system may consider them equal. The
// entries before i were passed.
func (p *dirPart) isTwin(i int) bool {
	previous := p.last
	if i == 0 {
		previous = p.after
	}
	name := strings.ToLower(p.entries[i].Name())
	return strings.ToLower(previous) == name || strings.ToLower(p.neighbor(i+1)) == name
}

// pass frees entry i, because the rest may take long.
func (p *dirPart) pass(i int) {
	p.last = p.entries[i].Name()
	p.entries[i] = nil
}

// lastFirst is a dirPart as a heap.
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

// compareNames defines the order in which a tree is walked: without case, then with case.
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
