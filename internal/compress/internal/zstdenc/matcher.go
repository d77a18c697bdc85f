package zstdenc

import (
	"encoding/binary"
	"math/bits"
)

const (
	hashSize = 7 // bytes
	hashLog  = 15
	minMatch = 4

	// positions is the mask of the low bits of a position in the table. Matches are never further away, so they stay
	// within the window.
	positions = window - 1

	// skipLog is how fast the search accelerates in text without matches: by one byte for each 1<<skipLog bytes. Most
	// runs of literals that are longer than a short word, such as hashes, are long, so the search soon takes two bytes
	// more.
	skipLog, soonLog, soonMost = 6, 4, 2
)

// matcher divides blocks of a text into sequences.
type matcher struct {
	text   []byte
	recent offsets

	// The sequences of the current block, and all their literals. The block may end with more literals.
	sequences []sequence
	literals  []byte

	// table has the low bits of the last position of each hash. The other bits are more bits of the hash, so that the
	// text at a position is hardly ever read in vain. Bytes are compared in any case, so stale entries do no harm.
	table [1 << hashLog]uint32
}

// offsets are the last two different offsets of matches. A sequence can refer to them by their number.
type offsets struct{ first, second int }

// sequence is a run of literals and a match.
type sequence struct {
	literals uint32 // length of the run
	match    uint32 // length of the match
	offset   uint32 // as the format has it: 1 or 2 for a recent offset, or else the offset plus 3
}

// begin begins a text.
func (m *matcher) begin(text []byte) {
	m.text = text
	m.recent = offsets{1, 4} // by the format
	clear(m.table[:])
	if m.literals == nil {
		m.literals = make([]byte, 0, blockSize)
		m.sequences = make([]sequence, 0, blockSize/minMatch)
	}
}

// find divides text[start:end], which is at most a block, into sequences.
func (m *matcher) find(start, end int) {
	m.literals, m.sequences = m.literals[:0], m.sequences[:0]
	text, recent := m.text[:end], m.recent
	limit := end - 2*8      // all positions below can be hashed, and so can the next few
	i, done := start, start // done is the end of the last match
	if i == 0 {
		i = 1 // the recent offsets need an earlier byte
	}
	for i < limit {
		word := load(text, i)
		offset := m.replace(word, i)
		if uint32(load(text, i+1-recent.first)) == uint32(word>>8) {
			i++
			offset = recent.first
		} else if offset == 0 {
			if offset = m.replace(word>>8, i+1); offset == 0 {
				i += 2 + min((i-done)>>soonLog, soonMost) + (i-done)>>skipLog
				continue
			}
			i++
		}
		length := matchLen(text, i-offset, i)
		if length < minMatch {
			i++
			continue
		}
		for i > done && i > offset && text[i-1] == text[i-1-offset] {
			i--
			length++
		}
		m.literals = append(m.literals, text[done:i]...)
		m.sequences = append(m.sequences, sequence{uint32(i - done), uint32(length), recent.use(offset, i > done)})
		first := i
		i += length
		done = i
		if i >= limit {
			break
		}
		m.replace(load(text, first+2), first+2)
		m.replace(load(text, i-2), i-2)
		for i < limit && uint32(load(text, i)) == uint32(load(text, i-recent.second)) {
			length := matchLen(text, i-recent.second, i)
			recent.first, recent.second = recent.second, recent.first
			m.sequences = append(m.sequences, sequence{0, uint32(length), 1}) // without literals, 1 is the second one
			i += length
			done = i
		}
	}
	m.recent = recent
	m.literals = append(m.literals, text[done:]...)
}

// use makes an offset the first recent one, and returns how a sequence refers to it.
func (o *offsets) use(offset int, hasLiterals bool) uint32 {
	switch {
	case hasLiterals && offset == o.first:
		return 1
	case hasLiterals && offset == o.second:
		o.first, o.second = o.second, o.first
		return 2
	default:
		o.first, o.second = offset, o.first
		return uint32(offset) + 3
	}
}

// replace enters a position by the first bytes of the word there. It returns the offset of the last position with the
// same hash, or 0 if there is none.
func (m *matcher) replace(word uint64, position int) (offset int) {
	const prime = 0xCF1BBCDCB7A56463
	hash := word << (64 - 8*hashSize) * prime
	slot := &m.table[hash>>(64-hashLog)]
	entry := uint32(hash>>(32-hashLog))&^positions | uint32(position)&positions
	found := *slot
	*slot = entry
	if found^entry > positions {
		return 0
	}
	return int((entry - found) & positions)
}

// matchLen returns how many bytes are equal from a and from b on, with a below b.
func matchLen(text []byte, a, b int) int {
	first := b
	for b+8 <= len(text) {
		if different := load(text, a) ^ load(text, b); different != 0 {
			return b - first + bits.TrailingZeros64(different)/8
		}
		a, b = a+8, b+8
	}
	for b < len(text) && text[a] == text[b] {
		a, b = a+1, b+1
	}
	return b - first
}

// load returns the eight bytes at i.
func load(text []byte, i int) uint64 { return binary.LittleEndian.Uint64(text[i:]) }
