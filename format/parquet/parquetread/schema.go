package parquetread

import (
	"errors"
	"fmt"

	"culvert/source"
)

// repetition says how often a part of the schema occurs.
const (
	required = 0
	optional = 1
	repeated = 2
)

// shape is what a node becomes.
type shape uint8

const (
	leafShape   shape = iota
	structShape       // an object of JSON
	listShape         // an array; its only child is repeated
	mapShape          // an object of JSON; its only child is repeated, and has a key and a value
)

// node is a part of the schema. The levels are those of Dremel: how many optional and repeated parts around a value are
// there, and at which of them the value before was repeated.
type node struct {
	element
	shape shape
	nodes []*node // below
	wraps bool    // it only wraps an element of a list
	leaf  *leaf   // of a leaf
	first *leaf   // the first below
	most  int     // the definition level from which on it is there
	depth int     // the repetition level of its values
}

// leaf is a column as the file stores it.
type leaf struct {
	index    int // in row groups
	path     []string
	physical physical
	size     int // of fixed values
	printer  printer
	maxDef   int
	maxRep   int
}

// column is a column of the table: one leaf, or several that are nested.
type column struct {
	name   string
	node   *node
	leaves []*leaf
	nested bool
	list   bool // of values, which becomes an array
}

// deepestSchema bounds the levels of the schema, which are read by recursion.
const deepestSchema = 64

var errSchema = errors.New("its schema is damaged")

// builder makes nodes of the elements, which are in depth-first order.
type builder struct {
	rest   []element
	leaves []*leaf
}

// buildSchema makes the columns.
func (f *file) buildSchema(elements []element) error {
	if len(elements) == 0 || !elements[0].isGroup {
		return errSchema
	}
	b := &builder{rest: elements[1:]}
	for range elements[0].children {
		n, err := b.node(nil, 0, 0)
		if err != nil {
			return err
		}
		before := 0
		for i := range f.columns {
			before += len(f.columns[i].leaves)
		}
		c := column{name: n.name, node: n, leaves: b.leaves[before:], nested: n.shape != leafShape}
		if n.repetition == repeated {
			c.nested = true
		}
		logical, kind := c.describe()
		f.columns = append(f.columns, c)
		f.described = append(f.described, source.Column{
			Name: c.name, Type: kind, Logical: logical, NotNull: n.repetition == required,
		})
	}
	if len(b.rest) > 0 {
		return errSchema
	}
	f.leaves = b.leaves
	return nil
}

// node makes the next node and those below. The levels are those of its parent.
func (b *builder) node(path []string, def, rep int) (*node, error) {
	if len(b.rest) == 0 || len(path) >= deepestSchema {
		return nil, errSchema
	}
	n := &node{element: b.rest[0]}
	b.rest = b.rest[1:]
	path = append(path[:len(path):len(path)], n.name)
	switch n.repetition {
	case required:
	case optional:
		def++
	case repeated:
		def, rep = def+1, rep+1
	default:
		return nil, errSchema
	}
	n.most, n.depth = def, rep
	if !n.isGroup {
		p, err := printerOf(&n.element)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", quoted(path), err)
		}
		n.leaf = &leaf{
			index: len(b.leaves), path: path, physical: n.physical, size: sizeOf(&n.element), printer: p,
			maxDef: def, maxRep: rep,
		}
		n.first = n.leaf
		b.leaves = append(b.leaves, n.leaf)
		return n, nil
	}
	if n.element.children < 1 || n.logical == logicalVariant {
		return nil, fmt.Errorf("column %s has a type that is not read", quoted(path))
	}
	for range n.element.children {
		child, err := b.node(path, def, rep)
		if err != nil {
			return nil, err
		}
		n.nodes = append(n.nodes, child)
	}
	n.first = n.nodes[0].first
	n.setShape()
	return n, nil
}

// setShape finds what a group is, by its annotation (apache/parquet-format, LogicalTypes.md, with the rules for files
// of older writers).
func (n *node) setShape() {
	n.shape = structShape
	only := n.nodes[0]
	if len(n.nodes) != 1 || only.repetition != repeated {
		return
	}
	switch {
	case n.logical == logicalList || n.converted == convertedList:
		n.shape = listShape
		isPlain := only.shape == structShape && len(only.nodes) == 1 && only.name != "array" &&
			only.name != n.name+"_tuple" && only.nodes[0].repetition != repeated
		if isPlain {
			only.wraps = true
		}
	case n.logical == logicalMap || n.converted == convertedMap || n.converted == convertedMapKeyValue:
		if only.shape == structShape && len(only.nodes) == 2 && only.nodes[0].leaf != nil {
			n.shape = mapShape
		}
	}
}

// element returns what each element of a list is, in the repeated part of it.
func (n *node) item() *node {
	if n.wraps {
		return n.nodes[0]
	}
	return n
}

// describe returns the type of a column, and what the file calls it.
func (c *column) describe() (source.Type, string) {
	n := c.node
	if !c.nested {
		return n.leaf.printer.Logical, n.leaf.printer.name
	}
	var item *node
	switch {
	case n.repetition == repeated && n.leaf != nil:
		item = n
	case n.shape == listShape && n.repetition != repeated:
		item = n.nodes[0].item()
	}
	if item != nil && item.leaf != nil && item.leaf.printer.Logical.Class != source.UnknownClass {
		c.list = true
		logical := item.leaf.printer.Logical
		logical.List = true
		return logical, "LIST of " + item.leaf.printer.name
	}
	names := [...]string{structShape: "STRUCT", listShape: "LIST", mapShape: "MAP"}
	return source.Type{Class: source.JSONClass}, names[n.shape]
}
