package parquetread

import (
	"errors"
	"fmt"
	"io"

	"culvert/format"
	"culvert/format/internal/untyped"
	"culvert/source"
)

// rows are the rows of a row group. It is a [source.Rows].
type rows struct {
	f       *file
	group   *group
	columns []source.Column
	fields  []field
	mem     memory
	row     int64 // of the group
	err     error
}

// field is a column that is read.
type field struct {
	of      *column
	kind    source.Kind
	numbers bool     // texts may be numbers
	cursors []cursor // of its leaves
	text    []byte   // of a value that is nested
}

// Rows returns the rows of a row group: see [format.ColumnFile].
func (f *file) Rows(number int, fields []format.Field) (source.Rows, error) {
	g := &f.groups[number]
	r := &rows{f: f, group: g}
	leaves := 0
	for i := range f.columns {
		if fields[i].Skip {
			continue
		}
		of := &f.columns[i]
		r.columns = append(r.columns, f.described[i])
		one := field{of: of, kind: kindOf(of), cursors: make([]cursor, len(of.leaves))}
		one.numbers = one.kind == source.Text && fields[i].Kind == source.Number
		for j, l := range of.leaves {
			c := &one.cursors[j]
			c.leaf, c.values.leaf = l, l
			if err := c.pages.open(f, &r.mem, g.chunks[l.index]); err != nil {
				return nil, aboutLeaf(l, err)
			}
		}
		leaves += len(of.leaves)
		r.fields = append(r.fields, one)
	}
	r.mem.most = mostOpen + int64(leaves)*perLeaf
	return r, nil
}

func kindOf(c *column) source.Kind {
	switch {
	case c.list:
		return source.Text
	case c.nested:
		return source.JSON
	default:
		return c.leaves[0].printer.Kind()
	}
}

func aboutLeaf(l *leaf, err error) error {
	return fmt.Errorf("parquetread: column %s: %w", quoted(l.path), err)
}

func (r *rows) Columns() []source.Column { return r.columns }

// Close implements [source.Rows].
func (r *rows) Close() error {
	r.fields, r.err = nil, errClosed
	return nil
}

var errClosed = errors.New("parquetread: the rows are closed")

// Next implements [source.Rows].
func (r *rows) Next(b *source.Batch) error {
	b.Reset(len(r.columns))
	if r.err == nil {
		r.err = r.next(b)
	}
	if r.err != nil {
		b.Reset(len(r.columns))
	}
	return r.err
}

func (r *rows) next(b *source.Batch) error {
	if r.row == r.group.rows {
		return r.end()
	}
	for r.row < r.group.rows && !b.Full() {
		for i := range r.fields {
			if err := r.add(b, &r.fields[i]); err != nil {
				return err
			}
		}
		b.EndRow()
		r.row++
	}
	return nil
}

// end compares the number of values with that of rows.
func (r *rows) end() error {
	for i := range r.fields {
		for j := range r.fields[i].cursors {
			c := &r.fields[i].cursors[j]
			if err := c.end(); err != nil {
				return aboutLeaf(c.leaf, err)
			}
		}
	}
	return io.EOF
}

// add adds the next value of a column.
func (r *rows) add(b *source.Batch, f *field) error {
	if f.of.nested {
		return r.addNested(b, f)
	}
	c := &f.cursors[0]
	if c.at == c.n {
		more, err := c.more()
		if err == nil && !more {
			err = errFew
		}
		if err != nil {
			return aboutLeaf(c.leaf, err)
		}
	}
	const short = 64
	text, isNull, why := c.take(b.AvailableBuffer(short))
	switch {
	case why != "":
		return r.unfit(f, why)
	case isNull:
		b.AppendNull()
	case f.numbers && format.IsNumber(text):
		b.Append(source.Number, text)
	default:
		b.Append(f.kind, text)
	}
	return nil
}

// unfit is the error of a value that has no text.
func (r *rows) unfit(f *field, why untyped.Reason) error {
	return &format.RowError{Row: r.group.first + r.row + 1, Column: f.of.name, Reason: string(why)}
}
