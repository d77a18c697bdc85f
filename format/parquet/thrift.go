package parquet

import "encoding/binary"

// The types of Thrift's compact protocol, in which the metadata of Parquet is written
// (apache/thrift, doc/specs/thrift-compact-protocol.md).
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// compact appends a struct in the compact protocol. Fields must be added in the order of their numbers.
type compact struct {
	buf   []byte
	last  int    // the number of the field before
	outer [8]int // the same of the structs around
	depth int
}

func (c *compact) reset() { *c = compact{buf: c.buf[:0]} }

func (c *compact) field(id int, kind byte) {
	if delta := id - c.last; delta < 16 {
		c.buf = append(c.buf, byte(delta)<<4|kind)
	} else {
		c.buf = binary.AppendVarint(append(c.buf, kind), int64(id))
	}
	c.last = id
}

func (c *compact) i32(id, v int) {
	c.field(id, thriftI32)
	c.element(v)
}

func (c *compact) i64(id int, v int64) {
	c.field(id, thriftI64)
	c.buf = binary.AppendVarint(c.buf, v)
}

func (c *compact) i8(id int, v byte) {
	c.field(id, thriftByte)
	c.buf = append(c.buf, v)
}

func (c *compact) bool(id int, v bool) {
	if v {
		c.field(id, thriftTrue)
	} else {
		c.field(id, thriftFalse)
	}
}

func (c *compact) binary(id int, v []byte) {
	c.field(id, thriftBinary)
	c.text(v)
}

func (c *compact) string(id int, v string) {
	c.field(id, thriftBinary)
	c.buf = append(binary.AppendUvarint(c.buf, uint64(len(v))), v...)
}

// begin begins a field that is a struct.
func (c *compact) begin(id int) {
	c.field(id, thriftStruct)
	c.beginElement()
}

// beginElement begins a struct that is an element of a list.
func (c *compact) beginElement() {
	c.outer[c.depth] = c.last
	c.depth++
	c.last = 0
}

// end ends a struct, also the outermost.
func (c *compact) end() {
	c.buf = append(c.buf, 0)
	if c.depth > 0 {
		c.depth--
		c.last = c.outer[c.depth]
	}
}

// empty adds a field that is a struct without fields.
func (c *compact) empty(id int) {
	c.begin(id)
	c.end()
}

// list begins a field that is a list of n elements.
func (c *compact) list(id int, kind byte, n int) {
	c.field(id, thriftList)
	if n < 15 {
		c.buf = append(c.buf, byte(n)<<4|kind)
		return
	}
	c.buf = binary.AppendUvarint(append(c.buf, 15<<4|kind), uint64(n))
}

// element adds an integer to a list.
func (c *compact) element(v int) { c.buf = binary.AppendVarint(c.buf, int64(v)) }

// text adds bytes to a list.
func (c *compact) text(v []byte) { c.buf = append(binary.AppendUvarint(c.buf, uint64(len(v))), v...) }
