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

// value is a value that has been read, copied out of its batch.
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

// readAll reads rows to their end and checks the manner of each Next.
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

// values copies the rows of a batch.
func values(t *testing.T, rows source.Rows, b *source.Batch) [][]value {
	t.Helper()
	columns := len(rows.Columns())
	if b.Rows() == 0 {
		t.Fatal("Next gave a batch without rows")
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

// expect compares rows in their order.
func expect(t *testing.T, got, want [][]value) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d rows, want %d", len(got), len(want))
	}
	for r := range want {
		if len(got[r]) != len(want[r]) {
			t.Fatalf("row %d has %d values, want %d", r, len(got[r]), len(want[r]))
		}
		for c := range want[r] {
			if got[r][c] != want[r][c] {
				t.Errorf("row %d, column %d: got %v, want %v", r, c, got[r][c], want[r][c])
			}
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

// expectSticky checks that spent rows repeat their error, which is not the end of the rows.
func expectSticky(t *testing.T, rows source.Rows, want error) {
	t.Helper()
	if want == io.EOF {
		t.Fatal("Next gave io.EOF where it must fail")
	}
	var b source.Batch
	if err := rows.Next(&b); err == nil || err.Error() != want.Error() {
		t.Errorf("Next after the error %q: %v", want, err)
	}
}

// expectUsable checks that the source still gives the rows of a table, or says that the database is unavailable.
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

// drain reads until the first error and returns it.
func drain(rows source.Rows) error {
	var b source.Batch
	for {
		if err := rows.Next(&b); err != nil {
			return err
		}
	}
}
