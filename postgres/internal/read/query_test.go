package read_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

func TestQueryErrors(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (id int, name text)")
	for _, test := range []struct{ sql, want string }{
		{"SELECT nam FROM t AS x", `ERROR: column "nam" does not exist (SQLSTATE 42703) at character 8; ` +
			`hint: Perhaps you meant to reference the column "x.name".`},
		{"SELECT * FROM tt", `relation "tt" does not exist (SQLSTATE 42P01) at character 15`},
		{"SELECT 1; SELECT 2", "more than one statement"},
		{"SELECT $1", "has parameters"},
		{"SELECT $1 IS NULL", "has parameters"},
		{"SELECT id FROM t WHERE id = $1", "has parameters"},
		{"", "returns no rows"},
		{" ; ", "returns no rows"},
		{"-- nothing", "returns no rows"},
		{"DELETE FROM t", "returns no rows"},
		{"COPY t TO STDOUT", "returns no rows"},
		{"COMMIT", "returns no rows"},
		{"ROLLBACK", "returns no rows"},
		{"SET row_security = on", "returns no rows"},
		{"INSERT INTO t VALUES (1) RETURNING id", "cannot execute INSERT in a read-only transaction"},
		{"SELECT id FROM t FOR UPDATE", "cannot execute SELECT FOR UPDATE in a read-only transaction"},
		{"EXPLAIN ANALYZE INSERT INTO t VALUES (1)", "cannot execute INSERT in a read-only transaction"},
		{"WITH d AS (DELETE FROM t RETURNING id) SELECT * FROM d", "in a read-only transaction"},
		{"SELECT 1) TO PROGRAM 'false' --", "syntax error"},
		{"SELECT 1 /*", "unterminated /* comment"},
		{"SELECT 'x", "unterminated quoted string"},
		{"SELECT 1/0", "division by zero (SQLSTATE 22012)"},
	} {
		rows, err := db.Query(context.Background(), test.sql)
		if err == nil {
			_, err = drain(rows)
		}
		const prefix = "postgres: query: "
		if err == io.EOF || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Query(%q): %v, want %q", test.sql, err, test.want)
		}
		if errors.Is(err, source.ErrUnavailable) {
			t.Errorf("Query(%q): %v is unavailable", test.sql, err)
		}
		if err := rowsErr(db.Query(context.Background(), "SELECT 1")); err != io.EOF {
			t.Fatalf("after Query(%q): %v", test.sql, err)
		}
	}
	if got := database.Query(t, "SELECT count(*) FROM t"); got[0][0] != "0" {
		t.Errorf("the table has %s rows", got[0][0])
	}
}

func rowsErr(rows source.Rows, err error) error {
	if err == nil {
		_, err = drain(rows)
	}
	return err
}

// TestQueryShapes reads statements that are not plain SELECTs.
func TestQueryShapes(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t AS SELECT 1 AS id")
	for _, test := range []struct {
		sql, want string
		copied    bool
	}{
		{"TABLE t", "id\n1\n", true},
		{"VALUES (1, 'a'), (2, NULL)", "column1,column2\n1,a\n2,\n", true},
		{"WITH x AS (SELECT id FROM t) SELECT * FROM x", "id\n1\n", true},
		{"(SELECT 1 AS a) UNION ALL (SELECT 2)", "a\n1\n2\n", true},
		{"SELECT 1 AS a -- not the end", "a\n1\n", true},
		{"SELECT ';' AS a /* ; */ ;;\n", "a\n;\n", true},
		{"SELECT FROM t", "\n\n", true},
		{"SELECT NULL::int AS a, '' AS b WHERE false", "a,b\n", true},
		{"\n\t (( select(1) AS a))", "a\n1\n", true},
		{"/* SHOW */ SELECT 1 AS a;", "a\n1\n", true},
		{"SELECT 1 AS a -- ;", "a\n1\n", true},
		{"SELECT 1 AS a; -- COPY cannot take this", "a\n1\n", false},
		{"SHOW TimeZone", "TimeZone\nUTC\n", false},
		{"EXPLAIN (COSTS OFF) SELECT 1", "QUERY PLAN\nResult\n", false},
	} {
		rows := query(t, db, test.sql)
		_, ok := rows.(source.CSVWriter)
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		if ok != test.copied {
			t.Errorf("Query(%q) can print CSV: %v, want %v", test.sql, ok, test.copied)
		}
		if ok {
			if got := copied(t, query(t, db, test.sql)); got != test.want {
				t.Errorf("Query(%q) prints %q, want %q", test.sql, got, test.want)
			}
		}
		if got := encoded(t, query(t, db, test.sql)); got != test.want {
			t.Errorf("Query(%q) gives %q, want %q", test.sql, got, test.want)
		}
	}
}

// TestTypeNames asks for types of one name with several modifiers, again, and with new ones between them. What is
// renamed meanwhile keeps the name by which it was known.
func TestTypeNames(t *testing.T) {
	db, database := openNew(t, "CREATE TYPE mood AS ENUM ('well'); CREATE TYPE other AS ENUM ('x')")
	const first, second = "SELECT 1.5::numeric(9,2) AS a, 'well'::mood AS b, 2.5::numeric(9,2) AS c",
		"SELECT 1.5::numeric(9,3) AS a, 'well'::mood AS b, NULL::other AS c, NULL::int[] AS d"
	const firstTypes, secondTypes = "a numeric(9,2), b public.mood, c numeric(9,2)",
		"a numeric(9,3), b public.mood, c public.other, d integer[]"
	expect := func(sql, want string) {
		t.Helper()
		rows := query(t, db, sql)
		if got := columnsOf(rows); got != want {
			t.Errorf("the columns are %s, want %s", got, want)
		}
		if n, err := drain(rows); n != 1 || err != io.EOF {
			t.Error(n, err)
		}
	}
	expect(first, firstTypes)
	expect(second, secondTypes)
	if _, err := db.Query(context.Background(), "SELECT nothing"); err == nil {
		t.Error("a query that is wrong did not fail")
	}
	expect(first, firstTypes)
	rows := query(t, db, second)
	database.Exec(t, "ALTER TYPE mood RENAME TO temper")
	if n, err := drain(rows); n != 1 || err != io.EOF {
		t.Error(n, err)
	}
	expect("SELECT NULL::temper AS b", "b public.mood")
}

// TestQueryAllocations exports rows to text with a connection that has been used before.
func TestQueryAllocations(t *testing.T) {
	db, _ := openNew(t, `CREATE TABLE todos AS SELECT i::bigint AS id, 'title ' || i AS title, 'note' AS note
		FROM generate_series(1, 10000) AS i`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var batch source.Batch
	batch.SetLimit(64 << 10)
	var text []byte
	testkit.Allocs(t, 40, func() {
		rows, err := db.Query(ctx, "SELECT id, title, note FROM todos")
		if err != nil {
			t.Fatal(err)
		}
		encoder, err := format.Text{Line: "{ID: {id}, Title: {title}, Note: {note}},"}.Encoder(rows.Columns())
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for {
			if err = rows.Next(&batch); err != nil {
				break
			}
			if text, err = encoder.AppendRows(text[:0], &batch); err != nil {
				break
			}
			count += batch.Rows()
		}
		if count != 10_000 || err != io.EOF {
			t.Fatal(count, err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBusy(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 1000000) AS i")
	rows := table(t, db, "t")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	_, err := db.Table(context.Background(), "t")
	if err == nil || !strings.Contains(err.Error(), "still open") {
		t.Errorf("Table with rows open: %v", err)
	}
	_, err = db.Query(context.Background(), "SELECT 1")
	if err == nil || !strings.Contains(err.Error(), "still open") {
		t.Errorf("Query with rows open: %v", err)
	}
	if err := rows.Next(&b); err != nil {
		t.Errorf("the rows that are open: %v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if err := rowsErr(db.Query(context.Background(), "SELECT 1")); err != io.EOF {
		t.Errorf("Query afterwards: %v", err)
	}
}
