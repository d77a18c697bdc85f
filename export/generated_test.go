package export_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"culvert/source"
)

// generated is a source of made-up rows, and of faults that no real database makes on demand. The name of its table
// is ignored.
type generated struct {
	rows int

	// failAt is the row before which fail is returned, or, if it is nil, before which the rows wait for their context.
	failAt int
	fail   error

	step int // from row to row, if not 1

	text    []byte                            // of each row, or nil for some
	logical source.Type                       // of the text
	change  func(row int, text []byte) []byte // if not nil
}

// wide makes many rows large: only few have to be made until all buffers are full.
var wide = bytes.Repeat([]byte("the text of a wide row; "), 20)

func (g *generated) Table(ctx context.Context, _ string) (source.Rows, error) {
	return &generatedRows{generated: g, ctx: ctx}, nil
}

func (g *generated) Query(ctx context.Context, sql string) (source.Rows, error) {
	return g.Table(ctx, sql)
}
func (g *generated) Close() error { return nil }

type generatedRows struct {
	*generated
	ctx     context.Context
	row     int
	scratch []byte
}

func (r *generatedRows) Columns() []source.Column {
	columns := []source.Column{{Name: "id"}, {Name: "text"}}
	if r.generated != nil {
		columns[1].Logical = r.logical
	}
	return columns
}
func (r *generatedRows) Close() error { return nil }

func (r *generatedRows) Next(b *source.Batch) error {
	b.Reset(2)
	for !b.Full() && r.row < r.rows {
		if r.failAt > 0 && r.row >= r.failAt {
			if r.fail == nil {
				<-r.ctx.Done()
				return context.Cause(r.ctx)
			}
			return r.fail
		}
		b.AppendInt(int64(r.row))
		if r.text != nil {
			b.Append(source.Text, r.text)
		} else {
			r.scratch = fmt.Appendf(r.scratch[:0], "the text of row %d, which is not empty", r.row*7919)
			if r.change != nil {
				r.scratch = r.change(r.row, r.scratch)
			}
			b.Append(source.Text, r.scratch)
		}
		b.EndRow()
		r.row += max(1, r.step)
	}
	if b.Rows() == 0 {
		return io.EOF
	}
	return nil
}

// divided is a generated source whose rows several readers can share, each of which takes every n-th row. The reader
// of the number in failing has the failure; the others wait for their context before the same row.
type divided struct {
	generated
	failing     int
	wrap        func(source.Rows) source.Rows // of the failing reader, if not nil
	indivisible error
	most        int // readers that there are beside the error, if not 0
}

func (d *divided) Table(ctx context.Context, _ string) (source.Rows, error) {
	return &dividedRows{generatedRows{generated: &d.generated, ctx: ctx}, d}, nil
}

func (d *divided) Query(ctx context.Context, sql string) (source.Rows, error) {
	return d.Table(ctx, sql)
}

type dividedRows struct {
	generatedRows
	of *divided
}

func (r *dividedRows) Divide(n int) ([]source.Rows, error) {
	if r.of.indivisible != nil && r.of.most == 0 {
		return nil, r.of.indivisible
	}
	if r.of.most > 0 {
		n = min(n, r.of.most)
	}
	var all []source.Rows
	for i := range n {
		part := r.of.generated
		part.step = n
		if i != r.of.failing {
			part.fail = nil
		}
		rows := source.Rows(&generatedRows{generated: &part, ctx: r.ctx, row: i})
		if i == r.of.failing && r.of.wrap != nil {
			rows = r.of.wrap(rows)
		}
		all = append(all, rows)
	}
	return all, r.of.indivisible
}

func (r *dividedRows) Ranges(n int) (int, error) {
	if r.of.indivisible != nil {
		return 0, r.of.indivisible
	}
	return n, nil
}

// printing is a generated source that prints CSV itself.
type printing struct{ generated }

func (p *printing) Table(ctx context.Context, _ string) (source.Rows, error) {
	return &printingRows{generatedRows{generated: &p.generated, ctx: ctx}}, nil
}

type printingRows struct{ generatedRows }

func (r *printingRows) WriteCSV(w io.Writer) (int64, error) {
	for ; r.row < r.rows; r.row++ {
		if r.failAt > 0 && r.row == r.failAt {
			return int64(r.row), r.fail
		}
		line := append(strconv.AppendInt(nil, int64(r.row), 10), ',')
		line = append(append(line, r.text...), '\n')
		if _, err := w.Write(line); err != nil {
			return int64(r.row), err
		}
	}
	return int64(r.row), nil
}
