package read_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

const selectSQL = "CREATE TABLE t (id int PRIMARY KEY, `Title` text, j json, sum int AS (id + 1), `odd ``name` int);" +
	"INSERT INTO t (id, `Title`, j, `odd ``name`) VALUES" +
	" (1, 'one', '{}', 7), (2, 'two (', '[]', 8), (3, NULL, NULL, 9);" +
	"CREATE VIEW v AS SELECT id FROM t WHERE id > 1"

func selected(tb testing.TB, db *read.DB, name string, selection source.Selection) string {
	tb.Helper()
	rows, err := db.Select(context.Background(), name, selection)
	if err != nil {
		tb.Fatalf("%+v: %v", selection, err)
	}
	return encoded(tb, format.CSV{}, rows)
}

func TestSelectColumns(t *testing.T) {
	db, _ := openNew(t, selectSQL)
	for _, test := range []struct {
		selection source.Selection
		want      string
	}{
		{source.Selection{Where: "id = 1"}, "id,Title,j,odd `name\n1,one,{},7\n"},
		{source.Selection{Columns: []string{"odd `name", "id"}, Where: "id = 2"}, "odd `name,id\n8,2\n"},
		{source.Selection{Columns: []string{"SUM", "title"}, Where: "id = 2"}, "sum,Title\n3,two (\n"},
		{source.Selection{Columns: []string{}, Limit: 1, Where: "id = 3"}, "id,Title,j,odd `name\n3,,,9\n"},
	} {
		if got := selected(t, db, "t", test.selection); got != test.want {
			t.Errorf("%+v gives %q, want %q", test.selection, got, test.want)
		}
	}
	for _, name := range []string{"", "nothing", "`id`", "id, sum", "*", "1", strings.Repeat("x", 100)} {
		_, err := db.Select(context.Background(), "t", source.Selection{Columns: []string{"id", name}})
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if !ok || unknown.What != "column" || unknown.Name != name || !slices.Contains(unknown.Known, "sum") {
			t.Errorf("column %q: %v, want *source.UnknownError", name, err)
		}
	}
	for _, selection := range []source.Selection{{Columns: []string{"id", "ID"}}, {Limit: -1}} {
		if _, err := db.Select(context.Background(), "t", selection); err == nil {
			t.Errorf("%+v: no error", selection)
		}
	}
	_, err := db.Select(context.Background(), "nothing", source.Selection{Limit: 1})
	if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.What != "table" {
		t.Errorf("an unknown table: %v", err)
	}
	expectRows(t, table(t, db, "t"), 3)
}

func TestSelectRows(t *testing.T) {
	db, _ := openNew(t, selectSQL)
	for where, want := range map[string]string{
		"id > 1":                             "2 3 ",
		"id = 1 OR id = 3":                   "1 3 ",
		"id > 1 -- ) a comment":              "2 3 ",
		"id > 1 # ) another":                 "2 3 ",
		"/* ( */ id > 1 /* ) */":             "2 3 ",
		"Title LIKE '%(%'":                   "2 ",
		"Title = 'it''s )' OR \n id = 1":     "1 ",
		"id IN (SELECT MAX(id) FROM t)":      "3 ",
		"(id = 1) OR (id = 2)":               "1 2 ",
		"EXISTS (SELECT 1 LIMIT 1)":          "1 2 3 ",
		"Title IS NULL":                      "3 ",
		"`odd ``name` = 7":                   "1 ",
		"id = 1 /*! OR id = 2 */":            "1 2 ",
		"CASE WHEN id = 1 THEN 0 ELSE 1 END": "2 3 ",
	} {
		got := selected(t, db, "t", source.Selection{Columns: []string{"id"}, Where: where})
		if got := strings.ReplaceAll(strings.TrimPrefix(got, "id\n"), "\n", " "); got != want {
			t.Errorf("%q gives %q, want %q", where, got, want)
		}
	}
	for _, name := range []string{"t", "v"} {
		for limit, want := range map[int64]int{1: 1, 2: 2, 100: 2, 1 << 62: 2} {
			rows, err := db.Select(context.Background(), name, source.Selection{Where: "id > 1", Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			expectRows(t, rows, want)
		}
	}
}

// TestConditions tries to get out of the condition.
func TestConditions(t *testing.T) {
	db, database := openNew(t, selectSQL)
	database.Exec(t, "INSERT INTO t (id) VALUES (4)")
	for _, where := range []string{
		" ", "-- nothing", "#", "1) OR (1", "1) -- ", "1) /*", "1 /*", "1 /*! OR (1", "1)/*!", "'", "\"", "`", "1 'a",
		"?",
		"1 LIMIT 1", "1 ORDER BY 1", "1 GROUP BY 1", "1 HAVING 1", "1 FOR UPDATE", "1 LOCK IN SHARE MODE",
		"1 UNION SELECT 1", "1 UNION ALL SELECT 2 -- ", "1) UNION (SELECT 1", "1; SELECT 1", "1;", "SELECT 1", "1, 2",
		"1 INTO OUTFILE '/tmp/culvert'", "1 INTO @x", "1 PROCEDURE ANALYSE()", "1\x00) -- ", "1) \x00", "id = 1 AND",
		"nothing = 1", "1 WHERE 1", "*/ 1", "DEFAULT", "1) LIMIT 1 -- (",
	} {
		rows, err := db.Select(context.Background(), "t", source.Selection{Columns: []string{"id"}, Where: where})
		if err == nil {
			_, err = drain(rows)
			t.Errorf("%q gives rows, and then %v", where, err)
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	expectRows(t, table(t, db, "t"), 3)
}

// TestSelectPrivileges names a column that the user may not read: it exists.
func TestSelectPrivileges(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: "of root"})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2);"+
		"CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'of reader';"+
		"GRANT SELECT (a) ON "+database.Name+".t TO reader@'127.0.0.1'")
	db := openAgain(t, "mysql://reader:of%20reader@"+server.Address(t)+"/"+database.Name)
	if got := selected(t, db, "t", source.Selection{Columns: []string{"a"}}); got != "a\n1\n" {
		t.Errorf("the column that may be read gives %q", got)
	}
	for _, selection := range []source.Selection{
		{Columns: []string{"b"}},
		{Columns: []string{"a"}, Where: "b = 2"},
		{Limit: 1},
	} {
		_, err := db.Select(context.Background(), "t", selection)
		if err == nil || !strings.Contains(err.Error(), "denied") {
			t.Errorf("%+v: %v", selection, err)
		}
	}
}

// TestNotReadAtAll closes tables that were only looked at, which needs no second connection. Nobody else uses its
// server, which counts what all send.
func TestNotReadAtAll(t *testing.T) {
	database := testkit.NewMariaDB(t, testkit.MariaDBConfig{}).NewDatabase(t)
	database.Exec(t, manyRows)
	db := openAgain(t, database.URL())
	before := database.Query(t, "SHOW GLOBAL STATUS LIKE 'Com_kill'")[0][1]
	for range 3 {
		if err := table(t, db, "t").Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := database.Query(t, "SHOW GLOBAL STATUS LIKE 'Com_kill'")[0][1]; after != before {
		t.Errorf("the server was sent %s KILLs before, and %s after", before, after)
	}
	expectRows(t, table(t, db, "t"), 300_000)
}

// TestWarnedResult refuses values of which MariaDB only warns that they are cut or missing. It does not even warn of a
// wrong pattern of REGEXP in a row, which finds NULL.
func TestWarnedResult(t *testing.T) {
	db, _ := openNew(t, selectSQL)
	const cut, missing = "GROUP_CONCAT(REPEAT('x', 2000000))", "REPEAT(id, 1 << 40)"
	end := func(rows source.Rows, err error) error {
		var b source.Batch
		for err == nil {
			err = rows.Next(&b)
		}
		return err
	}
	for _, value := range []string{cut, missing} {
		err := end(db.Query(t.Context(), "SELECT "+value+" FROM t"))
		if err == io.EOF || !strings.Contains(err.Error(), "query") {
			t.Errorf("the query of %s: %v", value, err)
		}
	}
	for _, name := range []string{"t", "v"} {
		err := end(db.Select(t.Context(), name, source.Selection{Where: missing + " IS NULL"}))
		if err == io.EOF || !strings.Contains(err.Error(), name) {
			t.Errorf("a condition about %s: %v", name, err)
		}
	}
	for _, where := range []string{"`Title` = 0", "1 / 0 IS NULL"} { // which warn of what is meant so
		if err := end(db.Select(t.Context(), "t", source.Selection{Where: where})); err != io.EOF {
			t.Errorf("%s: %v", where, err)
		}
	}
}
