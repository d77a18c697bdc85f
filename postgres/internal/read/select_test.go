package read_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

func selection(tb testing.TB, db *read.DB, name string, s source.Selection) source.Rows {
	tb.Helper()
	rows, err := db.Select(context.Background(), name, s)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

const selectedSQL = `
	CREATE TABLE t (id int, "A b" text, half numeric GENERATED ALWAYS AS (id / 2.0) STORED, n numeric(9,2));
	INSERT INTO t (id, "A b", n) VALUES (1, 'one', 10), (2, NULL, 20), (3, '', 0);
	CREATE TABLE other AS SELECT 2 AS id; CREATE VIEW v AS SELECT id, "A b" FROM t;
	CREATE FUNCTION is_two(int) RETURNS bool LANGUAGE sql AS 'SELECT $1 = 2'`

func TestSelect(t *testing.T) {
	db, _ := openNew(t, selectedSQL)
	for _, test := range []struct {
		name string
		s    source.Selection
		want string
	}{
		{"t", source.Selection{}, "id,A b,n\n1,one,10.00\n2,,20.00\n3,\"\",0.00\n"},
		{"t", source.Selection{Columns: []string{}}, "id,A b,n\n1,one,10.00\n2,,20.00\n3,\"\",0.00\n"},
		{"t", source.Selection{Columns: []string{"n", "id"}}, "n,id\n10.00,1\n20.00,2\n0.00,3\n"},
		{"t", source.Selection{Columns: []string{"half", "A b"}, Limit: 1}, "half,A b\n0.50000000000000000000,one\n"},
		{"t", source.Selection{Where: "id = 1 OR id = 3"}, "id,A b,n\n1,one,10.00\n3,\"\",0.00\n"},
		{"t", source.Selection{Where: `"A b" IS NULL -- none`}, "id,A b,n\n2,,20.00\n"},
		{"t", source.Selection{Where: "half > 1 /* ( */", Columns: []string{"id"}}, "id\n3\n"},
		{"t", source.Selection{Where: "id IN (SELECT id FROM other)", Columns: []string{"id"}}, "id\n2\n"},
		{"t", source.Selection{Where: "is_two(t.id) AND ')' <> '('", Columns: []string{"id"}}, "id\n2\n"},
		{"t", source.Selection{Where: "$$)$$ = ')' AND id < 0", Columns: []string{"id"}}, "id\n"},
		{"t", source.Selection{Where: "TRUE", Limit: 9, Columns: []string{"id"}}, "id\n1\n2\n3\n"},
		{"public.t", source.Selection{Where: "id < 3", Limit: 1, Columns: []string{"id"}}, "id\n1\n"},
		{"v", source.Selection{Where: "id = 2", Columns: []string{"A b", "id"}}, "A b,id\n,2\n"},
	} {
		expectCSV(t, func() source.Rows { return selection(t, db, test.name, test.s) }, test.want)
	}
}

// TestBadCondition refuses whatever is not one expression, before anything is read. Afterwards all works.
func TestBadCondition(t *testing.T) {
	db, _ := openNew(t, selectedSQL)
	for where, want := range map[string]string{
		"true) OR (true":                      `syntax error at or near ")" (SQLSTATE 42601) at character 5`,
		"true) --":                            "at character 5",
		"true) UNION SELECT (1":               "at character 5",
		"true LIMIT 1":                        `syntax error at or near "LIMIT" (SQLSTATE 42601) at character 6`,
		"true ORDER BY id":                    "at character 6",
		"true FOR UPDATE":                     "at character 6",
		"true GROUP BY id":                    "at character 6",
		"true UNION SELECT":                   "at character 6",
		"true; DROP TABLE t":                  "more than one statement",
		"true;":                               "syntax error",
		"SELECT true":                         "syntax error",
		"-- nothing":                          "syntax error at end of input",
		" ":                                   "syntax error at end of input",
		"/* open":                             "unterminated /* comment",
		"'open":                               "unterminated quoted string",
		"(true":                               "syntax error",
		"id = $1":                             "it has parameters",
		"$1":                                  "it has parameters",
		"true\x00":                            "NUL",
		"grüße = 1":                           `column "grüße" does not exist`,
		"id":                                  "must be type boolean",
		"count(*) > 1":                        "aggregate functions are not allowed",
		"id = 1, id = 2":                      "syntax error",
		"\xff":                                "invalid byte sequence",
		"true) AND EXISTS (SELECT FROM other": "at character 5",
	} {
		_, err := db.Select(context.Background(), "t", source.Selection{Where: where})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "condition") ||
			errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%q: %v, want %q", where, err, want)
		}
	}
	expectCSV(t, func() source.Rows { return table(t, db, "other") }, "id\n2\n")
}

func TestBadSelection(t *testing.T) {
	db, _ := openNew(t, selectedSQL)
	_, err := db.Select(context.Background(), "t", source.Selection{Columns: []string{"id", "ID"}})
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if !ok || unknown.What != "column" || unknown.Name != "ID" ||
		!slices.Equal(unknown.Known, []string{"id", "A b", "half", "n"}) {
		t.Errorf("an unknown column: %#v", err)
	}
	for _, column := range []string{"ctid", "tableoid", "", `"id"`, "id, n", "*"} {
		_, err := db.Select(context.Background(), "t", source.Selection{Columns: []string{column}})
		if _, ok := errors.AsType[*source.UnknownError](err); !ok {
			t.Errorf("column %q: %v", column, err)
		}
	}
	_, err = db.Select(context.Background(), "t", source.Selection{Columns: []string{"id", "n", "id"}})
	if err == nil || !strings.Contains(err.Error(), `column "id" is selected twice`) {
		t.Errorf("a column twice: %v", err)
	}
	if _, err := db.Select(context.Background(), "t", source.Selection{Limit: -1}); err == nil {
		t.Error("a negative limit is taken")
	}
	_, err = db.Select(context.Background(), "tt", source.Selection{Where: "true"})
	if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.What != "table" {
		t.Errorf("an unknown table: %v", err)
	}
	// What fails only when it is run, ends the rows.
	failing := source.Selection{Where: "1 / (id - 2) <> 7"}
	for way, read := range map[string]func(source.Rows) error{
		"Next":     func(r source.Rows) error { _, err := drain(r); return err },
		"WriteCSV": func(r source.Rows) error { _, err := r.(source.CSVWriter).WriteCSV(io.Discard); return err },
	} {
		rows := selection(t, db, "t", failing)
		if err := read(rows); err == io.EOF || !strings.Contains(err.Error(), "division by zero") {
			t.Errorf("%s: %v", way, err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	expectCSV(t, func() source.Rows { return table(t, db, "other") }, "id\n2\n")
}

// TestSelectAll gives all rows that meet a condition, where the database has been told to be content with some.
func TestSelectAll(t *testing.T) {
	_, database := openNew(t, `
		CREATE TABLE t AS SELECT i AS id, ARRAY[i % 3] AS a FROM generate_series(1, 30000) AS i;
		CREATE INDEX ON t USING gin (a); ANALYZE t`)
	for _, setting := range []string{"gin_fuzzy_search_limit = 100", "enable_seqscan = off"} {
		database.Exec(t, "ALTER DATABASE "+database.Name+" SET "+setting)
	}
	db := openAgain(t, database.ConnString())
	if n, err := drain(selection(t, db, "t", source.Selection{Where: "a @> ARRAY[1]"})); n != 10000 || err != io.EOF {
		t.Errorf("%d rows of 10000, and then %v", n, err)
	}
}

// TestDivideSelection gives each row that is selected once, also of a parent. A limit cannot be shared.
func TestDivideSelection(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, _ := openNew(t, `
		CREATE TABLE p (id int, fill text) PARTITION BY LIST (fill);
		CREATE TABLE q PARTITION OF p FOR VALUES IN ('a'); CREATE TABLE r PARTITION OF p FOR VALUES IN ('b');
		INSERT INTO p SELECT i, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 30000) AS i`)
	for _, where := range []string{"id % 2 = 0 OR id < 100 -- odd or even", "id > 29990 OR fill = 'a'", "false"} {
		s := source.Selection{Columns: []string{"id"}, Where: where}
		want := strings.Fields(encoded(t, selection(t, db, "p", s)))[1:]
		for _, csv := range []bool{false, true} {
			rows := selection(t, db, "p", s)
			parts, err := rows.(source.Divider).Divide(3)
			if err != nil {
				t.Fatal(err)
			}
			if len(parts) != 3 {
				t.Fatalf("divided in %d", len(parts))
			}
			got := make([][]string, len(parts))
			for i, part := range parts {
				got[i] = idsOf(t, part, csv)
			}
			all := slices.Concat(got...)
			slices.Sort(all)
			slices.Sort(want)
			if !slices.Equal(all, want) {
				t.Errorf("%s: %d rows divided, want %d", where, len(all), len(want))
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	rows := selection(t, db, "p", source.Selection{Limit: 5})
	_, err := rows.(source.Divider).Divide(3)
	if _, ok := errors.AsType[*source.IndivisibleError](err); !ok {
		t.Errorf("Divide with a limit: %v", err)
	}
	_, err = rows.(source.Divider).Ranges(3)
	if _, ok := errors.AsType[*source.IndivisibleError](err); !ok {
		t.Errorf("Ranges with a limit: %v", err)
	}
	if n, err := drain(rows); n != 5 || err != io.EOF {
		t.Errorf("%d rows, %v", n, err)
	}
}

// idsOf reads rows of one column of numbers to their end.
func idsOf(tb testing.TB, rows source.Rows, csv bool) (ids []string) {
	tb.Helper()
	if csv {
		var out strings.Builder
		if _, err := rows.(source.CSVWriter).WriteCSV(&out); err != nil {
			tb.Fatal(err)
		}
		return strings.Fields(out.String())
	}
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			return ids
		}
		if err != nil {
			tb.Fatal(err)
		}
		for row := range b.Rows() {
			_, id := b.Value(row, 0)
			if _, err := strconv.Atoi(string(id)); err != nil {
				tb.Fatal(err)
			}
			ids = append(ids, string(id))
		}
	}
}
