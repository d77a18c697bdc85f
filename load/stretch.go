package load

import "bytes"

// stretch is rows in one of the forms that a loader takes. It ends where the next one begins.
type stretch struct {
	end         int // in out
	rows, lines int64
	binary      bool
	wide        []wide
}

// stretched adds rows at the end of the output.
func (b *block) stretched(rows int64, isBinary bool) {
	if last := len(b.stretches) - 1; last >= 0 && b.stretches[last].binary == isBinary {
		b.stretches[last].end = len(b.output)
		b.stretches[last].rows += rows
		return
	}
	b.stretches = append(b.stretches, stretch{end: len(b.output), rows: rows, binary: isBinary})
}

// finish counts the lines of what was made for the loaders.
func (b *block) finish() {
	if b.out = b.output; len(b.stretches) == 0 {
		return
	}
	start := 0
	for i := range b.stretches {
		if s := &b.stretches[i]; !s.binary {
			text := b.out[start:s.end]
			s.lines = int64(bytes.Count(text, []byte{'\n'}))
			s.wide = findWide(text, s.rows, s.lines)
		}
		start = b.stretches[i].end
	}
	switch one := &b.stretches[0]; {
	case len(b.stretches) > 1:
		b.moved = true
	case one.binary:
		one.lines = b.lines
	default:
		b.moved = b.moved || one.lines != b.lines
		b.lines = one.lines
	}
}

// pass has a loader take rows in the binary form as they came. No column of the table changes a value, since it has the
// type of the source.
func (b *block) pass() {
	b.out = b.text
	b.stretches = append(b.stretches, stretch{end: len(b.out), rows: b.rows, binary: true})
}
