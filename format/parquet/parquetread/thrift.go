package parquetread

import (
	"encoding/binary"
	"errors"
)

// The types of Thrift's compact protocol (apache/thrift, doc/specs/thrift-compact-protocol.md).
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// deepest is how far structs may be within others. Those of Parquet are at most 6 deep.
const deepest = 32

var (
	errThrift = errors.New("its metadata is damaged")
	errShort  = errors.New("its metadata ends early")
)

// compact reads structs in the compact protocol. It keeps the first error, after which everything is zero. It allocates
// nothing: what it returns is part of its bytes.
type compact struct {
	rest  []byte
	depth int
	err   error
}

func (c *compact) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = nil
}

func (c *compact) byte() byte {
	if len(c.rest) == 0 {
		c.fail(errShort)
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *compact) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail(errShort)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// integer reads an i16, i32 or i64.
func (c *compact) integer() int64 {
	v := c.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *compact) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.rest)) {
		c.fail(errShort)
		return nil
	}
	v := c.rest[:n]
	c.rest = c.rest[n:]
	return v
}

// structure reads the fields of a struct. Use must read the value of a field of a type that it knows, or return false.
func (c *compact) structure(use func(id int, kind byte) bool) {
	if c.depth++; c.depth > deepest {
		c.fail(errThrift)
	}
	defer func() { c.depth-- }()
	for id := 0; c.err == nil; {
		head := c.byte()
		if head == 0 {
			return
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int(int16(c.integer()))
		}
		if kind := head & 0x0f; !use(id, kind) {
			c.skip(kind)
		}
	}
}

// list reads the head of a list. Each element has a byte at least, which bounds n by the size of the metadata.
func (c *compact) list() (n int, kind byte) {
	head := c.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = c.uvarint()
	}
	if size > uint64(len(c.rest)) {
		c.fail(errShort)
		return 0, 0
	}
	return int(size), head & 0x0f
}

// structures reads a list of structs.
func (c *compact) structures(each func()) {
	n, kind := c.list()
	if n > 0 && kind != thriftStruct {
		c.fail(errThrift)
	}
	for i := 0; i < n && c.err == nil; i++ {
		each()
	}
}

// skip leaves out a value.
func (c *compact) skip(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse: // the value of a field is its type
	case thriftByte:
		c.byte()
	case thriftI16, thriftI32, thriftI64:
		c.uvarint()
	case thriftDouble:
		c.skipBytes(8)
	case thriftUUID:
		c.skipBytes(16)
	case thriftBinary:
		c.bytes()
	case thriftList, thriftSet:
		n, of := c.list()
		c.skipAll(n, of)
	case thriftMap:
		n := c.uvarint()
		if n == 0 {
			return
		}
		kinds := c.byte()
		if n > uint64(len(c.rest)) {
			c.fail(errShort)
			return
		}
		for i := 0; i < int(n) && c.err == nil; i++ {
			c.skipAll(1, kinds>>4)
			c.skipAll(1, kinds&0x0f)
		}
	case thriftStruct:
		c.structure(func(int, byte) bool { return false })
	default:
		c.fail(errThrift)
	}
}

// skipAll leaves out elements, of which a boolean has a byte.
func (c *compact) skipAll(n int, kind byte) {
	if c.depth++; c.depth > deepest {
		c.fail(errThrift)
	}
	defer func() { c.depth-- }()
	for i := 0; i < n && c.err == nil; i++ {
		if kind == thriftTrue || kind == thriftFalse {
			kind = thriftByte
		}
		c.skip(kind)
	}
}

func (c *compact) skipBytes(n int) {
	if n > len(c.rest) {
		c.fail(errShort)
		return
	}
	c.rest = c.rest[n:]
}
