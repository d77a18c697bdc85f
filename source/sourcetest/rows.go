package sourcetest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

func testColumns(t *testing.T, f *Fixture) {
	f.create(t, "columns_t", "id", "bigint", "title", f.Text, "note", f.Text)
	f.insert(t, "columns_t", "1, 'one', 'first'")
	rows := f.rows(t, f.open(t), "columns_t")
	expectNames(t, rows, "id", "title", "note")
	expect(t, readAll(t, rows), [][]value{{
		{source.Number, "1"}, {source.Text, "one"}, {source.Text, "first"},
	}})
	expectNames(t, rows, "id", "title", "note")
}

func testNullAndEmpty(t *testing.T, f *Fixture) {
	f.create(t, "null_t", "id", "bigint", "a", f.Text, "b", f.Text)
	f.insert(t, "null_t", "1, NULL, ''", "2, '', NULL", "NULL, 'NULL', ' '")
	got := readAll(t, f.rows(t, f.open(t), "null_t"))
	expect(t, got, [][]value{
		{{source.Number, "1"}, null, {source.Text, ""}},
		{{source.Number, "2"}, {source.Text, ""}, null},
		{null, {source.Text, "NULL"}, {source.Text, " "}},
	})
}

func testValues(t *testing.T, f *Fixture) {
	for i, v := range f.Values {
		t.Run(fmt.Sprintf("%s/%.40s", v.Type, v.SQL), func(t *testing.T) {
			table := fmt.Sprintf("values_t%d", i)
			f.create(t, table, "before", "bigint", "v", v.Type, "after", f.Text)
			f.insert(t, table, "7, "+v.SQL+", 'z'", "8, NULL, 'y'")
			src := f.open(t)
			rows := f.rows(t, src, table)
			if got := rows.Columns()[1].Type; v.Column != "" && got != v.Column {
				t.Errorf("column type is %q, want %q", got, v.Column)
			}
			expectLogical(t, rows.Columns()[1], v.Logical)
			want := [][]value{
				{{source.Number, "7"}, {v.Kind, v.Text}, {source.Text, "z"}},
				{{source.Number, "8"}, null, {source.Text, "y"}},
			}
			expect(t, readAll(t, rows), want)
			expectReadBack(t, rows.Columns(), []source.Kind{source.Number, v.Kind, source.Text}, want)
			closeRows(t, rows)
			queried := f.query(t, src, "SELECT v FROM "+f.Quote(table))
			expectLogical(t, queried.Columns()[0], cmp.Or(v.Queried, v.Logical))
		})
	}
}

// manyRows rows of manyFill bytes are several batches, and as much as several readers share. partedRows are several
// parts.
const (
	manyRows   = 30_000
	partedRows = 15_000
	manyFill   = 200
)

// createMany makes a table of manyRows rows with the columns id, from 0, and fill.
func (f *Fixture) createMany(t *testing.T, table string) {
	t.Helper()
	f.createRows(t, table, "bigint", manyRows)
}

// createRows is createMany with a type for the column id, and a number of rows, at most manyRows. It copies them: a
// statement of many values keeps a server busy for a hundred times as long.
func (f *Fixture) createRows(t *testing.T, table, id string, count int) {
	t.Helper()
	f.create(t, table, "id", id, "fill", f.Text)
	f.fillCopied(t)
	f.Exec(t, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s WHERE id < %d", f.Quote(table), f.Quote(copied), count))
}

// copied is the table of which tables of many rows are copies. The first of them makes it.
const copied = "copied_t"

func (f *Fixture) fillCopied(t *testing.T) {
	t.Helper()
	if f.filled {
		return
	}
	f.Exec(t, fmt.Sprintf("CREATE TABLE %s (id bigint, fill %s)", f.Quote(copied), f.Text))
	const step = 1000
	rows := make([]string, 0, step)
	for id := range manyRows {
		rows = append(rows, fmt.Sprintf("%d, '%s'", id, fill(id)))
		if len(rows) == step {
			f.insert(t, copied, rows...)
			rows = rows[:0]
		}
	}
	f.filled = true
}

// fill returns the text of a row, which shows values that belong to another row.
func fill(id int) string {
	s := fmt.Sprintf("%d ", id)
	return strings.Repeat(s, manyFill/len(s))
}

func testManyRows(t *testing.T, f *Fixture) {
	f.createMany(t, "many_t")
	rows := f.rows(t, f.open(t), "many_t")

	// Two batches in turn: the values of one must stay valid while the other is filled.
	var batches [2]source.Batch
	seen := make([]bool, manyRows)
	total, filled := 0, 0
	check := func(b *source.Batch) {
		for _, row := range values(t, rows, b) {
			var id int
			if _, err := fmt.Sscan(row[0].text, &id); err != nil || id < 0 || id >= manyRows || seen[id] {
				t.Fatalf("id %v is invalid or repeated", row[0])
			}
			if want := (value{source.Text, fill(id)}); row[1] != want {
				t.Fatalf("row %d has %v, want %v", id, row[1], want)
			}
			seen[id] = true
			total++
		}
	}
	for {
		b := &batches[filled%2]
		err := rows.Next(b)
		if filled > 0 {
			check(&batches[(filled-1)%2])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if filled > 0 && !batches[(filled-1)%2].Full() {
			t.Fatalf("batch %d is not the last, and not full", filled-1)
		}
		filled++
		if size := b.Size(); size > source.BatchSize+manyRows {
			t.Errorf("a batch has %d bytes, though it is full at %d", size, source.BatchSize)
		}
	}
	if total != manyRows {
		t.Errorf("got %d rows, want %d", total, manyRows)
	}
	if filled < 2 {
		t.Errorf("all rows came in %d batches", filled)
	}
}

func testEmptyTable(t *testing.T, f *Fixture) {
	f.create(t, "empty_t", "id", "bigint", "title", f.Text)
	rows := f.rows(t, f.open(t), "empty_t")
	expectNames(t, rows, "id", "title")
	var b source.Batch
	for range 3 {
		if err := rows.Next(&b); err != io.EOF {
			t.Fatalf("Next of an empty table: %v, want io.EOF", err)
		}
	}
	if b.Rows() != 0 {
		t.Errorf("batch of an empty table has %d rows", b.Rows())
	}
}

func testNoColumns(t *testing.T, f *Fixture) {
	f.create(t, "bare_t")
	for range 3 {
		f.Exec(t, "INSERT INTO "+f.Quote("bare_t")+" DEFAULT VALUES")
	}
	rows := f.rows(t, f.open(t), "bare_t")
	expectNames(t, rows)
	expect(t, readAll(t, rows), [][]value{{}, {}, {}})
}

// testHugeValue also reads the row after the value, and reads again with the same source.
func testHugeValue(t *testing.T, f *Fixture) {
	huge := strings.Repeat("0123456789abcde.", 8<<20/16)
	f.create(t, "huge_t", "id", "bigint", "v", f.Text)
	f.insert(t, "huge_t", "1, 'small'")
	f.insert(t, "huge_t", "2, '"+huge+"'")
	f.insert(t, "huge_t", "3, 'small'")
	src := f.open(t)
	for range 2 {
		rows, err := src.Table(context.Background(), "huge_t")
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, rows)
		closeRows(t, rows)
		expect(t, got, [][]value{
			{{source.Number, "1"}, {source.Text, "small"}},
			{{source.Number, "2"}, {source.Text, huge}},
			{{source.Number, "3"}, {source.Text, "small"}},
		})
	}
}

func testView(t *testing.T, f *Fixture) {
	f.create(t, "viewed_t", "id", "bigint", "title", f.Text)
	f.insert(t, "viewed_t", "1, 'one'", "2, 'two'")
	f.Exec(t, fmt.Sprintf("CREATE VIEW %s AS SELECT %s AS title_only FROM %s WHERE %s > 1",
		f.Quote("view_v"), f.Quote("title"), f.Quote("viewed_t"), f.Quote("id")))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW "+f.Quote("view_v")) })
	rows := f.rows(t, f.open(t), "view_v")
	expectNames(t, rows, "title_only")
	expect(t, readAll(t, rows), [][]value{{{source.Text, "two"}}})
}

var oddNames = []string{
	"Upper Case", `dou"ble`, "sin'gle", "grüße ✓ 表", "semi;colon -- comment", "select", "per%cent", "$1 ?",
	" edge ", "_", "x(y)",
}

func testNames(t *testing.T, f *Fixture) {
	for _, name := range oddNames {
		if slices.Contains(f.RefusedNames, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f.create(t, name, name, "bigint", "x"+name, f.Text)
			f.insert(t, name, "1, 'one'")
			rows := f.rows(t, f.open(t), name)
			expectNames(t, rows, name, "x"+name)
			expect(t, readAll(t, rows), [][]value{{{source.Number, "1"}, {source.Text, "one"}}})
		})
	}
}

func testUnknownTable(t *testing.T, f *Fixture) {
	f.create(t, "unknown_customers", "id", "bigint")
	f.insert(t, "unknown_customers", "1")
	src := f.open(t)
	for _, name := range []string{"unknown_custmers", `no "such" table`, "no.such.table", ""} {
		_, err := src.Table(context.Background(), name)
		known := expectUnknown(t, err, "table", name)
		if !strings.Contains(strings.Join(known, "\n"), "unknown_customers") {
			t.Errorf("Table(%q): known names are %q, without unknown_customers", name, known)
		}
	}
	expectUsable(t, src, "unknown_customers", 1)
}

func testQuery(t *testing.T, f *Fixture) {
	f.create(t, "query_t", "id", "bigint", "title", f.Text)
	f.insert(t, "query_t", "1, 'one'", "2, 'two'", "3, NULL")
	src := f.open(t)
	from := " FROM " + f.Quote("query_t")
	tests := []struct {
		sql   string
		names []string
		want  [][]value
	}{
		{
			"SELECT title, id" + from + " WHERE id > 1 ORDER BY id DESC",
			[]string{"title", "id"},
			[][]value{{null, {source.Number, "3"}}, {{source.Text, "two"}, {source.Number, "2"}}},
		},
		{
			"SELECT title AS a, title AS a" + from + " WHERE id = 1",
			[]string{"a", "a"},
			[][]value{{{source.Text, "one"}, {source.Text, "one"}}},
		},
		{"SELECT id" + from + " WHERE id > 9", []string{"id"}, nil},
		{"SELECT id" + from + " WHERE id = 1;", []string{"id"}, [][]value{{{source.Number, "1"}}}},
		{"SELECT id" + from + " WHERE id = 1 -- one", []string{"id"}, [][]value{{{source.Number, "1"}}}},
	}
	for _, test := range tests {
		rows, err := src.Query(context.Background(), test.sql)
		if err != nil {
			t.Errorf("Query(%q): %v", test.sql, err)
			continue
		}
		expectNames(t, rows, test.names...)
		expect(t, readAll(t, rows), test.want)
		closeRows(t, rows)
	}
}
