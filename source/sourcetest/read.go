package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"culvert/source"
)

// value is a copy of a value of a batch.
type value struct {
	kind source.Kind
	text string
}

func (v value) String() string {
	if len(v.text) > 100 {
		return fmt.Sprintf("%v of %d bytes", v.kind, len(v.text))
	}
	return fmt.Sprintf("%v %q", v.kind, v.text)
}

var null = value{kind: source.Null}

// readAll reads rows to their end and checks the behaviour of Next.
func readAll(t *testing.T, rows source.Rows) [][]value {
	t.Helper()
	var all [][]value
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("Next after %d rows: %v", len(all), err)
		}
		all = append(all, values(t, rows, &b)...)
	}
	for range 2 {
		if err := rows.Next(&b); err != io.EOF {
			t.Fatalf("Next after the end: %v, want io.EOF", err)
		}
	}
	return all
}

// readBatches reads the given number of batches, or all if there are fewer, and returns the number of rows.
func readBatches(t *testing.T, rows source.Rows, batches int) (count int) {
	t.Helper()
	var b source.Batch
	for range batches {
		if err := rows.Next(&b); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		count += b.Rows()
	}
	return count
}

// values copies the rows of a batch.
func values(t *testing.T, rows source.Rows, b *source.Batch) [][]value {
	t.Helper()
	columns := len(rows.Columns())
	if b.Rows() == 0 {
		t.Fatal("Next returned a batch without rows")
	}
	if b.Columns() != columns {
		t.Fatalf("batch has %d columns, the rows have %d", b.Columns(), columns)
	}
	all := make([][]value, b.Rows())
	for r := range all {
		all[r] = make([]value, columns)
		for c := range columns {
			kind, text := b.Value(r, c)
			if kind == source.Null && len(text) != 0 {
				t.Fatalf("row %d, column %d: NULL of %d bytes", r, c, len(text))
			}
			all[r][c] = value{kind, string(text)}
		}
	}
	return all
}

// expect compares rows in order.
func expect(t *testing.T, got, want [][]value) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	for r := range want {
		if !slices.Equal(got[r], want[r]) {
			t.Errorf("row %d: got %v, want %v", r, got[r], want[r])
		}
	}
}

func expectNames(t *testing.T, rows source.Rows, want ...string) {
	t.Helper()
	var got []string
	for _, c := range rows.Columns() {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("columns are %q, want %q", got, want)
	}
}

// expectSticky checks that rows repeat their error, which is not io.EOF.
func expectSticky(t *testing.T, rows source.Rows, want error) {
	t.Helper()
	if want == io.EOF {
		t.Fatal("Next returned io.EOF, want an error")
	}
	var b source.Batch
	if err := rows.Next(&b); err == nil || err.Error() != want.Error() {
		t.Errorf("Next after the error %q: %v", want, err)
	}
}

// expectUsable checks that the source still returns the rows of a table, or source.ErrUnavailable.
func expectUsable(t *testing.T, src source.Source, table string, count int) {
	t.Helper()
	rows, err := src.Table(context.Background(), table)
	if errors.Is(err, source.ErrUnavailable) {
		return
	}
	if err != nil {
		t.Fatalf("Table afterwards: %v, want rows, or source.ErrUnavailable", err)
	}
	defer closeRows(t, rows)
	if got := len(readAll(t, rows)); got != count {
		t.Fatalf("the table afterwards has %d rows, want %d", got, count)
	}
}

// expectUnknown checks that an error is a [*source.UnknownError], and returns the known names.
func expectUnknown(t *testing.T, err error, what, name string) (known []string) {
	t.Helper()
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if !ok || unknown.What != what || unknown.Name != name {
		t.Fatalf("%s %q: %v, want *source.UnknownError", what, name, err)
	}
	return unknown.Known
}

// drain reads until the first error and returns it.
func drain(rows source.Rows) error {
	var b source.Batch
	for {
		if err := rows.Next(&b); err != nil {
			return err
		}
	}
}
