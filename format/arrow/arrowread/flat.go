package arrowread

import "encoding/binary"

// flat is a flatbuffer that is read: the metadata of a message, or the footer of a file. Tables refer to each other by
// offsets, which are compared with what is there. What is damaged has default values, and sets bad.
//
// Several tables may refer to one: a few bytes could stand for any number of columns. So what is read is counted, and
// there is not more than the flatbuffer has bytes.
type flat struct {
	buf  []byte
	left int // bytes that may still be read
	bad  bool
}

func newFlat(buf []byte) *flat { return &flat{buf: buf, left: len(buf)} }

// spend counts n bytes, and reports whether there are as many.
func (f *flat) spend(n int) bool {
	if f.left -= n; f.left < 0 {
		f.bad = true
	}
	return !f.bad
}

// at returns the n bytes at a place.
func (f *flat) at(i, n int) []byte {
	if i < 0 || n < 0 || i > len(f.buf) || n > len(f.buf)-i {
		f.bad = true
		return nil
	}
	return f.buf[i : i+n]
}

// table is a table of a flatbuffer.
type table struct {
	f      *flat
	at     int
	fields []byte // where each field is, in 2 bytes
}

const refSize = 4

// follow returns where the reference at a place refers to.
func (f *flat) follow(i int) int {
	ref := f.at(i, refSize)
	if ref == nil {
		return -1
	}
	return i + int(binary.LittleEndian.Uint32(ref))
}

func (f *flat) root() table { return f.table(0) }

// table returns the table that the reference at a place refers to.
func (f *flat) table(ref int) (t table) {
	t.f = f
	at := f.follow(ref)
	back := f.at(at, refSize)
	if back == nil || !f.spend(refSize) {
		return t
	}
	vtable := at - int(int32(binary.LittleEndian.Uint32(back)))
	head := f.at(vtable, 4)
	if head == nil {
		return t
	}
	size := int(binary.LittleEndian.Uint16(head))
	fields := f.at(vtable+4, size-4)
	if fields == nil || size%2 != 0 {
		f.bad = true
		return t
	}
	return table{f: f, at: at, fields: fields}
}

// field returns where a field is, or 0 if it has its default value.
func (t table) field(id int) int {
	if len(t.fields) < 2*id+2 {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(t.fields[2*id:]))
	if offset == 0 {
		return 0
	}
	return t.at + offset
}

// bytes returns the bytes of a field, or nil if it has its default value.
func (t table) bytes(id, size int) []byte {
	at := t.field(id)
	if at == 0 {
		return nil
	}
	return t.f.at(at, size)
}

func (t table) u8(id int) int {
	if b := t.bytes(id, 1); b != nil {
		return int(b[0])
	}
	return 0
}

// enum returns the first field, which has a small number.
func (t table) enum(otherwise int) int {
	if b := t.bytes(0, 2); b != nil {
		return int(int16(binary.LittleEndian.Uint16(b)))
	}
	return otherwise
}

func (t table) i32(id, otherwise int) int {
	if b := t.bytes(id, 4); b != nil {
		return int(int32(binary.LittleEndian.Uint32(b)))
	}
	return otherwise
}

func (t table) i64(id int) int64 {
	if b := t.bytes(id, 8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// table returns the table of a field.
func (t table) table(id int) (_ table, found bool) {
	at := t.field(id)
	if at == 0 {
		return table{f: t.f}, false
	}
	return t.f.table(at), true
}

// vector returns where the elements of a field are, and how many.
func (t table) vector(id, size int) (at, n int) {
	ref := t.field(id)
	if ref == 0 {
		return 0, 0
	}
	at = t.f.follow(ref)
	count := t.f.at(at, refSize)
	if count == nil {
		return 0, 0
	}
	n = int(binary.LittleEndian.Uint32(count))
	if at += refSize; n > (len(t.f.buf)-at)/size || !t.f.spend(n*size) {
		t.f.bad = true
		return 0, 0
	}
	return at, n
}

// structs returns the elements of a field that are structs of a size.
func (t table) structs(id, size int) []byte {
	at, n := t.vector(id, size)
	return t.f.at(at, n*size)
}

func (t table) text(id int) string {
	at, n := t.vector(id, 1)
	return string(t.f.at(at, n))
}
