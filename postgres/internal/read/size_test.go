package read_test

import (
	"io"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

func size(tb testing.TB, rows source.Rows) source.Size {
	tb.Helper()
	size, err := rows.(source.Sized).Size()
	if err != nil {
		tb.Fatal(err)
	}
	return size
}

func TestSize(t *testing.T) {
	testkit.SincePostgres(t, 14, "tables whose number of rows it says is unknown")
	db, _ := openNew(t, `
		CREATE TABLE t AS SELECT i AS id, repeat('x', 100) AS fill FROM generate_series(1, 10000) AS i; ANALYZE t;
		CREATE TABLE fresh WITH (autovacuum_enabled = off) AS
			SELECT i AS id, repeat('x', 1000) AS fill FROM generate_series(1, 10000) AS i;
		CREATE TABLE few (id int) WITH (autovacuum_enabled = off); INSERT INTO few VALUES (1), (2), (3);
		CREATE TABLE none (id int);
		CREATE TABLE toasted (id int, fill text); ALTER TABLE toasted ALTER fill SET STORAGE EXTERNAL;
		INSERT INTO toasted SELECT 1, repeat('x', 1000000);
		CREATE TABLE parent (id int, fill text) PARTITION BY LIST (id);
		CREATE TABLE part1 PARTITION OF parent FOR VALUES IN (1) WITH (autovacuum_enabled = off);
		CREATE TABLE part2 PARTITION OF parent FOR VALUES IN (2) WITH (autovacuum_enabled = off);
		CREATE TABLE part3 PARTITION OF parent FOR VALUES IN (3) WITH (autovacuum_enabled = off);
		INSERT INTO parent SELECT 1 + i % 2, repeat('x', 1000) FROM generate_series(1, 5000) AS i;
		CREATE VIEW v AS SELECT id FROM t WHERE id <= 1000; CREATE MATERIALIZED VIEW m AS SELECT id FROM t; ANALYZE m`)
	for _, test := range []struct {
		name      string // of a table, or a query
		selection source.Selection
		rows      int64
		kilobytes [2]int64 // bounds
	}{
		{name: "t", rows: 10000, kilobytes: [2]int64{1000, 2000}},
		{name: "fresh", rows: 10000, kilobytes: [2]int64{10000, 15000}},
		{name: "few", rows: 3, kilobytes: [2]int64{8, 9}},
		{name: "parent", rows: 5000, kilobytes: [2]int64{5000, 8000}},
		{name: "toasted", rows: 1, kilobytes: [2]int64{1000, 1200}},
		{name: "m", rows: 10000, kilobytes: [2]int64{300, 500}},
		{name: "v", rows: 1000, kilobytes: [2]int64{4, 4}},
		{"t", source.Selection{Columns: []string{"id"}}, 10000, [2]int64{40, 40}},
		{"fresh", source.Selection{Columns: []string{"id"}}, 10000, [2]int64{40, 44}},
		{"t", source.Selection{Where: "id <= 2000 -- few"}, 2000, [2]int64{200, 220}},
		{"t", source.Selection{Limit: 10}, 10, [2]int64{1, 2}},
		{name: "SELECT id FROM t WHERE id <= 1000;", rows: 1000, kilobytes: [2]int64{4, 4}},
		{name: "VALUES (1), (2) -- two", rows: 2},
	} {
		var rows source.Rows
		if strings.Contains(test.name, " ") {
			rows = query(t, db, test.name)
		} else {
			rows = selection(t, db, test.name, test.selection)
		}
		got := size(t, rows)
		if got.Rows < test.rows*9/10 || got.Rows > test.rows*11/10 {
			t.Errorf("%s %+v: %d rows, want about %d", test.name, test.selection, got.Rows, test.rows)
		}
		const kilobyte = 1000
		if got.Bytes < test.kilobytes[0]*kilobyte*9/10 || got.Bytes > test.kilobytes[1]*kilobyte*11/10+100 {
			t.Errorf("%s %+v: %d bytes, want %d kilobytes", test.name, test.selection, got.Bytes, test.kilobytes)
		}
		if n, err := drain(rows); int64(n) != test.rows || err != io.EOF {
			t.Errorf("%s %+v: read %d rows, %v", test.name, test.selection, n, err)
		}
		if _, err := rows.(source.Sized).Size(); err == nil {
			t.Errorf("%s: Size of rows that have been read", test.name)
		}
	}
	none := table(t, db, "none")
	defer none.Close() // always nil
	if got := size(t, none); got != (source.Size{}) {
		t.Errorf("an empty table: %+v", got)
	}
}

// TestSizeUnknown goes on where the server tells no size, with the locks that it had.
func TestSizeUnknown(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	role := database.NewRole(t, "reader", "")
	database.Exec(t, `CREATE TABLE t AS SELECT 1 AS id; CREATE TABLE mine AS SELECT 2 AS id;
		GRANT SELECT ON mine TO `+role)
	db := openAgain(t, database.ConnStringAs(role))

	show := query(t, db, "SHOW DateStyle")
	if got := size(t, show); got != (source.Size{}) {
		t.Errorf("SHOW: %+v", got)
	}
	if got := encoded(t, show); got != "DateStyle\n\"ISO, MDY\"\n" {
		t.Errorf("SHOW gives %q", got)
	}
	closed := table(t, db, "t")
	_, err := closed.(source.Sized).Size()
	if err == nil || !strings.Contains(err.Error(), `table "public.t": ERROR: permission denied for table t`) {
		t.Errorf("a table without permission: %v", err)
	}
	const locks = "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass"
	if got := database.Query(t, locks)[0][0]; got != "1" {
		t.Errorf("there are %s locks on the table", got)
	}
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	expectCSV(t, func() source.Rows { return table(t, db, "mine") }, "id\n2\n")
}
