package parquetread

import (
	"culvert/format/internal/untyped"
	"culvert/source"
)

// assembler makes the text of a value that is nested, by the levels of its leaves: JSON, or an array of PostgreSQL.
type assembler struct {
	cursors []cursor
	first   int // the number of the first leaf
	most    int // bytes of text
	untyped.Nested
	err error
	why untyped.Reason
}

// addNested adds the next value of a column that is nested.
func (r *rows) addNested(b *source.Batch, f *field) error {
	a := &assembler{cursors: f.cursors, first: f.of.leaves[0].index, most: r.f.largest}
	a.Text = f.text[:0]
	if !a.more(f.of.node) {
		a.fail(errFew)
	}
	isNull := a.value(f.of.node, f.of.list)
	for i := range a.cursors { // all must be at the next row
		c := &a.cursors[i]
		if more, err := c.more(); err != nil {
			a.fail(err)
		} else if more {
			if _, rep := c.levels(); rep != 0 {
				a.fail(errLevels)
			}
		}
	}
	switch {
	case a.why != "": // nothing is read after it
		return r.unfit(f, a.why)
	case a.err != nil:
		return aboutLeaf(f.of.leaves[0], a.err)
	case isNull:
		b.AppendNull()
	default:
		b.Append(f.kind, a.Text)
	}
	if f.text = a.Text; cap(f.text) > source.BatchSize {
		f.text = nil
	}
	return nil
}

func (a *assembler) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// cursor returns that of the first leaf below a node.
func (a *assembler) cursor(n *node) *cursor { return &a.cursors[n.first.index-a.first] }

// more reports whether there is an entry for a node.
func (a *assembler) more(n *node) bool {
	if a.err != nil || a.why != "" {
		return false
	}
	more, err := a.cursor(n).more()
	if err != nil {
		a.fail(err)
	}
	return more && err == nil
}

// value appends what is at the cursors for a node, which is an array of PostgreSQL if list is set. It reports whether
// it is NULL, and then appends nothing.
func (a *assembler) value(n *node, list bool) (isNull bool) {
	if n.repetition == repeated {
		a.array(n, n, list)
		return false
	}
	return a.single(n, list)
}

// single is value for a node, or for one element of it.
func (a *assembler) single(n *node, list bool) (isNull bool) {
	if !a.more(n) {
		a.fail(errFew)
		return true
	}
	if def, _ := a.cursor(n).levels(); def < n.most {
		a.pass(n)
		return true
	}
	switch n.shape {
	case leafShape:
		a.leaf(n)
	case listShape:
		a.array(n.nodes[0], n.nodes[0].item(), list)
	case mapShape:
		a.object(n.nodes[0])
	default:
		a.Text = append(a.Text, '{')
		for i, child := range n.nodes {
			if i > 0 {
				a.Text = append(a.Text, ',')
			}
			begin := len(a.Text)
			a.Text = append(a.Text, child.name...)
			a.EndKey(begin, source.Text)
			if a.value(child, false) {
				a.Text = append(a.Text, "null"...)
			}
		}
		a.Text = append(a.Text, '}')
	}
	return false
}

// pass leaves out the entries of a value that is not there.
func (a *assembler) pass(n *node) {
	if n.leaf != nil {
		if a.more(n) {
			if _, isNull, _ := a.cursor(n).take(nil); !isNull {
				a.fail(errLevels)
			}
		}
		return
	}
	for _, child := range n.nodes {
		a.pass(child)
	}
}

// each calls use for each element of a repeated node.
func (a *assembler) each(n *node, use func()) {
	if !a.more(n) {
		a.fail(errFew)
		return
	}
	if def, _ := a.cursor(n).levels(); def < n.most {
		a.pass(n)
		return
	}
	for {
		use()
		if len(a.Text) > a.most {
			a.why = "it is too large"
		}
		if !a.more(n) {
			return
		}
		if _, rep := a.cursor(n).levels(); rep != n.depth {
			return
		}
		a.Text = append(a.Text, ',')
	}
}

// array appends the elements of a repeated node.
func (a *assembler) array(n, item *node, list bool) {
	begin, end := byte('['), byte(']')
	if list {
		begin, end = '{', '}'
	}
	a.Text = append(a.Text, begin)
	a.each(n, func() {
		switch {
		case list:
			a.item(item)
		case a.single(item, false):
			a.Text = append(a.Text, "null"...)
		}
	})
	a.Text = append(a.Text, end)
}

// item appends an element of an array of PostgreSQL.
func (a *assembler) item(n *node) {
	begin := len(a.Text)
	if a.plain(n) {
		a.Text = append(a.Text, "NULL"...)
		return
	}
	a.EndItem(begin, n.leaf.printer.Kind())
}

// plain appends the text of a leaf as it is, and reports whether it is NULL.
func (a *assembler) plain(n *node) (isNull bool) {
	if !a.more(n) {
		a.fail(errFew)
		return true
	}
	var why untyped.Reason
	a.Text, isNull, why = a.cursor(n).take(a.Text)
	if why != "" {
		a.why = why
	}
	return isNull
}

// object appends the entries of a map.
func (a *assembler) object(n *node) {
	a.Text = append(a.Text, '{')
	a.each(n, func() {
		begin := len(a.Text)
		if a.plain(n.nodes[0]) {
			a.why = "a key of the map is NULL"
		}
		a.EndKey(begin, n.nodes[0].leaf.printer.Kind())
		if a.value(n.nodes[1], false) {
			a.Text = append(a.Text, "null"...)
		}
	})
	a.Text = append(a.Text, '}')
}

// leaf appends a value of JSON.
func (a *assembler) leaf(n *node) {
	begin := len(a.Text)
	if a.plain(n) {
		a.fail(errLevels)
		return
	}
	if why := a.EndJSON(begin, n.leaf.printer.Kind()); why != "" {
		a.why = why
	}
}
