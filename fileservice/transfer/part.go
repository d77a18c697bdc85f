package transfer

import (
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

// add adds an entry that belongs to the part. If there is no room, it drops the last entries, but keeps at least one.
func (p *dirPart) add(entry fs.DirEntry) {
	name := entry.Name()
	if p.after != "" && compareNames(name, p.after) <= 0 || p.next != "" && compareNames(name, p.next) >= 0 {
		return
	}
	p.entries = append(p.entries, entry)
	p.held += p.weight * entryMemory(entry)
	if p.held <= p.room || p.grow(p) || len(p.entries) == 1 {
		return
	}
	p.sort()
	kept := len(p.entries)
	for ; kept > 1 && p.held > p.room/2; kept-- { // so it sorts rarely
		p.held -= p.weight * entryMemory(p.entries[kept-1])
		p.next = p.entries[kept-1].Name()
	}
	clear(p.entries[kept:])
	p.entries = p.entries[:kept]
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

// neighbor returns the name of entry i, or the name just after the part.
func (p *dirPart) neighbor(i int) string {
	if i == len(p.entries) {
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
