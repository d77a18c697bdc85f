package typed

import (
	"cmp"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/source"
)

// fitter is a [format.Fitter].
type fitter struct {
	columns []Column // with the types of the source
	asText  []bool   // of the columns that are written as text
	how     format.Lossy
	unfit   []atomic.Int64
	idle    sync.Pool // of *fitting
}

// fitting is the memory for one value.
type fitting struct {
	scratch  []byte
	values   canonical.Values
	elements Elements
}

// Fitter implements [format.Fitting].
func Fitter(
	of []source.Column, printed source.Dialect, how format.Lossy,
) (format.Fitter, []source.Column, error) {
	columns, err := Columns(of)
	if err != nil {
		return nil, nil, err
	}
	f := &fitter{columns: columns, asText: make([]bool, len(of)), how: how, unfit: make([]atomic.Int64, len(of))}
	f.idle.New = func() any { return new(fitting) }
	of = slices.Clone(of)
	for i := range columns {
		switch c := &columns[i]; {
		case how == format.LossyNull:
			of[i].NotNull = of[i].NotNull && c.Size > 0 && !c.hasUnfit(printed) // a text may not be UTF-8
		case c.hasUnfit(printed) && (c.Size > 0 || c.Element != nil || c.Logical.Class == source.JSONClass):
			f.asText[i] = true
			of[i].Logical = source.Type{Class: source.StringClass}
		}
	}
	return f, of, nil
}

// hasUnfit reports whether the column may have values that do not fit its type: infinity, NaN, years and times that are
// too large, and arrays of several dimensions. In SQLite, any value may be one, since cells have types of their own.
func (c *Column) hasUnfit(printed source.Dialect) bool {
	if c.Element != nil {
		return true
	}
	switch c.Logical.Class {
	case source.DecimalClass, source.DateClass, source.TimeClass, source.TimestampClass, source.InstantClass:
		return true
	}
	return printed == "" || printed.IsDynamic()
}

// Unfit implements [format.Fitter].
func (f *fitter) Unfit() []int64 {
	all := make([]int64, len(f.unfit))
	for i := range f.unfit {
		all[i] = f.unfit[i].Load()
	}
	return all
}

// fits reports whether a value fits the type of its column.
func (f *fitting) fits(c *Column, kind source.Kind, value []byte) bool {
	if kind == source.Null {
		return true
	}
	if c.Element != nil {
		return f.fitsList(c, kind, value)
	}
	if c.Size == 0 {
		return c.Check(kind, value) == ""
	}
	var why Reason
	f.scratch, why = c.Append(f.scratch[:0], kind, value, &f.values)
	return why == ""
}

// fitsList reports whether an array is a list all of whose elements fit.
func (f *fitting) fitsList(c *Column, kind source.Kind, value []byte) bool {
	why := f.elements.Begin(c, kind, value)
	for why == "" && f.elements.More() {
		var element []byte
		if kind, element, why = f.elements.Next(); why == "" && !f.fits(c.Element, kind, element) {
			return false
		}
	}
	return why == ""
}

// Fit implements [format.Fitter].
func (f *fitter) Fit(dst, b *source.Batch) *source.Batch {
	s := f.idle.Get().(*fitting)
	defer f.idle.Put(s)
	var changes []change
	for i := range f.columns {
		unfit := int64(0)
		for row := range b.Rows() {
			kind, value := b.AnyValue(row, i)
			if s.fits(&f.columns[i], kind, value) {
				continue
			}
			unfit++
			if f.how == format.LossyNull {
				changes = append(changes, change{row: row, column: i})
			} else if kind, value, changed := f.text(i, kind, value); changed {
				changes = append(changes, change{row, i, kind, value})
			}
		}
		if unfit > 0 {
			f.unfit[i].Add(unfit)
		}
	}
	if len(changes) == 0 {
		return b
	}
	copyBatch(dst, b, changes)
	return dst
}

// text returns how a value that does not fit is written in a column of text or of bytes, and reports whether that
// changes it. In a column of text, bytes and invalid UTF-8 become hexadecimal digits, as in CSV.
func (f *fitter) text(column int, kind source.Kind, value []byte) (_ source.Kind, _ []byte, changed bool) {
	class := f.columns[column].Logical.Class
	switch {
	case class == source.BytesClass && !f.asText[column]:
		return source.Bytes, value, kind != source.Bytes
	case !f.asText[column] && class != source.StringClass:
		return kind, value, false
	case kind == source.Bytes, !utf8.Valid(value):
		return source.Text, hex.AppendEncode([]byte(`\x`), value), true
	}
	return kind, value, false
}

// change is a value that takes the place of another one.
type change struct {
	row, column int
	kind        source.Kind
	value       []byte
}

// copyBatch fills dst with the rows of b, with the changes in place of the values that they replace.
func copyBatch(dst, b *source.Batch, changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.row, b.row) }) // they are by column
	dst.SetLending(b.HasLent())
	dst.Reset(b.Columns())
	for row := range b.Rows() {
		add := dst.Append
		if b.HasLent() && row == b.Rows()-1 {
			add = dst.Lend
		}
		for column := range b.Columns() {
			kind, value := b.AnyValue(row, column)
			if len(changes) > 0 && changes[0].row == row && changes[0].column == column {
				kind, value = changes[0].kind, changes[0].value
				changes = changes[1:]
			}
			add(kind, value)
		}
		dst.EndRow()
	}
}
