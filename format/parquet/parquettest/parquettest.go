// Package parquettest reads Parquet files by another implementation, and compares them with the rows that were written.
package parquettest

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
	pqformat "github.com/parquet-go/parquet-go/format"

	"culvert/format/internal/typed/typedtest"
	"culvert/format/parquet/parquetread"
	"culvert/internal/canonical"
	"culvert/internal/lazyregexp"
	"culvert/source"
)

// Open opens a file.
func Open(tb testing.TB, data []byte) *pq.File {
	tb.Helper()
	file, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		tb.Fatalf("the file cannot be opened: %v", err)
	}
	return file
}

// Expect compares a file with the rows that were written, cell by cell: the value that the file has, printed as
// PostgreSQL prints it, is the canonical text of what was written. It also compares the indexes of pages, and bloom
// filters, if there are any, with the pages.
func Expect(tb testing.TB, data []byte, columns []source.Column, batches ...*source.Batch) {
	tb.Helper()
	file := Open(tb, data)
	rows := int64(0)
	for _, b := range batches {
		rows += int64(b.Rows())
	}
	leaves := file.Schema().Columns()
	if file.NumRows() != rows || len(leaves) != len(columns) {
		tb.Fatalf("the file has %d rows of %d columns, want %d of %d", file.NumRows(), len(leaves), rows, len(columns))
	}
	for i, c := range columns {
		if leaves[i][0] != c.Name {
			tb.Errorf("column %d has the name %q, want %q", i, leaves[i][0], c.Name)
		}
		if required := file.Schema().Fields()[i].Required(); required != c.NotNull {
			tb.Errorf("column %q is required: %v, want %v", c.Name, required, c.NotNull)
		}
		expectColumn(tb, file, i, c, batches)
	}
	typedtest.ExpectRead(tb, parquetread.Format{}, data, columns, batches)
}

// expectColumn compares a column.
func expectColumn(tb testing.TB, file *pq.File, column int, c source.Column, batches []*source.Batch) {
	tb.Helper()
	batch, row, all := 0, 0, 0
	for _, group := range file.RowGroups() {
		chunk := group.ColumnChunks()[column]
		eachPage(tb, chunk, func(page []pq.Value) {
			expectFiltered(tb, chunk, page)
			for len(page) > 0 {
				entries := 1 // of the row
				for entries < len(page) && page[entries].RepetitionLevel() > 0 {
					entries++
				}
				for row == batches[batch].Rows() {
					batch, row = batch+1, 0
				}
				kind, text := batches[batch].AnyValue(row, column)
				row, all = row+1, all+1
				if typedtest.IsList(c) {
					expectList(tb, chunk.Type(), c, page[:entries], kind, text)
				} else {
					expectValue(tb, chunk.Type(), c, page[0], kind, text)
				}
				page = page[entries:]
			}
		})
	}
}

// expectFiltered expects that the bloom filter of a column, if there is one, has the values of a page.
func expectFiltered(tb testing.TB, chunk pq.ColumnChunk, page []pq.Value) {
	tb.Helper()
	filter := chunk.BloomFilter()
	if filter == nil {
		return
	}
	for _, v := range page {
		if v.IsNull() {
			continue
		}
		if has, err := filter.Check(v); err != nil || !has {
			tb.Fatalf("the bloom filter does not have %v: %v", v, err)
		}
	}
}

// expectList compares the entries of a list with an array.
func expectList(tb testing.TB, t pq.Type, c source.Column, entries []pq.Value, kind source.Kind, text []byte) {
	tb.Helper()
	most := 3
	if c.NotNull {
		most = 2
	}
	level := entries[0].DefinitionLevel()
	if level < most-1 {
		if level == most-2 != (string(text) == "{}") || level < most-2 != (kind == source.Null) {
			tb.Fatalf("column %q: the level %d, want %v %q", c.Name, level, kind, text)
		}
		return
	}
	element, want := typedtest.Elements(tb, c, text)
	if len(entries) != len(want) {
		tb.Fatalf("column %q: %d elements, want %q", c.Name, len(entries), text)
	}
	for i, got := range entries {
		expectValue(tb, t, element, got, want[i].Kind, []byte(want[i].Text))
	}
}

func expectValue(tb testing.TB, t pq.Type, c source.Column, got pq.Value, kind source.Kind, text []byte) {
	tb.Helper()
	if got.IsNull() || kind == source.Null {
		if got.IsNull() != (kind == source.Null) {
			tb.Fatalf("column %q: %v, want %v %q", c.Name, got, kind, text)
		}
		return
	}
	asText := false
	if said := t.LogicalType(); said != nil {
		_, asText = said.Value.(*pqformat.StringType)
	}
	var values canonical.Values
	want, printed := string(text), string(got.Bytes())
	if !asText && c.Logical.Class != source.BytesClass && c.Logical.Class != source.JSONClass {
		want = string(values.Text(c.Logical, text))
		printed = string(values.Text(c.Logical, []byte(Print(t, c.Logical, got))))
	}
	if printed != want {
		tb.Fatalf("column %q (%s): %.300q, want %.300q", c.Name, c.Logical, printed, want)
	}
}

// eachPage calls use with the values of each page, and compares their bounds with the index.
func eachPage(tb testing.TB, chunk pq.ColumnChunk, use func([]pq.Value)) {
	tb.Helper()
	index, err := chunk.ColumnIndex()
	if err != nil {
		index = nil // a column with NaN has none
	}
	offsets, err := chunk.OffsetIndex()
	if err != nil {
		offsets = nil // the indexes would be too large
	}
	pages := chunk.Pages()
	defer func() {
		if err := pages.Close(); err != nil {
			tb.Error(err)
		}
	}()
	rows := int64(0)
	for number := 0; ; number++ {
		page, err := pages.ReadPage()
		if err == io.EOF {
			if offsets != nil && offsets.NumPages() != number || index != nil && index.NumPages() != number {
				tb.Errorf("the indexes do not have %d pages", number)
			}
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		values := make([]pq.Value, page.NumValues())
		if n, err := page.Values().ReadValues(values); n != len(values) || err != nil && err != io.EOF {
			tb.Fatalf("%d of %d values: %v", n, len(values), err)
		}
		if offsets != nil && offsets.FirstRowIndex(number) != rows {
			tb.Errorf("page %d begins at row %d, want %d", number, offsets.FirstRowIndex(number), rows)
		}
		for _, v := range values {
			if v.RepetitionLevel() == 0 {
				rows++
			}
		}
		if index != nil {
			expectBounds(tb, chunk.Type(), index, number, values)
		}
		use(values)
		pq.Release(page)
	}
}

// expectBounds compares the index of a page with its values.
func expectBounds(tb testing.TB, t pq.Type, index pq.ColumnIndex, page int, values []pq.Value) {
	tb.Helper()
	values = slices.Clone(values)
	all := len(values)
	values = slices.DeleteFunc(values, pq.Value.IsNull)
	if nulls := index.NullCount(page); nulls != int64(all-len(values)) || index.NullPage(page) != (len(values) == 0) {
		tb.Errorf("page %d has %d NULLs by its index, want %d", page, nulls, all-len(values))
	}
	if len(values) == 0 {
		return
	}
	compare := t.Compare
	if said := t.LogicalType(); said != nil && values[0].Kind() == pq.FixedLenByteArray {
		if _, is := said.Value.(*pqformat.DecimalType); is {
			compare = compareDecimals // the implementation takes the sign for a digit
		}
	}
	least, most := index.MinValue(page), index.MaxValue(page)
	if low := slices.MinFunc(values, compare); compare(least, low) > 0 {
		tb.Errorf("page %d has %v, and its least is %v", page, low, least)
	}
	if high := slices.MaxFunc(values, compare); compare(most, high) < 0 {
		tb.Errorf("page %d has %v, and its greatest is %v", page, high, most)
	}
}

func compareDecimals(a, b pq.Value) int {
	return integer(a.Bytes()).Cmp(integer(b.Bytes()))
}

// integer returns the number whose bytes, the highest first, are a two's complement.
func integer(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// Print returns the text of a value by what the file says of its type.
func Print(t pq.Type, logical source.Type, v pq.Value) string {
	if said := t.LogicalType(); said != nil {
		switch said := said.Value.(type) {
		case *pqformat.DecimalType:
			return decimalText(v, int(said.Scale))
		case *pqformat.DateType:
			return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().Format(time.DateOnly)
		case *pqformat.TimeType:
			return time.UnixMicro(v.Int64()).UTC().Format("15:04:05.000000")
		case *pqformat.TimestampType:
			text := time.UnixMicro(v.Int64()).UTC().Format("2006-01-02 15:04:05.000000")
			if said.IsAdjustedToUTC {
				text += "+00"
			}
			return text
		case *pqformat.UUIDType:
			return hex.EncodeToString(v.Bytes())
		}
	}
	switch v.Kind() {
	case pq.Boolean:
		return strconv.FormatBool(v.Boolean())
	case pq.Int32:
		return strconv.Itoa(int(v.Int32()))
	case pq.Int64:
		return strconv.FormatInt(v.Int64(), 10)
	case pq.Float:
		return floatText(float64(v.Float()), 32)
	case pq.Double:
		return floatText(v.Double(), 64)
	}
	panic(fmt.Sprintf("parquettest: %v of the type %v, for %v", v.Kind(), t, logical))
}

func floatText(v float64, bits int) string {
	text := strconv.FormatFloat(v, 'g', -1, bits)
	text = strings.TrimPrefix(text, "+")
	return strings.Replace(text, "Inf", "Infinity", 1)
}

func decimalText(v pq.Value, scale int) string {
	n := new(big.Int)
	switch v.Kind() {
	case pq.Int32:
		n.SetInt64(int64(v.Int32()))
	case pq.Int64:
		n.SetInt64(v.Int64())
	default:
		n = integer(v.Bytes())
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	digits := n.Abs(n).String()
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, fraction := digits[:len(digits)-scale], digits[len(digits)-scale:]
	if scale == 0 {
		return sign + whole
	}
	return sign + whole + "." + fraction
}

var (
	number = lazyregexp.New(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
	moment = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(\+00)?$`)
)

// Fits reports whether Parquet has a value, so that a file must keep it; otherwise it must be refused.
func Fits(logical source.Type, kind source.Kind, text []byte) bool {
	var values canonical.Values
	canonicalText := string(values.Text(logical, text))
	class := logical.Class
	if logical.List {
		return fitsList(logical, kind, text)
	}
	switch class {
	case source.BytesClass:
		return kind == source.Bytes
	case source.BoolClass:
		return canonicalText == "t" || canonicalText == "f"
	case source.IntClass:
		_, err := strconv.ParseInt(canonicalText, 10, logical.Bits)
		return kind != source.Bytes && err == nil
	case source.FloatClass:
		return kind != source.Bytes && (number.MatchString(canonicalText) ||
			slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, canonicalText))
	case source.DecimalClass:
		digits := max(logical.Precision, logical.Scale, logical.Precision-logical.Scale)
		if digits == 0 || digits > 38 {
			return kind != source.Bytes && utf8.Valid(text)
		}
		return kind != source.Bytes && fitsDecimal(logical, canonicalText)
	case source.DateClass:
		return fitsTime(time.DateOnly, canonicalText)
	case source.TimeClass:
		return fitsTime("15:04:05", canonicalText)
	case source.TimestampClass:
		return moment.MatchString(canonicalText) && fitsTime(time.DateTime, canonicalText)
	case source.InstantClass:
		return moment.MatchString(canonicalText) && fitsTime(time.DateTime+"Z07", canonicalText)
	case source.JSONClass:
		return kind == source.JSON || kind != source.Bytes && json.Valid(text)
	case source.UUIDClass:
		return kind != source.Bytes && len(canonicalText) == len("00000000-0000-0000-0000-000000000000")
	}
	return kind != source.Bytes && utf8.Valid(text)
}

// fitsList reports whether an array is a list. The test knows no other one of several dimensions than those that begin
// so.
func fitsList(logical source.Type, kind source.Kind, text []byte) bool {
	if logical.Class == source.UnknownClass {
		return kind != source.Bytes && utf8.Valid(text)
	}
	return kind != source.Bytes && utf8.Valid(text) && strings.HasPrefix(string(text), "{") &&
		!strings.HasPrefix(string(text), "{{") && !strings.Contains(string(text), "infinity")
}

func fitsDecimal(logical source.Type, text string) bool {
	v, is := new(big.Rat).SetString(text)
	if !is || !number.MatchString(text) {
		return false
	}
	scale := max(logical.Scale, 0)
	v.Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	digits := max(logical.Precision, logical.Scale)
	if logical.Scale < 0 {
		digits = logical.Precision - logical.Scale
	}
	return v.IsInt() && len(strings.TrimLeft(v.Num().String(), "-")) <= cmp.Or(digits, 1)
}

func fitsTime(layout, text string) bool {
	at, err := time.Parse(layout, text)
	return err == nil && at.Year() <= 9999 && (at.Year() > 0 || layout == "15:04:05")
}
