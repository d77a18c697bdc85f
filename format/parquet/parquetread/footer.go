package parquetread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"culvert/format"
	"culvert/format/internal/untyped"
)

const (
	magic          = "PAR1"
	encryptedMagic = "PARE"
	tailSize       = 8 // the size of the footer, and the magic

	// largestFooter bounds the footer, which is in memory as a whole while it is read.
	largestFooter = 256 << 20

	// mostColumns bounds the columns, and what they consist of.
	mostColumns = 100_000
)

var (
	errNotParquet = errors.New("it is not Parquet, or it is not whole")
	errEncrypted  = errors.New("it is encrypted by the means of Parquet, which is not read; culvert reads files of age")
	errElsewhere  = errors.New("columns of it are in other files")
)

// chunk is a column of a row group.
type chunk struct {
	begin, size int64 // of its pages in the file
	text        int64 // before they were compressed
	filtered    bool  // it has a bloom filter
	filter      int64 // its size, if the file says it
	codec       codec
	err         error // why it cannot be read
}

// group is a row group.
type group struct {
	rows   int64
	first  int64 // rows before it
	chunks []chunk
}

// element is an element of the schema.
type element struct {
	name       string
	physical   physical
	isGroup    bool
	size       int // of fixed values
	repetition int
	children   int
	converted  int // or -1
	logical    int // the number in the union, or 0
	scale      int
	precision  int
	unit       untyped.Unit // of times
	utc        bool
	bits       int
	signed     bool
}

// readFooter returns the bytes of the footer.
func readFooter(src io.ReaderAt, size int64) ([]byte, error) {
	if size < int64(len(magic)+tailSize) {
		return nil, errNotParquet
	}
	var tail [tailSize]byte
	if err := readAt(src, tail[:], size-tailSize); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case magic:
	case encryptedMagic:
		return nil, errEncrypted
	default:
		return nil, errNotParquet
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case n > size-int64(len(magic)+tailSize):
		return nil, errNotParquet
	case n > largestFooter:
		return nil, fmt.Errorf("its footer has %d bytes, and at most %d are read", n, int64(largestFooter))
	}
	footer := make([]byte, n)
	return footer, readAt(src, footer, size-tailSize-n)
}

// readAt reads all of p.
func readAt(src io.ReaderAt, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// parseFooter reads the metadata.
func (f *file) parseFooter(footer []byte) error {
	c := &compact{rest: footer}
	var elements []element
	rows := int64(-1)
	c.structure(func(id int, kind byte) bool {
		switch {
		case id == 2 && kind == thriftList:
			elements = c.schema()
		case id == 3 && kind == thriftI64:
			rows = c.integer()
		case id == 4 && kind == thriftList:
			c.structures(func() { f.groups = append(f.groups, c.rowGroup(len(elements))) })
		case id == 8 && kind == thriftStruct:
			c.fail(errEncrypted)
		default:
			return false
		}
		return true
	})
	if c.err != nil {
		return c.err
	}
	if err := f.buildSchema(elements); err != nil {
		return err
	}
	return f.checkGroups(rows)
}

// schema reads the elements of the schema.
func (c *compact) schema() (elements []element) {
	c.structures(func() {
		e := element{converted: -1, isGroup: true}
		c.structure(func(id int, kind byte) bool { return c.element(&e, id, kind) })
		if len(elements) == mostColumns {
			c.fail(fmt.Errorf("its schema has more than %d elements", mostColumns))
			return
		}
		elements = append(elements, e)
	})
	return elements
}

// element reads a field of a SchemaElement.
func (c *compact) element(e *element, id int, kind byte) bool {
	number := func(v *int) {
		n := c.integer()
		if *v = int(int32(n)); int64(*v) != n {
			c.fail(errThrift)
		}
	}
	switch {
	case id == 4 && kind == thriftBinary:
		e.name = string(c.bytes())
	case id == 10 && kind == thriftStruct:
		c.structure(func(id int, kind byte) bool { return c.logicalType(e, id, kind) })
	case kind != thriftI32:
		return false
	case id == 1:
		n := 0
		number(&n)
		e.physical, e.isGroup = physical(n), false
	case id == 2:
		number(&e.size)
	case id == 3:
		number(&e.repetition)
	case id == 5:
		number(&e.children)
	case id == 6:
		number(&e.converted)
	case id == 7:
		number(&e.scale)
	case id == 8:
		number(&e.precision)
	default:
		return false
	}
	return true
}

// logicalType reads the member of the union LogicalType.
func (c *compact) logicalType(e *element, id int, kind byte) bool {
	if kind != thriftStruct {
		return false
	}
	e.logical = id
	c.structure(func(field int, kind byte) bool {
		isMoment := id == logicalTime || id == logicalTimestamp
		switch {
		case id == logicalDecimal && field == 1 && kind == thriftI32:
			e.scale = int(int32(c.integer()))
		case id == logicalDecimal && field == 2 && kind == thriftI32:
			e.precision = int(int32(c.integer()))
		case isMoment && field == 1:
			e.utc = kind == thriftTrue
		case isMoment && field == 2 && kind == thriftStruct:
			c.structure(func(unit int, _ byte) bool {
				e.unit = untyped.Unit(min(max(unit, 0), math.MaxUint8)) // others are refused
				return false
			})
		case id == logicalInteger && field == 1 && kind == thriftByte:
			e.bits = int(c.byte())
		case id == logicalInteger && field == 2:
			e.signed = kind == thriftTrue
		default:
			return false
		}
		return true
	})
	return true
}

// rowGroup reads a RowGroup. It has no more columns than the schema has elements.
func (c *compact) rowGroup(most int) (g group) {
	c.structure(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == thriftList:
			c.structures(func() {
				if len(g.chunks) == most {
					c.fail(errThrift)
					return
				}
				g.chunks = append(g.chunks, c.columnChunk())
			})
		case id == 3 && kind == thriftI64:
			g.rows = c.integer()
		default:
			return false
		}
		return true
	})
	g.chunks = slices.Clip(g.chunks)
	return g
}

// columnChunk reads a ColumnChunk.
func (c *compact) columnChunk() (k chunk) {
	data, dictionary := int64(0), int64(0)
	k.err = errEncrypted // without metadata
	c.structure(func(id int, kind byte) bool {
		switch {
		case id == 1 && kind == thriftBinary:
			if len(c.bytes()) > 0 {
				k.err = errElsewhere
			}
		case id == 3 && kind == thriftStruct:
			if k.err == errEncrypted {
				k.err = nil
			}
			c.structure(func(id int, kind byte) bool {
				switch {
				case id == 4 && kind == thriftI32:
					k.codec = codec(c.integer())
				case id == 15 && kind == thriftI32:
					k.filter = max(0, c.integer())
				case kind != thriftI64:
					return false
				case id == 6:
					k.text = c.integer()
				case id == 7:
					k.size = c.integer()
				case id == 9:
					data = c.integer()
				case id == 11:
					dictionary = c.integer()
				case id == 14:
					k.filtered = c.integer() > 0
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	if k.begin = data; dictionary > 0 && (dictionary < data || data == 0) { // without values, it may have no other page
		k.begin = dictionary
	}
	return k
}

// checkGroups compares what the footer says of row groups with the file and the schema.
func (f *file) checkGroups(rows int64) error {
	sum := int64(0)
	for i := range f.groups {
		g := &f.groups[i]
		g.first = sum
		if len(g.chunks) != len(f.leaves) || g.rows < 0 || sum+g.rows < sum {
			return fmt.Errorf("row group %d does not have the columns of the schema", i+1)
		}
		sum += g.rows
		one := format.RowGroup{Rows: g.rows}
		for j := range g.chunks {
			k := &g.chunks[j]
			if k.text < 0 || k.size < 0 || k.begin < 0 || k.begin > f.size || k.size > f.size-k.begin {
				return fmt.Errorf("a column of row group %d is not in the file", i+1)
			}
			one.Bytes, one.Text = one.Bytes+k.size, one.Text+k.text
			if k.filtered {
				one.Filtered = append(one.Filtered, strings.Join(f.leaves[j].path, "."))
				one.FilterBytes += k.filter
			}
			if name := k.codec.String(); !slices.Contains(one.Codecs, name) {
				one.Codecs = append(one.Codecs, name)
			}
		}
		f.summaries = append(f.summaries, one)
	}
	if sum != rows && rows != 0 { // parquet-rs before 0.4 did not count them
		return fmt.Errorf("its row groups have %d rows, and the file says %d", sum, rows)
	}
	return nil
}

// quoted names a column in an error.
func quoted(path []string) string { return fmt.Sprintf("%q", strings.Join(path, ".")) }
