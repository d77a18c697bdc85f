package canonical

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

const (
	maxShapes  = 4 // most columns have fewer
	maxScalars = 64
	maxShape   = 4 << 10 // bytes of a shape, without its scalars

	// Most rows of a column have one of few shapes, but not of every column. To learn one takes as long as several rows
	// save by it.
	firstCredit = 32
	mostCredit  = 2 * firstCredit
	learning    = 8
)

// shape is JSON in a field of CSV without its scalars, and its canonical text. JSON that differs from other JSON in
// nothing but scalars is read as that was: with the same objects, arrays and keys, in the same order.
type shape struct {
	read []byte // what is before each scalar, and after the last one
	ends []int  // of these pieces in read

	made  []byte // what is before each scalar that is left, and after the last one
	slots []slot
	same  bool // read and made have the same text
}

// slot is the place of a scalar in the canonical text.
type slot struct {
	end    int // of the piece of made that is before it
	scalar int
}

// shapes are what was learned. The one that was met last comes first.
type shapes struct {
	known  []*shape
	spare  *shape
	credit int    // as long as there is some, it is worth to look for a shape
	probe  []byte // JSON with marks as its scalars
}

// take brings a field that begins and ends at these places of a line to its canonical text. It returns false if it is
// rare, and nothing has changed.
func (j *jsonInLine) take(line []byte, at, end int) bool {
	looks := j.shapes.credit > 0
	if looks && end-at <= MaxJSON && j.shaped(line[:end], at) {
		j.shapes.credit = min(j.shapes.credit+1, mostCredit)
		return true
	}
	if j.field(line, at) < 0 {
		j.shapes.credit--
		return false
	}
	if looks {
		j.shapes.credit -= learning
		j.learn(line, at, end)
	}
	return true
}

// shaped takes a field at the end of a line if its shape is known.
func (j *jsonInLine) shaped(line []byte, at int) bool {
	known := j.shapes.known
	for i, s := range known {
		if j.fill(s, line, at) {
			if i > 0 {
				copy(known[1:], known[:i])
				known[0] = s
			}
			return true
		}
	}
	return false
}

// fill takes a field at the end of a line if it has a shape.
func (j *jsonInLine) fill(s *shape, line []byte, at int) bool {
	next, from, changed := at, 0, !s.same
	j.high, j.scalars = false, j.scalars[:0]
	last := len(s.ends) - 1
	for _, to := range s.ends[:last] {
		if !beginsWith(line[next:], s.read[from:to]) {
			return false
		}
		start := next + to - from
		var end int
		if end, next = j.scalar(line, start, sameEscapes); next < 0 {
			return false
		}
		j.scalars = append(j.scalars, span{uint32(start), uint32(end)})
		from, changed = to, changed || end < next
	}
	if !bytes.Equal(line[next:], s.read[from:]) || j.high && !utf8.Valid(line[at:]) {
		return false
	}
	if !changed {
		return true
	}
	j.copy(line, at, len(line))
	from = 0
	for _, slot := range s.slots {
		scalar := j.scalars[slot.scalar]
		j.out = append(append(j.out, s.made[from:slot.end]...), line[scalar.start:scalar.end]...)
		from = slot.end
	}
	j.out = append(j.out, s.made[from:]...)
	return true
}

// beginsWith is bytes.HasPrefix, which takes longer for the few bytes that most pieces have: two words, which overlap.
func beginsWith(text, piece []byte) bool {
	n := len(piece)
	if n < word || n > 2*word || n > len(text) {
		return bytes.HasPrefix(text, piece)
	}
	return binary.LittleEndian.Uint64(text) == binary.LittleEndian.Uint64(piece) &&
		binary.LittleEndian.Uint64(text[n-word:]) == binary.LittleEndian.Uint64(piece[n-word:])
}

// mark begins the numbers that take the place of scalars, which end with two digits.
const (
	mark      = "4611686018427"
	firstMark = 10
)

// learn learns the shape of the field that was taken.
func (j *jsonInLine) learn(line []byte, at, end int) {
	if len(j.scalars) == 0 || len(j.scalars) > maxScalars {
		return
	}
	k := &j.shapes
	s, probe, from := k.unused(), k.probe[:0], at
	for i, scalar := range j.scalars {
		piece := line[from:scalar.start]
		if len(s.read)+len(piece) > maxShape {
			return
		}
		n := firstMark + i
		probe = append(append(append(probe, piece...), mark...), byte('0'+n/10), byte('0'+n%10))
		s.read = append(s.read, piece...)
		s.ends = append(s.ends, len(s.read))
		from = int(scalar.end)
	}
	probe = append(probe, line[from:end]...)
	k.probe = probe
	s.read = append(s.read, line[from:end]...)
	s.ends = append(s.ends, len(s.read))
	if len(s.read) <= maxShape && !bytes.Contains(s.read, []byte(mark)) && j.print(s) {
		k.add(s)
	}
}

// print finds out the canonical text of a shape: where it has the scalars shows that of the same JSON with marks.
func (j *jsonInLine) print(s *shape) bool {
	probe := j.shapes.probe
	begin, taken := len(j.out), j.taken
	j.taken = 0
	ok := j.field(probe, 0) == len(probe)
	if ok {
		j.copy(probe, len(probe), 0)
		text := j.out[begin:]
		s.same = bytes.Equal(text, probe)
		for at := bytes.Index(text, []byte(mark)); at >= 0; at = bytes.Index(text, []byte(mark)) {
			s.made = append(s.made, text[:at]...)
			n := text[at+len(mark):]
			s.slots = append(s.slots, slot{len(s.made), 10*int(n[0]-'0') + int(n[1]-'0') - firstMark})
			text = n[2:]
		}
		s.made = append(s.made, text...)
	}
	j.out, j.taken = j.out[:begin], taken
	return ok
}

// unused returns an empty shape.
func (k *shapes) unused() *shape {
	if k.spare == nil {
		k.spare = new(shape)
	}
	s := k.spare
	s.read, s.ends, s.made, s.slots = s.read[:0], s.ends[:0], s.made[:0], s.slots[:0]
	return s
}

// add adds what was unused, in place of the shape that was met longest ago.
func (k *shapes) add(s *shape) {
	k.spare = nil
	if len(k.known) < maxShapes {
		k.known = append(k.known, nil)
	} else {
		k.spare = k.known[maxShapes-1]
	}
	copy(k.known[1:], k.known)
	k.known[0] = s
}
