package sourcetest

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// Parting is what a [source.Parter] can do with a database.
type Parting struct {
	// Size cuts a table of a few megabytes into at least three parts.
	Size int64

	// Column is appended to the definition of the column id, such as " PRIMARY KEY" for a source that cuts by it.
	Column string

	// Keys are tables that the source cuts by their keys, each into several parts of OneRow bytes.
	Keys []Key

	// OneRow is a size that cuts a table of some rows into several parts.
	OneRow int64

	// Analyze is what to put before the name of a table so that the database knows its size, such as "ANALYZE TABLE ".
	Analyze string

	// Writers is set if others can write while the source reads.
	Writers bool

	// Shares is set if the source is a [source.Sharer].
	Shares bool
}

// Key is a table whose key is a trap.
type Key struct {
	Name    string
	Columns string   // the columns and the key, as SQL
	Rows    []string // the values of each row, as SQL
}

// cutInto cuts a table, sends the parts through JSON, and checks what is true of all parts.
func cutInto(t *testing.T, src source.Source, table string, s source.Selection, size int64) []source.Part {
	t.Helper()
	parts, err := src.(source.Parter).Parts(context.Background(), table, s, size)
	if err != nil {
		t.Fatalf("Parts(%q): %v", table, err)
	}
	if len(parts) == 0 {
		t.Fatalf("Parts(%q): there is none", table)
	}
	for i, part := range parts {
		if part.Table != table || !reflect.DeepEqual(part.Selection, s) || part.Snapshot.State == "" {
			t.Errorf("part %d: %+v", i, part)
		}
		if i > 0 && (part.Range.From == "" || part.Range.From != parts[i-1].Range.To) {
			t.Errorf("part %d begins at %q, and the one before it ends at %q", i, part.Range.From, parts[i-1].Range.To)
		}
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = source.Part{}
		if err := json.Unmarshal(text, &parts[i]); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(part, parts[i]) {
			t.Errorf("part %d is %+v, and %+v after JSON", i, part, parts[i])
		}
	}
	return parts
}

// readPart returns the rows of a part, and checks their columns and their number.
func readPart(t *testing.T, src source.Source, part source.Part) [][]value {
	t.Helper()
	rows, err := src.(source.Parter).Part(context.Background(), part)
	if err != nil {
		t.Fatalf("Part %+v: %v", part.Range, err)
	}
	defer closeRows(t, rows)
	if !slices.Equal(rows.Columns(), part.Columns) {
		t.Errorf("the rows have the columns %v, and the part %v", rows.Columns(), part.Columns)
	}
	all := readAll(t, rows)
	if part.Rows > 0 && part.Rows != int64(len(all)) {
		t.Errorf("a part of %d rows has %d", part.Rows, len(all))
	}
	return all
}

// readParts returns the rows of all parts, sorted by the first column. It reads the parts in an odd order, and the
// first one twice.
func readParts(t *testing.T, src source.Source, parts []source.Part) [][]value {
	t.Helper()
	var all [][]value
	first := readPart(t, src, parts[0])
	for i := range parts {
		all = append(all, readPart(t, src, parts[(i*7+len(parts)-1)%len(parts)])...)
	}
	if len(parts)%7 == 0 { // the odd order does not have all
		all = nil
		for _, part := range slices.Backward(parts) {
			all = append(all, readPart(t, src, part)...)
		}
	}
	if len(first) > 0 && !slices.ContainsFunc(all, func(row []value) bool { return slices.Equal(row, first[0]) }) {
		t.Fatalf("row %v of the first part, when it was first read, is in none", first[0])
	}
	return sorted(all)
}

// readTable returns the rows of a table, sorted like those of readParts.
func readTable(t *testing.T, src source.Source, table string) [][]value {
	t.Helper()
	rows, err := src.Table(context.Background(), table)
	if err != nil {
		t.Fatalf("Table(%q): %v", table, err)
	}
	defer closeRows(t, rows)
	return sorted(readAll(t, rows))
}

// sorted sorts rows by their values.
func sorted(rows [][]value) [][]value {
	slices.SortFunc(rows, func(a, b []value) int {
		return slices.CompareFunc(a, b, func(a, b value) int {
			if c := strings.Compare(a.text, b.text); c != 0 {
				return c
			}
			return int(a.kind) - int(b.kind)
		})
	})
	return rows
}

// createParted makes a table like that of createMany, but of partedRows rows, which the source can cut.
func (f *Fixture) createParted(t *testing.T, table string) {
	t.Helper()
	f.createRows(t, table, "bigint"+f.Parting.Column, partedRows)
	f.analyze(t, table)
}

func (f *Fixture) analyze(t *testing.T, table string) {
	t.Helper()
	if f.Parting.Analyze != "" {
		f.Exec(t, f.Parting.Analyze+f.Quote(table))
	}
}
