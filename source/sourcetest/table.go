package sourcetest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"culvert/source"
)

// as returns a source or rows as an optional interface. It skips the test if v does not implement it.
func as[T any](t *testing.T, v any) T {
	t.Helper()
	implemented, ok := v.(T)
	if !ok {
		t.Skipf("%T does not implement it", v)
	}
	return implemented
}

// createSelected makes a table of three rows, with the columns id, title and Odd "column".
func (f *Fixture) createSelected(t *testing.T, table string) {
	t.Helper()
	f.create(t, table, "id", "bigint", "title", f.Text, oddColumn, f.Text)
	f.insert(t, table, "1, 'one', 'a'", "2, ')', NULL", "3, NULL, 'c'")
}

const oddColumn = `Odd "column"`

func testSelect(t *testing.T, f *Fixture) {
	f.createSelected(t, "select_t")
	f.create(t, "select_other", "id", "bigint")
	f.insert(t, "select_other", "2", "9")
	f.Exec(t, "CREATE VIEW "+f.Quote("select_v")+" AS SELECT id, title FROM "+f.Quote("select_t"))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW "+f.Quote("select_v")) })
	src := f.open(t)
	selector := as[source.Selector](t, src)
	odd := f.Quote(oddColumn)
	one, two, three := []string{"1", "one", "a"}, []string{"2", ")", "NULL"}, []string{"3", "NULL", "c"}
	type list = [][]string
	for _, test := range []struct {
		table string
		s     source.Selection
		want  list
	}{
		{"select_t", source.Selection{}, list{one, two, three}},
		{"select_t", source.Selection{Columns: []string{}}, list{one, two, three}},
		{"select_t", source.Selection{Columns: []string{oddColumn, "id"}}, list{{"a", "1"}, {"NULL", "2"}, {"c", "3"}}},
		{"select_t", source.Selection{Where: "id <> 2"}, list{one, three}},
		{"select_t", source.Selection{Where: "id = 1 OR id = 3"}, list{one, three}},
		{"select_t", source.Selection{Where: "id > 9"}, nil},
		{"select_t", source.Selection{Where: "title = ')' -- (one"}, list{two}},
		{"select_t", source.Selection{Where: "id = 1 /* ) */"}, list{one}},
		{"select_t", source.Selection{Where: "\n id = 1 \n"}, list{one}},
		{"select_t", source.Selection{Where: odd + " IS NULL", Columns: []string{"id"}}, list{{"2"}}},
		{"select_t", source.Selection{Where: odd + " = 'c'", Columns: []string{"title"}}, list{{"NULL"}}},
		{"select_t", source.Selection{Where: "id IN (SELECT id FROM " + f.Quote("select_other") + ")"}, list{two}},
		{"select_t", source.Selection{Limit: 9}, list{one, two, three}},
		{"select_t", source.Selection{Where: "id = 1 OR id = 2 -- two", Limit: 3}, list{one, two}},
		{"select_v", source.Selection{Where: "id = 2", Columns: []string{"title"}}, list{{")"}}},
	} {
		rows, err := selector.Select(context.Background(), test.table, test.s)
		if err != nil {
			t.Errorf("%s %+v: %v", test.table, test.s, err)
			continue
		}
		if len(test.s.Columns) > 0 {
			expectNames(t, rows, test.s.Columns...)
		}
		var got list
		for _, row := range readAll(t, rows) {
			var texts []string
			for _, v := range row {
				if v == null {
					v.text = "NULL"
				}
				texts = append(texts, v.text)
			}
			got = append(got, texts)
		}
		if !slices.EqualFunc(got, test.want, slices.Equal) {
			t.Errorf("%s %+v: got %q, want %q", test.table, test.s, got, test.want)
		}
		closeRows(t, rows)
	}
}

// testSelectLimit counts the rows of a table that is much larger than the limit.
func testSelectLimit(t *testing.T, f *Fixture) {
	f.createMany(t, "limit_t")
	src := f.open(t)
	selector := as[source.Selector](t, src)
	for _, limit := range []int64{1, 20_001} {
		rows, err := selector.Select(context.Background(), "limit_t", source.Selection{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(readAll(t, rows)); int64(got) != limit {
			t.Errorf("with the limit %d there are %d rows", limit, got)
		}
		closeRows(t, rows)
	}
	if _, err := selector.Select(context.Background(), "limit_t", source.Selection{Limit: -1}); err == nil {
		t.Error("a limit of -1 is accepted")
	}
}

// testBadSelect makes invalid selections. No part of a condition may become part of the statement around it.
func testBadSelect(t *testing.T, f *Fixture) {
	f.createSelected(t, "select_t")
	src := f.open(t)
	selector := as[source.Selector](t, src)
	for _, where := range []string{
		"1 = 1) OR (1 = 1", "1 = 1) --", "1 = 1) LIMIT 1 --", "1 = 1) UNION SELECT * FROM select_t WHERE (1 = 1",
		"1 = 1 LIMIT 1", "1 = 1 ORDER BY id", "1 = 1 GROUP BY id", "1 = 1 UNION SELECT * FROM select_t", "1 = 1;",
		"1 = 1; DROP TABLE select_t", "1 = 1; DROP TABLE select_t --", "1 = 1); DROP TABLE select_t; SELECT (1",
		"SELECT 1", "1 = 1, 1 = 1", "(1 = 1", "id = 'open", "1 = 1 /* open", " ", "-- nothing", "no_such_column = 1",
		"1 = 1\x00", "1 = 1\x00) OR (1 = 1",
	} {
		rows, err := selector.Select(context.Background(), "select_t", source.Selection{Where: where})
		if err == nil {
			t.Errorf("the condition %q is accepted", where)
			closeRows(t, rows)
		} else if errors.Is(err, source.ErrUnavailable) {
			t.Errorf("the condition %q: %v", where, err)
		}
	}
	for _, column := range []string{"no_such_column", "id, title", "*", "", "1"} {
		_, err := selector.Select(context.Background(), "select_t", source.Selection{Columns: []string{"id", column}})
		if known := expectUnknown(t, err, "column", column); !slices.Contains(known, oddColumn) {
			t.Errorf("the column %q: known names are %q", column, known)
		}
	}
	twice := source.Selection{Columns: []string{"id", "title", "id"}}
	if _, err := selector.Select(context.Background(), "select_t", twice); err == nil {
		t.Error("a column can be selected twice")
	}
	_, err := selector.Select(context.Background(), "no_such_table", source.Selection{Where: "1 = 1"})
	expectUnknown(t, err, "table", "no_such_table")
	expectUsable(t, src, "select_t", 3)
}

// testFailingWhere reads with a condition that fails on a row, in Select or in Next.
func testFailingWhere(t *testing.T, f *Fixture) {
	f.createSelected(t, "failing_t")
	src := f.open(t)
	rows, err := as[source.Selector](t, src).Select(
		context.Background(), "failing_t", source.Selection{Where: f.FailingWhere})
	if err == nil {
		if err = drain(rows); err == io.EOF {
			t.Error("the rows of a failing condition end without an error")
		}
		expectSticky(t, rows, err)
		closeRows(t, rows)
	}
	expectUsable(t, src, "failing_t", 3)
}

// testTables checks that the list has every table by a name that Table finds, and no view, which is named as left out.
func testTables(t *testing.T, f *Fixture) {
	var want []string
	for _, name := range append([]string{"tables_t", "Tables_Upper"}, oddNames...) {
		if !slices.Contains(f.RefusedNames, name) {
			f.create(t, name, "tables_own_name", f.Text)
			f.insert(t, name, "'"+strings.ReplaceAll(name, "'", "''")+"'")
			want = append(want, name)
		}
	}
	f.Exec(t, "CREATE VIEW "+f.Quote("tables_v")+" AS SELECT * FROM "+f.Quote("tables_t"))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW "+f.Quote("tables_v")) })
	src := f.open(t)
	lister := as[source.Lister](t, src)
	list, err := lister.Tables(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range list {
		rows, err := src.Table(context.Background(), name)
		if err != nil {
			t.Fatalf("Table(%q), a name in the list: %v", name, err)
		}
		if columns := rows.Columns(); len(columns) == 1 && columns[0].Name == "tables_own_name" {
			got = append(got, readAll(t, rows)[0][0].text)
		}
		closeRows(t, rows)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the list %q has the tables %q, want %q", list, got, want)
	}
	omitted, err := source.Omitted(context.Background(), src, "")
	isView := func(text string) bool {
		return strings.HasPrefix(text, "the view ") && strings.Contains(text, "tables_v")
	}
	if err != nil || !slices.ContainsFunc(omitted, isView) {
		t.Errorf("left out are %q, %v", omitted, err)
	}
	_, err = lister.Tables(context.Background(), "no such schema")
	expectUnknown(t, err, "schema", "no such schema")
	_, err = as[source.Omitter](t, src).Omitted(context.Background(), "no such schema")
	expectUnknown(t, err, "schema", "no such schema")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := lister.Tables(canceled, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Tables with a canceled context: %v", err)
	}
}

func testDescribe(t *testing.T, f *Fixture) {
	describer := as[source.Describer](t, f.open(t))
	description, err := describer.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	system, version, found := strings.Cut(description.System, " ")
	if system == "" || !found || !strings.ContainsFunc(version, unicode.IsDigit) {
		t.Errorf("the system is %q, want a name and a version", description.System)
	}
	if description.Database == "" {
		t.Error("the database has no name")
	}
}

// testSize calls Size before reading, which must then return all rows.
func testSize(t *testing.T, f *Fixture) {
	f.createMany(t, "size_t")
	src := f.open(t)
	for _, open := range []func() source.Rows{
		func() source.Rows { return f.rows(t, src, "size_t") },
		func() source.Rows { return f.query(t, src, "SELECT * FROM "+f.Quote("size_t")) },
	} {
		rows := open()
		size, err := as[source.Sized](t, rows).Size()
		if err != nil {
			t.Fatal(err)
		}
		if size.Rows < 0 || size.Bytes < 0 {
			t.Errorf("the size is %+v", size)
		}
		if got := len(readAll(t, rows)); got != manyRows {
			t.Errorf("after Size there are %d rows, want %d", got, manyRows)
		}
		closeRows(t, rows)
	}
}
