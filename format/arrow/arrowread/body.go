package arrowread

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// array is the values of a node in a message.
type array struct {
	node     *node
	n        int64
	valid    []byte // a bit for each value that is not NULL, or empty if all are
	ends     []byte // offsets
	data     []byte // the values, or the sizes of lists
	texts    [][]byte
	children []*array
	dict     *dictionary
}

// most bounds the values of an array, so that sums and products of them are numbers of 64 bits.
const mostValues = 1 << 40

var errBatch = errors.New("a record batch is damaged")

// wanted is a buffer that is to be read.
type wanted struct {
	at, size int64 // in the body
	to       *[]byte
}

// body reads the arrays of a RecordBatch.
type body struct {
	f        *file
	b        *block
	codec    codec
	nodes    []byte // of 16 bytes each, as the buffers
	buffers  []byte
	variadic []byte // how many buffers of texts a column of views has
	wanted   []wanted
	bad      bool
}

const pairSize = 16

func (f *file) newBody(b *block, t table) (*body, error) {
	c, err := codecOf(t)
	r := &body{
		f: f, b: b, codec: c,
		nodes: t.structs(1, pairSize), buffers: t.structs(2, pairSize), variadic: t.structs(4, 8),
	}
	if err == nil && t.f.bad {
		err = errMessage
	}
	return r, err
}

// pair takes the next pair of numbers.
func (r *body) pair(from *[]byte) (a, b int64) {
	if len(*from) < pairSize {
		r.bad = true
		return 0, 0
	}
	a, b = int64(binary.LittleEndian.Uint64(*from)), int64(binary.LittleEndian.Uint64((*from)[8:]))
	*from = (*from)[pairSize:]
	return a, b
}

// buffer takes the next buffer, which becomes *to unless that is nil.
func (r *body) buffer(to *[]byte) {
	at, size := r.pair(&r.buffers)
	if at < 0 || size < 0 || at > r.b.body || size > r.b.body-at {
		r.bad = true
		return
	}
	if to != nil && size > 0 {
		r.wanted = append(r.wanted, wanted{at, size, to})
	}
}

// array takes the nodes and the buffers of an array, which are in the order of the schema. It returns nil if it is not
// wanted.
func (r *body) array(n *node, want bool) (*array, error) {
	a := &array{node: n}
	length, nulls := r.pair(&r.nodes)
	a.n = length
	if r.bad || length < 0 || length > mostValues || nulls < 0 || nulls > length {
		return nil, errBatch
	}
	use := func(to *[]byte) *[]byte {
		if want {
			return to
		}
		return nil
	}
	if n.layout != nullLayout && n.layout != runLayout {
		r.buffer(use(&a.valid))
	}
	switch n.layout {
	case bitLayout, fixedLayout:
		r.buffer(use(&a.data))
	case textLayout, listViewLayout:
		r.buffer(use(&a.ends))
		r.buffer(use(&a.data))
	case listLayout, mapLayout:
		r.buffer(use(&a.ends))
	case viewLayout:
		r.buffer(use(&a.data))
		r.views(a, want)
	default:
	}
	if r.bad {
		return nil, errBatch
	}
	for _, child := range n.nodes {
		below, err := r.array(child, want)
		if err != nil {
			return nil, err
		}
		a.children = append(a.children, below)
	}
	if !want {
		return nil, nil
	}
	if n.dict != nil {
		var err error
		if a.dict, err = r.f.dictionary(n, r.b.before); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// views takes the buffers of the texts of a column of views.
func (r *body) views(a *array, want bool) {
	if len(r.variadic) < 8 {
		r.bad = true
		return
	}
	n := binary.LittleEndian.Uint64(r.variadic)
	r.variadic = r.variadic[8:]
	if n > uint64(len(r.buffers)/pairSize) {
		r.bad = true
		return
	}
	if want {
		a.texts = make([][]byte, n)
	}
	for i := range n {
		if want {
			r.buffer(&a.texts[i])
		} else {
			r.buffer(nil)
		}
	}
}

// check checks that the buffers have as many values as the array. What values refer to is checked when they are read.
func (a *array) check() bool {
	n := a.node
	values := func(buf []byte, count, size int64) bool { return int64(len(buf)) >= count*size }
	bits := (a.n + 7) / 8
	ok := len(a.valid) == 0 || values(a.valid, bits, 1)
	size := int64(n.size)
	switch n.layout {
	case bitLayout:
		ok = ok && values(a.data, bits, 1)
	case fixedLayout:
		ok = ok && values(a.data, a.n, size)
	case viewLayout:
		ok = ok && values(a.data, a.n, viewSize)
	case textLayout, listLayout, mapLayout:
		ok = ok && (a.n == 0 || values(a.ends, a.n+1, size))
	case listViewLayout:
		ok = ok && values(a.ends, a.n, size) && values(a.data, a.n, size)
	case fixedListLayout:
		ok = ok && a.children[0].n >= a.n*int64(n.count)
	case structLayout:
		for _, child := range a.children {
			ok = ok && child.n >= a.n
		}
	case runLayout:
		ok = ok && a.children[0].n <= a.children[1].n
	default:
	}
	for _, child := range a.children {
		ok = ok && child.check()
	}
	return ok
}

// The bounds of what some rows take together.
const (
	mostOpen = 1<<30 + 64<<20

	// nearby is how far apart buffers may be that are read together.
	nearby = 64 << 10
)

func tooLarge(size int64) error {
	return fmt.Errorf("a record batch takes %d bytes of memory, and at most %d are read; write smaller ones", size,
		int64(mostOpen))
}

// read reads the buffers that are wanted. It returns the memory that they are in, to be used again.
func (r *body) read() (memory [2][]byte, err error) {
	slices.SortFunc(r.wanted, func(a, b wanted) int { return cmp.Compare(a.at, b.at) })
	var spans []wanted // of which each has several buffers
	all := int64(0)
	for _, w := range r.wanted {
		last := len(spans) - 1
		if last < 0 || w.at > spans[last].at+spans[last].size+nearby {
			spans = append(spans, wanted{at: w.at, size: w.size})
			all += w.size
			continue
		}
		grown := max(spans[last].size, w.at+w.size-spans[last].at)
		all += grown - spans[last].size
		spans[last].size = grown
	}
	if all > mostOpen {
		return memory, tooLarge(all)
	}
	packed := r.f.take(all)
	memory[0] = packed
	at := r.b.at + int64(r.b.metadata)
	wanted := r.wanted
	for _, s := range spans {
		span := packed[:s.size]
		packed = packed[s.size:]
		if err := readAt(r.f.src, span, at+s.at); err != nil {
			return memory, err
		}
		for len(wanted) > 0 && wanted[0].at+wanted[0].size <= s.at+s.size {
			w := wanted[0]
			*w.to = span[w.at-s.at : w.at-s.at+w.size : w.at-s.at+w.size]
			wanted = wanted[1:]
		}
	}
	if r.codec != uncompressed {
		memory[1], err = r.decompress(all)
	}
	return memory, err
}

// decompress decompresses the buffers, of all bytes, into memory of their sizes.
func (r *body) decompress(all int64) ([]byte, error) {
	sizes := make([]int64, len(r.wanted))
	text := int64(0)
	for i, w := range r.wanted {
		var err error
		if sizes[i], err = r.codec.textSize(*w.to); err != nil {
			return nil, err
		}
		if sizes[i] >= 0 {
			if text += room(sizes[i]); text > mostOpen-all {
				return nil, tooLarge(all + text)
			}
		}
	}
	memory := r.f.take(text)
	rest := memory
	for i, w := range r.wanted {
		if sizes[i] < 0 {
			*w.to = (*w.to)[sizeBefore:]
			continue
		}
		n := room(sizes[i])
		text := rest[:sizes[i]:n]
		rest = rest[n:]
		if err := r.f.unpack(r.codec, text, *w.to); err != nil {
			return memory, err
		}
		*w.to = text
	}
	return memory, nil
}

// take returns memory for n bytes, which give takes back.
func (f *file) take(n int64) []byte {
	if buf, is := f.idle.Get().(*[]byte); is && int64(cap(*buf)) >= n {
		return (*buf)[:n]
	}
	return make([]byte, n)
}

// give keeps memory for the next batch, unless a large one has used it.
func (f *file) give(memory ...[]byte) {
	const most = 8 << 20
	for _, buf := range memory {
		if cap(buf) > 0 && cap(buf) <= most {
			f.idle.Put(&buf)
		}
	}
}
