package read_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// TestSeparate reads tables without the rows of those that inherit from them, in every way in which rows can be read.
func TestSeparate(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, database := openNew(t, `
		CREATE TABLE parent (id int, fill text) WITH (autovacuum_enabled = off);
		CREATE TABLE bare () INHERITS (parent) WITH (autovacuum_enabled = off);
		CREATE TABLE child (more text DEFAULT 'more') INHERITS (parent) WITH (autovacuum_enabled = off);
		CREATE TABLE other (x int); CREATE TABLE grandchild () INHERITS (child, other);
		CREATE TABLE whole (id int) PARTITION BY LIST (id); CREATE TABLE part PARTITION OF whole DEFAULT;
		INSERT INTO parent SELECT i, repeat('p', 100) FROM generate_series(1, 3000) i;
		INSERT INTO bare SELECT i, repeat('b', 100) FROM generate_series(1, 2000) i;
		INSERT INTO child SELECT i, repeat('c', 100) FROM generate_series(1, 1000) i;
		INSERT INTO grandchild SELECT i, repeat('g', 100) FROM generate_series(1, 500) i;
		INSERT INTO whole SELECT generate_series(1, 100);
		CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
		CREATE FOREIGN TABLE far (id int, fill text) SERVER files OPTIONS (filename '/dev/null', format 'csv');
		ALTER FOREIGN TABLE far INHERIT parent`)
	before := parts(t, db, "bare", source.Selection{}, 16<<10)
	together := parts(t, db, "child", source.Selection{}, 16<<10)
	for range 2 { // what is listed is kept, and whoever has asked may change their list
		got := tables(t, db, "")
		if len(got) != 5 || slices.Contains(got, "public.bare") {
			t.Errorf("the tables are %q", got)
		}
		clear(got)
	}
	db.Separate()
	names := []string{
		"public.bare", "public.child", "public.grandchild", "public.other", "public.parent", "public.whole",
	}
	if got := tables(t, db, ""); !slices.Equal(got, names) {
		t.Errorf("the tables are %q", got)
	}
	if omitted, err := db.Omitted(t.Context(), ""); len(omitted) > 0 || err != nil {
		t.Errorf("left out are %q, %v", omitted, err)
	}
	if outside, err := db.OutsideSnapshot(t.Context(), names); len(outside) > 0 || err != nil {
		t.Errorf("outside the snapshot are %q, %v", outside, err)
	}
	plain := openAgain(t, database.ConnString())
	for name, rows := range map[string]int{
		"parent": 3000, "child": 1000, "bare": 2000, "whole": 100, "grandchild": 500,
	} {
		want := linesOf(t, database, "SELECT * FROM ONLY "+name)
		if name == "whole" {
			want = linesOf(t, database, "SELECT * FROM whole")
		}
		expectOwn(t, db, name, rows, want)
		cut := parts(t, db, name, source.Selection{}, 16<<10)
		joined, err := db.Join(t.Context(), cut[0].Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		expectOwn(t, joined.(*read.DB), name, rows, want)
		if err := joined.Close(); err != nil {
			t.Error(err)
		}
		// A session that was not separated reads the parts as they are.
		unaware, err := read.Join(t.Context(), database.ConnString(), cut[0].Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if sum := total(counts(t, unaware, cut)); sum != rows || rows > 1000 && len(cut) < 5 {
			t.Errorf("%s: %d parts have %d rows, want %d", name, len(cut), sum, rows)
		}
		if err := unaware.Close(); err != nil {
			t.Error(err)
		}
	}
	if sum := total(counts(t, db, before)) + total(counts(t, db, together)); sum != 2000+1500 {
		t.Errorf("what was cut before has %d rows", sum)
	}
	if n, err := drain(table(t, plain, "parent")); n != 6500 || err != io.EOF {
		t.Errorf("without Separate: %d rows, %v", n, err)
	}
}

// TestHypertable reads a table whose rows TimescaleDB keeps in tables that inherit from it.
func TestHypertable(t *testing.T) {
	read.ShrinkRanges(t)
	database := testkit.Timescale(t).NewDatabase(t)
	database.Exec(t, `CREATE EXTENSION timescaledb; CREATE TABLE t (n int NOT NULL, fill text);
		SELECT create_hypertable('t', 'n', chunk_time_interval => 1000);
		INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 5000) AS i; ANALYZE t`)
	db := openAgain(t, database.ConnString())
	expectOwn(t, db, "t", 5000, linesOf(t, database, "SELECT * FROM t"))
	if sum := total(counts(t, db, parts(t, db, "t", source.Selection{}, 16<<10))); sum != 5000 {
		t.Errorf("the parts have %d rows, want 5000", sum)
	}
}

func total(counts []int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// expectOwn reads a table by one connection and by several, and compares its size.
func expectOwn(t *testing.T, db *read.DB, name string, rows int, want []string) {
	t.Helper()
	whole := table(t, db, name)
	if got := size(t, whole); got.Rows < int64(rows)*9/10 || got.Rows > int64(rows)*11/10 {
		t.Errorf("%s: the size is %+v, want %d rows", name, got, rows)
	}
	if err := whole.Close(); err != nil {
		t.Error(err)
	}
	for _, readers := range []int{1, 3} {
		all := divide(t, db, name, readers)
		got, err := together(all, func() {})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		expectLines(t, fmt.Sprintf("%s by %d", name, readers), got, want)
		if rows >= 2000 && len(all) != readers {
			t.Errorf("%s: %d readers, want %d", name, len(all), readers)
		}
	}
}

// TestSeparateByKey cuts a table by its key, since the user may not read ctid.
func TestSeparateByKey(t *testing.T) {
	_, exec, connString := newRestricted(t, testkit.Postgres(t))
	exec(t, "CREATE TABLE parent (id int PRIMARY KEY, fill text); CREATE TABLE child () INHERITS (parent)")
	exec(t, "INSERT INTO parent SELECT i, repeat('p', 100) FROM generate_series(1, 2000) i")
	exec(t, "INSERT INTO child SELECT i, repeat('c', 100) FROM generate_series(1, 2000) i")
	db := openAgain(t, connString)
	if cut := parts(t, db, "parent", source.Selection{}, 16<<10); len(cut) != 1 {
		t.Errorf("with its child: %d parts", len(cut))
	}
	db.Separate()
	cut := parts(t, db, "parent", source.Selection{}, 16<<10)
	if sum := total(counts(t, db, cut)); len(cut) < 5 || sum != 2000 || cut[0].Range.By != `["id"]` {
		t.Errorf("%d parts by %q have %d rows", len(cut), cut[0].Range.By, sum)
	}
}

// TestSeparateFromChanged changes children after the transaction began, which does not matter to the parent.
func TestSeparateFromChanged(t *testing.T) {
	db, database := openNew(t, `CREATE TABLE parent (id int); CREATE TABLE one () INHERITS (parent);
		CREATE TABLE two () INHERITS (parent); INSERT INTO parent VALUES (1); INSERT INTO one VALUES (2)`)
	together := openAgain(t, database.ConnString())
	db.Separate()
	database.Exec(t, "TRUNCATE one; ALTER TABLE two NO INHERIT parent")
	expectCSV(t, func() source.Rows { return table(t, db, "parent") }, "id\n1\n")
	if _, err := together.Table(t.Context(), "parent"); err == nil {
		t.Error("a table whose child has lost its rows is read")
	}
}
