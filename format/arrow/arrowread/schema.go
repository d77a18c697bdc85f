package arrowread

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"culvert/format/internal/untyped"
	"culvert/source"
)

// layout is how the values of a node are in memory.
type layout uint8

const (
	nullLayout      layout = iota // no buffers
	bitLayout                     // a bit each
	fixedLayout                   // size bytes each
	textLayout                    // offsets of size bytes, and the texts
	viewLayout                    // 16 bytes each, with the text or where it is
	listLayout                    // offsets of size bytes into the only child
	listViewLayout                // offsets and sizes
	fixedListLayout               // count elements each
	structLayout                  // a value of each child
	mapLayout                     // a list of entries, which have a key and a value
	runLayout                     // where runs end, and their values
)

// node is a part of the schema: a column, or what it consists of.
type node struct {
	name string
	// nullable is what the file says. Values are read in the same way if it is false.
	nullable bool
	layout   layout
	size     int
	count    int
	noSign   bool // of integers
	printer  untyped.Printer
	kind     string // what the file calls the type
	nodes    []*node
	dict     *encoding // if the values are indexes
}

// encoding says that the values of a node are in a dictionary.
type encoding struct {
	id    int64
	value *node
}

// column is a column of the table.
type column struct {
	*node
	path string // of the column in errors
	list bool   // it becomes an array
}

const (
	// deepestSchema bounds the levels of the schema, which are read by recursion.
	deepestSchema = 64

	// mostColumns bounds the columns, and what they consist of.
	mostColumns = 100_000
)

var errSchema = errors.New("its schema is damaged")

// value returns the node that has the values, which a dictionary or runs may stand for.
func (n *node) value() *node {
	for {
		switch {
		case n.dict != nil:
			n = n.dict.value
		case n.layout == runLayout:
			n = n.nodes[1]
		default:
			return n
		}
	}
}

// isLeaf reports whether the values have no others.
func (n *node) isLeaf() bool {
	v := n.value()
	return v.layout <= viewLayout
}

// buildSchema makes the columns of a Schema.
func (f *file) buildSchema(t table) error {
	const big = 1
	if t.enum(0) == big {
		return errors.New("its numbers are big-endian, which is not read; write it on another machine")
	}
	b := builder{}
	at, n := t.vector(1, refSize)
	for i := range n {
		field, err := b.field(t.f.table(at+refSize*i), nil)
		if err != nil {
			return err
		}
		if t.f.bad {
			return errSchema
		}
		c := column{node: field, path: quoted(field.name)}
		logical, kind := c.describe()
		f.columns = append(f.columns, c)
		f.described = append(f.described, source.Column{
			Name: c.name, Type: kind, Logical: logical, NotNull: !c.nullable,
		})
	}
	if t.f.bad {
		return errSchema
	}
	return nil
}

// describe returns the type of a column, and what the file calls it.
func (c *column) describe() (source.Type, string) {
	v := c.value()
	if v.layout <= viewLayout {
		return v.printer.Logical, c.kind
	}
	switch v.layout {
	case listLayout, listViewLayout, fixedListLayout:
		item := v.nodes[0]
		if logical := item.value().printer.Logical; item.isLeaf() && logical.Class != source.UnknownClass {
			c.list = true
			logical.List = true
			return logical, c.kind
		}
	default:
	}
	return source.Type{Class: source.JSONClass}, c.kind
}

func quoted(path ...string) string { return fmt.Sprintf("%q", strings.Join(path, ".")) }

// builder makes nodes of fields, by the numbers of Schema.fbs.
type builder struct{ nodes int }

// field makes the node of a Field, and those below.
func (b *builder) field(t table, path []string) (*node, error) {
	n := &node{name: t.text(0), nullable: t.u8(1) != 0}
	b.nodes++
	if b.nodes > mostColumns || len(path) >= deepestSchema || !utf8.ValidString(n.name) {
		return nil, errSchema
	}
	path = append(path[:len(path):len(path)], n.name)
	at, count := t.vector(5, refSize)
	for i := range count {
		child, err := b.field(t.f.table(at+refSize*i), path)
		if err != nil || t.f.bad {
			return nil, errors.Join(err)
		}
		n.nodes = append(n.nodes, child)
	}
	number := t.u8(2)
	of, _ := t.table(3)
	err := n.setType(number, of)
	if err == nil {
		err = n.setExtension(t)
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", quoted(path...), err)
	}
	if coded, is := t.table(4); is {
		return n.encoded(coded, path)
	}
	return n, nil
}

// encoded returns a node of indexes into a dictionary, which has the values of n.
func (n *node) encoded(t table, path []string) (*node, error) {
	index := &node{
		name: n.name, nullable: n.nullable, layout: fixedLayout, size: 4, dict: &encoding{t.i64(0), n},
		kind: "Dictionary of " + n.kind,
	}
	if of, is := t.table(1); is {
		index.size, index.noSign = of.i32(0, 0)/8, of.u8(1) == 0
	}
	switch index.size {
	case 1, 2, 4, 8:
		return index, nil
	default:
		return nil, fmt.Errorf("column %s: its indexes have %d bytes each", quoted(path...), index.size)
	}
}

// setExtension sets the type of the canonical extensions that have one here. Others are what they are stored as.
func (n *node) setExtension(t table) error {
	at, count := t.vector(6, refSize)
	for i := range count {
		pair := t.f.table(at + refSize*i)
		if pair.text(0) != "ARROW:extension:name" {
			continue
		}
		switch name := pair.text(1); {
		case name == "arrow.uuid" && n.layout == fixedLayout && n.size == uuidSize:
			n.printer.Form, n.printer.Logical = untyped.UUID, source.Type{Class: source.UUIDClass}
			n.kind = name
		case name == "arrow.json" && n.printer.Form == untyped.Text:
			n.printer.Form, n.printer.Logical = untyped.JSON, source.Type{Class: source.JSONClass}
			n.kind = name
		case !utf8.ValidString(name):
			return errSchema
		case name != "":
			n.kind += ", extension " + name[:min(len(name), longestName)]
		}
	}
	return nil
}

const (
	uuidSize    = 16
	longestName = 100 // bytes of the name of an extension
)
