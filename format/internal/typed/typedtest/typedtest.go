// Package typedtest makes rows of all types for the tests of the formats that have typed columns, and has these tests
// do what is the same for each: write a file, refuse columns, meet a full disk, and have the programs of users read it.
package typedtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"culvert/format"
	"culvert/format/internal/typed"
	"culvert/format/internal/untyped"
	"culvert/internal/canonical"
	"culvert/source"
)

// Cell is a value. The zero value is NULL.
type Cell = struct {
	Kind source.Kind
	Text string
}

// Columns returns columns of types, by their texts.
func Columns(tb testing.TB, types ...string) []source.Column {
	tb.Helper()
	columns := make([]source.Column, len(types))
	for i, text := range types {
		columns[i].Name = fmt.Sprintf("%d %s", i, text)
		if err := columns[i].Logical.UnmarshalText([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	return columns
}

// Batch returns rows.
func Batch(rows ...[]Cell) *source.Batch {
	b := new(source.Batch)
	b.Reset(len(rows[0]))
	for _, row := range rows {
		for _, v := range row {
			if v.Kind == source.Null {
				b.AppendNull()
			} else {
				b.Append(v.Kind, []byte(v.Text))
			}
		}
		b.EndRow()
	}
	return b
}

// CellOf returns the value of a type that has a number.
func CellOf(t source.Type, n int) Cell {
	if t.List {
		return listOf(t, n)
	}
	switch t.Class {
	case source.BoolClass:
		return Cell{source.Bool, "tf"[n%2:][:1]}
	case source.IntClass:
		return Cell{source.Number, fmt.Sprint(n%30000 - 10000)}
	case source.FloatClass:
		return Cell{source.Number, fmt.Sprint(float32(n)/8 - 1000)}
	case source.DecimalClass:
		fraction := 0
		if t.Scale > 0 || t.Precision == 0 {
			fraction = 5
		}
		if t.Scale == t.Precision && t.Scale > 0 {
			return Cell{source.Number, fmt.Sprintf("-0.%d", n)}
		}
		return Cell{source.Number, fmt.Sprintf("%d.%d", n%100000-50000, fraction)}
	case source.BytesClass:
		return Cell{source.Bytes, strings.Repeat(string([]byte{byte(n), 0, 0xff}), n%50)}
	case source.DateClass:
		return Cell{source.Text, fmt.Sprintf("%04d-%02d-%02d", 1+n%9999, 1+n%12, 1+n%28)}
	case source.TimeClass:
		return Cell{source.Text, fmt.Sprintf("%02d:%02d:%02d.%03d", n%24, n%60, n%59, n%1000)}
	case source.TimestampClass:
		return Cell{source.Text, fmt.Sprintf("%04d-%02d-%02d 23:59:%02d", 1+n%9999, 1+n%12, 1+n%28, n%60)}
	case source.InstantClass:
		return Cell{source.Text, fmt.Sprintf("%04d-%02d-%02d 23:59:59.%06d+05:30", 2+n%9990, 1+n%12, 1+n%28, n%1000000)}
	case source.UUIDClass:
		return Cell{source.Text, fmt.Sprintf("0123abcd-00ff-4000-8000-%012x", n)}
	case source.JSONClass:
		return Cell{source.JSON, fmt.Sprintf(`{"n": %d}`, n)}
	default:
		return Cell{source.Text, strings.Repeat(fmt.Sprintf("é%d ", n), n%30)}
	}
}

// listOf returns an array of up to five elements, as PostgreSQL prints it.
func listOf(t source.Type, n int) Cell {
	t.List = false
	var list untyped.Nested
	list.Text = append(list.Text, '{')
	for i := range n % 6 {
		if i > 0 {
			list.Text = append(list.Text, ',')
		}
		one := CellOf(t, n/6+i)
		if t.Class != source.UnknownClass && (n+i)%7 == 0 {
			list.Text = append(list.Text, "NULL"...)
			continue
		}
		begin := len(list.Text)
		list.Text = append(list.Text, one.Text...)
		list.EndItem(begin, one.Kind)
	}
	return Cell{source.Text, string(append(list.Text, '}'))}
}

// Elements returns the elements of an array of a column, and the column that each of them would be.
func Elements(tb testing.TB, c source.Column, text []byte) (of source.Column, elements []Cell) {
	tb.Helper()
	columns, err := typed.Columns([]source.Column{c})
	if err != nil {
		tb.Fatal(err)
	}
	var reader typed.Elements
	why := reader.Begin(&columns[0], source.Text, text)
	for why == "" && reader.More() {
		var kind source.Kind
		var value []byte
		kind, value, why = reader.Next()
		elements = append(elements, Cell{kind, string(value)})
	}
	if why != "" {
		tb.Fatalf("%q: %s", text, why)
	}
	c.Logical.List, c.NotNull = false, false
	return c, elements
}

// IsList reports whether a file has a column as lists.
func IsList(c source.Column) bool { return c.Logical.List && c.Logical.Class != source.UnknownClass }

// Write writes batches to a file, in pieces of about size bytes if they are large.
func Write(tb testing.TB, f format.Format, columns []source.Column, size int, batches ...*source.Batch) []byte {
	tb.Helper()
	encoder := encoderOf(tb, f, columns)
	var file bytes.Buffer
	w := encoder.(format.Assembled).Assemble(&file)
	for _, b := range batches {
		last, err := encoder.AppendPieces(nil, b, size, func(piece []byte) ([]byte, error) {
			if len(piece) > size+400<<10 {
				tb.Errorf("a piece of %d bytes, of %d", len(piece), size)
			}
			_, err := w.Write(piece)
			return piece[:0], err
		})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write(last); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

func encoderOf(tb testing.TB, f format.Format, columns []source.Column) format.Encoder {
	tb.Helper()
	encoder, err := f.Encoder(columns)
	if err != nil {
		tb.Fatal(err)
	}
	return encoder
}

// Unfit returns the error of a batch that has a value which does not fit.
func Unfit(tb testing.TB, f format.Format, columns []source.Column, b *source.Batch) (*format.ValueError, error) {
	tb.Helper()
	next := func(piece []byte) ([]byte, error) { return piece[:0], nil }
	_, err := encoderOf(tb, f, columns).AppendPieces(nil, b, 1<<20, next)
	unfit, _ := errors.AsType[*format.ValueError](err)
	return unfit, err
}

// ExpectRefusedColumns expects that columns are refused which no file can have.
func ExpectRefusedColumns(tb testing.TB, f format.Format) {
	tb.Helper()
	for want, columns := range map[string][]source.Column{
		"have none":      nil,
		"have the name":  {{Name: "a"}, {Name: "a"}},
		"not valid UTF-": {{Name: "a\xff"}},
	} {
		if _, err := f.Encoder(columns); err == nil || !strings.Contains(err.Error(), want) {
			tb.Errorf("%v: error %v, want one of %q", columns, err, want)
		}
	}
}

// Require makes each nth column NOT NULL.
func Require(columns []source.Column, n int) []source.Column {
	for i := n - 1; i < len(columns); i += n {
		columns[i].NotNull = true
	}
	return columns
}

// ExpectRefusedNull expects that a NULL in a column that is NOT NULL is refused, with its row.
func ExpectRefusedNull(tb testing.TB, formats ...format.Format) {
	tb.Helper()
	for _, logical := range []string{"bool", "int32", "string", "decimal(20,2)"} {
		columns := Require(Columns(tb, "string", logical), 2)
		value := CellOf(columns[1].Logical, 1)
		b := Batch([]Cell{{}, value}, []Cell{{}, value}, []Cell{{}, {}})
		for _, f := range formats {
			unfit, err := Unfit(tb, f, columns, b)
			if unfit == nil || unfit.Row != 3 || unfit.Column != columns[1].Name {
				tb.Errorf("%s: error %v, want one about row 3", logical, err)
			}
		}
	}
}

// failing fails after n bytes.
type failing struct{ n int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// ExpectWriteErrors writes a batch to disks that are full after some bytes, and writes after Close.
func ExpectWriteErrors(tb testing.TB, f format.Format, columns []source.Column, b *source.Batch) {
	tb.Helper()
	whole := len(Write(tb, f, columns, 1<<20, b))
	encoder := encoderOf(tb, f, columns)
	block, err := encoder.AppendRows(nil, b)
	if err != nil {
		tb.Fatal(err)
	}
	for n := 0; n < whole; n += whole/7 + 1 {
		w := encoder.(format.Assembled).Assemble(&failing{n: n})
		_, writeErr := w.Write(block)
		if err := w.Close(); !errors.Is(err, errFull) || writeErr != nil && err != writeErr {
			tb.Errorf("after %d bytes: errors %v and %v", n, writeErr, err)
		}
	}
	w := encoder.(format.Assembled).Assemble(io.Discard)
	if err := w.Close(); err != nil {
		tb.Error(err)
	}
	if _, err := w.Write(block); err == nil {
		tb.Error("a write after Close does not fail")
	}
}

// canonicalOf returns the canonical text of a value, or of the elements of a list.
func canonicalOf(tb testing.TB, values *canonical.Values, c source.Column, kind source.Kind, text []byte) string {
	tb.Helper()
	if kind == source.Null || !IsList(c) {
		return string(values.Text(c.Logical, text))
	}
	var all strings.Builder
	c, elements := Elements(tb, c, text)
	for _, one := range elements {
		fmt.Fprintf(&all, "%v %q, ", one.Kind, values.Text(c.Logical, []byte(one.Text)))
	}
	return all.String()
}

// ExpectRead compares what a reader makes of a file with the rows that were written.
func ExpectRead(
	tb testing.TB, f format.Columnar, data []byte, columns []source.Column, batches []*source.Batch,
) {
	tb.Helper()
	file, err := f.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	for i, c := range file.Columns() {
		if c.NotNull != columns[i].NotNull {
			tb.Errorf("column %q is read as NOT NULL: %v, want %v", c.Name, c.NotNull, columns[i].NotNull)
		}
	}
	all := make([]format.Field, len(columns))
	var got source.Batch
	var values canonical.Values
	batch, row, number := 0, 0, 0
	for group := range file.Groups() {
		rows, err := file.Rows(group, all)
		if err != nil {
			tb.Fatal(err)
		}
		for {
			err := rows.Next(&got)
			if err == io.EOF {
				break
			} else if err != nil {
				tb.Fatal(err)
			}
			for r := range got.Rows() {
				for row == batches[batch].Rows() {
					batch, row = batch+1, 0
				}
				for i, c := range columns {
					kind, text := batches[batch].AnyValue(row, i)
					readKind, read := got.AnyValue(r, i)
					want := canonicalOf(tb, &values, c, kind, text)
					if found := canonicalOf(tb, &values, c, readKind, read); found != want ||
						(kind == source.Null) != (readKind == source.Null) {
						tb.Fatalf("column %q (%s), row %d: read %v %.300q, want %v %.300q", c.Name, c.Logical, number,
							readKind, found, kind, want)
					}
				}
				row, number = row+1, number+1
			}
		}
		if err := rows.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	want := 0
	for _, b := range batches {
		want += b.Rows()
	}
	if number != want {
		tb.Errorf("%d rows were read, want %d", number, want)
	}
}

// LargeLists returns rows whose lists have so many elements that they are passed on in pieces.
func LargeLists(tb testing.TB) (columns []source.Column, b *source.Batch) {
	tb.Helper()
	columns = Columns(tb, "list(int32)", "list(string)", "list(bool)", "list(decimal(38,2))")
	const n = 300_000
	rows := [][]Cell{make([]Cell, len(columns)), {}, make([]Cell, len(columns))}
	for _, element := range []string{"-7", `"a b"`, "t", "0.25"} {
		text := "{" + strings.Repeat(element+",", n) + "NULL}"
		rows[1] = append(rows[1], Cell{source.Text, text})
	}
	return columns, Batch(rows...)
}
