package arrowread

import (
	"errors"
	"fmt"
	"io"

	"culvert/format"
	"culvert/source"
)

// rows are the rows of a record batch. It is a [source.Rows].
type rows struct {
	f       *file
	batch   *batch
	columns []source.Column
	fields  []field
	memory  [2][]byte // of the arrays
	reader  reader
	row     int64 // of the batch
	err     error
}

// field is a column that is read.
type field struct {
	of      *column
	array   *array
	kind    source.Kind
	isLeaf  bool
	numbers bool // texts may be numbers
}

// Rows returns the rows of a record batch: see [format.ColumnFile].
func (f *file) Rows(number int, fields []format.Field) (source.Rows, error) {
	r := &rows{f: f, batch: &f.batches[number], reader: reader{most: f.largest}}
	if err := r.open(fields); err != nil {
		return nil, fmt.Errorf("arrowread: record batch %d: %w", number+1, err)
	}
	return r, nil
}

// open reads the columns.
func (r *rows) open(fields []format.Field) error {
	in, err := r.prepare(fields)
	if err != nil {
		return err
	}
	return r.fill(in)
}

// prepare finds where the columns are.
func (r *rows) prepare(fields []format.Field) (*body, error) {
	m, _, err := r.f.message(&r.batch.block, nil)
	if err != nil {
		return nil, err
	}
	in, err := r.f.newBody(&r.batch.block, m.header)
	if err != nil {
		return nil, err
	}
	return in, r.takeArrays(in, fields)
}

// fill reads the columns.
func (r *rows) fill(in *body) (err error) {
	if r.memory, err = in.read(); err != nil {
		return err
	}
	for i := range r.fields {
		if a := r.fields[i].array; !a.check() || a.n != r.batch.rows {
			return fmt.Errorf("column %s: %w", r.fields[i].of.path, errBatch)
		}
	}
	return nil
}

// takeArrays finds the arrays of the columns, and reads their dictionaries.
func (r *rows) takeArrays(in *body, fields []format.Field) error {
	r.f.known.Lock()
	defer r.f.known.Unlock()
	for i := range r.f.columns {
		of, want := &r.f.columns[i], !fields[i].Skip
		a, err := in.array(of.node, want)
		if err != nil {
			return fmt.Errorf("column %s: %w", of.path, err)
		}
		if !want {
			continue
		}
		one := field{of: of, array: a, isLeaf: of.isLeaf(), kind: source.JSON}
		switch {
		case one.isLeaf:
			one.kind = of.value().printer.Kind()
		case of.list:
			one.kind = source.Text
		}
		one.numbers = one.kind == source.Text && fields[i].Kind == source.Number
		r.columns = append(r.columns, r.f.described[i])
		r.fields = append(r.fields, one)
	}
	return nil
}

func (r *rows) Columns() []source.Column { return r.columns }

// Close implements [source.Rows].
func (r *rows) Close() error {
	r.f.give(r.memory[0], r.memory[1])
	r.fields, r.memory, r.err = nil, [2][]byte{}, errClosed
	return nil
}

var errClosed = errors.New("arrowread: the rows are closed")

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
	if r.row == r.batch.rows {
		return io.EOF
	}
	for r.row < r.batch.rows && !b.Full() {
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

// add adds the next value of a column.
func (r *rows) add(b *source.Batch, f *field) error {
	in := &r.reader
	const short = 64
	var text []byte
	a, i := in.find(f.array, r.row)
	switch {
	case a == nil:
	case f.isLeaf:
		text = in.leaf(b.AvailableBuffer(short), a, i)
	default:
		if in.Text = in.Text[:0]; f.of.list {
			in.list(a, i, true)
		} else {
			in.value(a, i)
		}
		text = in.Text
	}
	switch {
	case in.err != nil:
		return fmt.Errorf("arrowread: column %s: %w", f.of.path, in.err)
	case in.why != "":
		return &format.RowError{Row: r.batch.first + r.row + 1, Column: f.of.name, Reason: string(in.why)}
	case a == nil:
		b.AppendNull()
	case f.numbers && format.IsNumber(text):
		b.Append(source.Number, text)
	default:
		b.Append(f.kind, text)
	}
	if cap(in.Text) > source.BatchSize {
		in.Text = nil
	}
	return nil
}
