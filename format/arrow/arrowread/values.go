package arrowread

import (
	"encoding/binary"
	"errors"
	"sort"

	"culvert/format/internal/untyped"
	"culvert/source"
)

// reader makes the texts of values. Its err is the first damage that it finds.
type reader struct {
	untyped.Nested
	most int // bytes of a text that is nested
	why  untyped.Reason
	err  error
}

var errValues = errors.New("the values refer to others that are not there")

const (
	viewSize   = 16
	mostInView = 12 // bytes of a text that is in its view
)

// find returns where a value is, which indexes and runs may stand for. It returns nil if it is NULL.
func (r *reader) find(a *array, i int64) (*array, int64) {
	for {
		if len(a.valid) > 0 && a.valid[i/8]&(1<<(i%8)) == 0 {
			return nil, 0
		}
		switch {
		case a.node.dict != nil:
			var found bool
			if a, i, found = a.dict.value(a.int(i)); !found {
				r.err = errValues
				return nil, 0
			}
		case a.node.layout == runLayout:
			ends, values := a.children[0], a.children[1]
			run := sort.Search(int(ends.n), func(run int) bool { return ends.int(int64(run)) > i })
			if int64(run) == ends.n {
				r.err = errValues
				return nil, 0
			}
			a, i = values, int64(run)
		case a.node.layout == nullLayout:
			return nil, 0
		default:
			return a, i
		}
	}
}

// number returns the integer of a size at a place.
func number(buf []byte, i int64, size int, noSign bool) int64 {
	switch size {
	case 1:
		if noSign {
			return int64(buf[i])
		}
		return int64(int8(buf[i]))
	case 2:
		v := binary.LittleEndian.Uint16(buf[2*i:])
		if noSign {
			return int64(v)
		}
		return int64(int16(v))
	case 4:
		v := binary.LittleEndian.Uint32(buf[4*i:])
		if noSign {
			return int64(v)
		}
		return int64(int32(v))
	}
	return int64(binary.LittleEndian.Uint64(buf[8*i:]))
}

func (a *array) int(i int64) int64 { return number(a.data, i, a.node.size, a.node.noSign) }

// leaf appends the text of a value that has no others and is not NULL.
func (r *reader) leaf(dst []byte, a *array, i int64) []byte {
	n := a.node
	p := &n.printer
	var why untyped.Reason
	switch n.layout {
	case bitLayout:
		dst, why = p.AppendInt(dst, int64(a.data[i/8]>>(i%8)&1))
	case textLayout:
		begin, end := number(a.ends, i, n.size, false), number(a.ends, i+1, n.size, false)
		if begin < 0 || begin > end || end > int64(len(a.data)) {
			r.err = errValues
			return dst
		}
		dst, why = p.AppendBytes(dst, a.data[begin:end])
	case viewLayout:
		text, found := a.view(i)
		if !found {
			r.err = errValues
			return dst
		}
		dst, why = p.AppendBytes(dst, text)
	default:
		dst, why = a.fixed(dst, i)
	}
	if why != "" {
		r.why = why
	}
	return dst
}

// fixed appends the text of a value of a fixed size.
func (a *array) fixed(dst []byte, i int64) ([]byte, untyped.Reason) {
	p := &a.node.printer
	size := int64(a.node.size)
	if size <= 8 && p.Form <= untyped.Decimal {
		return p.AppendInt(dst, a.int(i))
	}
	v := a.data[i*size : (i+1)*size]
	if p.Form != untyped.Decimal {
		return p.AppendBytes(dst, v)
	}
	var big [32]byte // the highest byte first
	for j, b := range v {
		big[len(v)-1-j] = b
	}
	return p.AppendBytes(dst, big[:len(v)])
}

// view returns the text of a view.
func (a *array) view(i int64) ([]byte, bool) {
	v := a.data[viewSize*i : viewSize*(i+1)]
	size := int64(int32(binary.LittleEndian.Uint32(v)))
	if size >= 0 && size <= mostInView {
		return v[4 : 4+size], true
	}
	number, begin := binary.LittleEndian.Uint32(v[8:]), int64(binary.LittleEndian.Uint32(v[12:]))
	if size < 0 || uint64(number) >= uint64(len(a.texts)) || begin+size > int64(len(a.texts[number])) {
		return nil, false
	}
	return a.texts[number][begin : begin+size], true
}

// span returns where the elements of a list are in its child.
func (r *reader) span(a *array, i int64) (begin, end int64) {
	n := a.node
	switch n.layout {
	case fixedListLayout:
		begin, end = i*int64(n.count), (i+1)*int64(n.count)
	case listViewLayout:
		begin = number(a.ends, i, n.size, false)
		end = begin + number(a.data, i, n.size, false)
	default:
		begin, end = number(a.ends, i, n.size, false), number(a.ends, i+1, n.size, false)
	}
	if begin < 0 || begin > end || end > a.children[0].n {
		r.err = errValues
		return 0, 0
	}
	return begin, end
}

// value appends the text of a value in JSON.
func (r *reader) value(a *array, i int64) {
	if a, i = r.find(a, i); a == nil {
		r.Text = append(r.Text, "null"...)
		return
	}
	switch a.node.layout {
	case listLayout, listViewLayout, fixedListLayout:
		r.list(a, i, false)
	case mapLayout:
		r.object(a, i)
	case structLayout:
		r.Text = append(r.Text, '{')
		for j, child := range a.children {
			if j > 0 {
				r.Text = append(r.Text, ',')
			}
			begin := len(r.Text)
			r.Text = append(r.Text, child.node.name...)
			r.EndKey(begin, source.Text)
			r.value(child, i)
		}
		r.Text = append(r.Text, '}')
	default:
		begin := len(r.Text)
		r.Text = r.leaf(r.Text, a, i)
		if why := r.EndJSON(begin, a.node.printer.Kind()); why != "" {
			r.why = why
		}
	}
}

// ended reports whether nothing more is to be appended.
func (r *reader) ended() bool {
	if len(r.Text) > r.most {
		r.why = "it is too large"
	}
	return r.err != nil || r.why != ""
}

// list appends the elements of a list, as an array of PostgreSQL or of JSON.
func (r *reader) list(a *array, i int64, array bool) {
	brackets := "[]"
	if array {
		brackets = "{}"
	}
	r.Text = append(r.Text, brackets[0])
	first, end := r.span(a, i)
	for j := first; j < end && !r.ended(); j++ {
		if j > first {
			r.Text = append(r.Text, ',')
		}
		if !array {
			r.value(a.children[0], j)
			continue
		}
		item, at := r.find(a.children[0], j)
		if item == nil {
			r.Text = append(r.Text, "NULL"...)
			continue
		}
		begin := len(r.Text)
		r.Text = r.leaf(r.Text, item, at)
		r.EndItem(begin, item.node.printer.Kind())
	}
	r.Text = append(r.Text, brackets[1])
}

// object appends the entries of a map.
func (r *reader) object(a *array, i int64) {
	r.Text = append(r.Text, '{')
	first, end := r.span(a, i)
	keys, values := a.children[0].children[0], a.children[0].children[1]
	for j := first; j < end && !r.ended(); j++ {
		if j > first {
			r.Text = append(r.Text, ',')
		}
		begin := len(r.Text)
		key, at := r.find(keys, j)
		if key == nil {
			r.why = "a key of the map is NULL"
			return
		}
		r.Text = r.leaf(r.Text, key, at)
		r.EndKey(begin, key.node.printer.Kind())
		r.value(values, j)
	}
	r.Text = append(r.Text, '}')
}
