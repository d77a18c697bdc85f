package read_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// divide divides the rows of a table among the given number of readers.
func divide(tb testing.TB, db *read.DB, name string, readers int) []source.Rows {
	tb.Helper()
	return divideContext(context.Background(), tb, db, name, readers)
}

// divideContext is divide with a context for the rows.
func divideContext(
	ctx context.Context, tb testing.TB, db *read.DB, name string, readers int,
) []source.Rows {
	tb.Helper()
	rows, err := db.Table(ctx, name)
	if err != nil {
		tb.Fatal(err)
	}
	all, err := rows.(source.Divider).Divide(readers)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// together reads all rows concurrently, each in the way of its number, and returns the lines of their CSV in order.
// Each reader waits once, after its first rows, for a call of meanwhile, which is made in the goroutine of the test, as
// it may end it. The error is the first one that is not io.EOF.
func together(all []source.Rows, meanwhile func()) (lines []string, err error) {
	var (
		mu      sync.Mutex
		text    bytes.Buffer
		reading sync.WaitGroup
	)
	add := func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}
	calls, over := make(chan chan struct{}), make(chan struct{})
	defer close(over)
	for i, rows := range all {
		reading.Go(func() {
			readErr := readCSV(rows, i%2 == 0, sync.OnceFunc(func() {
				called := make(chan struct{})
				select {
				case calls <- called:
					<-called
				case <-over:
				}
			}), add)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = readErr
			}
		})
	}
	go func() {
		reading.Wait()
		close(calls)
	}()
	for called := range calls {
		func() {
			defer close(called)
			meanwhile()
		}()
	}
	lines = strings.SplitAfter(text.String(), "\n")
	slices.Sort(lines)
	return lines, err
}

func readCSV(rows source.Rows, byServer bool, meanwhile func(), add func([]byte) (int, error)) error {
	if byServer {
		_, err := rows.(source.CSVWriter).WriteCSV(writerFunc(func(p []byte) (int, error) {
			meanwhile()
			return add(p)
		}))
		return err
	}
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		return err
	}
	var b source.Batch
	b.SetLimit(1 << 10)
	for {
		if err := rows.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		meanwhile()
		text, err := encoder.AppendRows(nil, &b)
		if err != nil {
			return err
		}
		if _, err := add(text); err != nil {
			return err
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// drainAll reads all rows at the same time, and counts them. The error is the first one that is not io.EOF.
func drainAll(all []source.Rows) (count int, err error) {
	counts, errs := make([]int, len(all)), make([]error, len(all))
	var reading sync.WaitGroup
	for i, rows := range all {
		reading.Go(func() { counts[i], errs[i] = drain(rows) })
	}
	reading.Wait()
	for i := range all {
		count += counts[i]
		if errs[i] != io.EOF && err == nil {
			err = errs[i]
		}
	}
	return count, err
}

// linesOf are the lines of the CSV of a query in order, as another connection prints them.
func linesOf(tb testing.TB, database *testkit.PostgresDatabase, query string) []string {
	tb.Helper()
	lines := strings.SplitAfter(string(database.Psql(tb, "-c", "COPY ("+query+") TO STDOUT (FORMAT csv)")), "\n")
	slices.Sort(lines)
	return lines
}

func expectLines(tb testing.TB, what string, got, want []string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: %d lines, want %d: %s", what, len(got), len(want),
			difference(strings.Join(got, ""), strings.Join(want, "")))
	}
}

// dividedTables are tables of all kinds, and what is done to each after the transaction began.
const dividedTables = `
	CREATE TABLE empty (id int);
	CREATE TABLE small AS SELECT i AS id FROM generate_series(1, 10) AS i;
	CREATE TABLE plain WITH (autovacuum_enabled = off) AS
		SELECT i AS id, repeat('x', i % 50) AS fill FROM generate_series(1, 5000) AS i;
	CREATE TABLE stale (LIKE plain) WITH (autovacuum_enabled = off); ANALYZE stale;
	INSERT INTO stale TABLE plain;
	CREATE TABLE holes WITH (autovacuum_enabled = off) AS TABLE plain; DELETE FROM holes WHERE id BETWEEN 2 AND 4000;
	CREATE TABLE moved WITH (autovacuum_enabled = off) AS TABLE plain; UPDATE moved SET fill = fill || 'y';
	CREATE UNLOGGED TABLE unlogged AS TABLE plain;
	CREATE MATERIALIZED VIEW kept AS TABLE plain;
	CREATE TABLE columnless (); INSERT INTO columnless SELECT FROM generate_series(1, 5000);
	CREATE TABLE large (id int, fill text); ALTER TABLE large ALTER fill SET STORAGE EXTERNAL;
	INSERT INTO large SELECT i, repeat(md5(i::text), 400) FROM generate_series(1, 100) AS i;
	INSERT INTO large SELECT i, '' FROM generate_series(101, 2000) AS i;

	CREATE TABLE parts (id int, half int GENERATED ALWAYS AS (id / 2) STORED, fill text) PARTITION BY RANGE (id);
	CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (1000) PARTITION BY RANGE (id);
	CREATE TABLE lowest PARTITION OF low FOR VALUES FROM (0) TO (100);
	CREATE TABLE lower PARTITION OF low DEFAULT;
	CREATE TABLE high (gone int, fill text, half int GENERATED ALWAYS AS (id / 2) STORED, more int, id int);
	ALTER TABLE high DROP gone; ALTER TABLE high DROP more;
	ALTER TABLE parts ATTACH PARTITION high FOR VALUES FROM (1000) TO (2500);
	CREATE TABLE others PARTITION OF parts DEFAULT;
	INSERT INTO parts (id, fill) SELECT id, fill FROM plain;
	CREATE TABLE no_parts (id int) PARTITION BY LIST (id);

	CREATE TABLE parent (id int, fill text); INSERT INTO parent SELECT * FROM plain WHERE id < 1000;
	CREATE TABLE child (more text DEFAULT 'more') INHERITS (parent); INSERT INTO child SELECT * FROM plain;
	CREATE TABLE other_parent (x int); CREATE TABLE grandchild () INHERITS (child, other_parent);
	INSERT INTO grandchild SELECT * FROM plain WHERE id > 4500`

// TestDivide reads tables that others change after the transaction began, and while they are read.
func TestDivide(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, dividedTables)
	for _, test := range []struct {
		table, columns string
		divided        bool
	}{
		{"empty", "id", false},
		{"small", "id", false},
		{"plain", "id, fill", true},
		{"stale", "id, fill", true},
		{"holes", "id, fill", true},
		{"moved", "id, fill", true},
		{"unlogged", "id, fill", true},
		{"kept", "id, fill", true},
		{"columnless", "", true},
		{"large", "id, fill", true},
		{"parts", "id, fill", true},
		{"low", "id, fill", true},
		{"no_parts", "id", false},
		{"parent", "id, fill", true},
		{"child", "id, fill, more", true},
	} {
		for _, readers := range []int{1, 2, 7} {
			name := fmt.Sprintf("%s with %d readers", test.table, readers)
			want := linesOf(t, database, "SELECT "+test.columns+" FROM "+test.table)
			db := open(t, database.ConnString())
			rows := table(t, db, test.table)
			change := func() {
				switch test.table {
				case "kept", "low", "no_parts":
				case "columnless":
					database.Exec(t, "INSERT INTO columnless SELECT FROM generate_series(1, 10)")
				default:
					database.Exec(t, fmt.Sprintf(`
						INSERT INTO %[1]s (id) SELECT generate_series(100001, 100300);
						UPDATE %[1]s SET id = id WHERE id %% 3 = 0; DELETE FROM %[1]s WHERE id %% 100 = 0`, test.table))
				}
			}
			change()
			all, err := rows.(source.Divider).Divide(readers)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if len(all) != readers && test.divided {
				t.Errorf("%s: there are %d", name, len(all))
			}
			first := sync.OnceFunc(func() {
				change()
				database.Exec(t, "VACUUM (TRUNCATE off) "+test.table)
			})
			got, err := together(all, first)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			expectLines(t, name, got, want)
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
			// The connections stay for the next table, and for a second look.
			got, err = together(divide(t, db, test.table, readers), func() {})
			if err != nil {
				t.Errorf("%s again: %v", name, err)
			}
			expectLines(t, name+" again", got, want)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			expectGone(t, database)
		}
	}
}

// expectGone waits for the end of what the server still does for us; it must not take part in anything for longer.
func expectGone(tb testing.TB, database *testkit.PostgresDatabase) {
	tb.Helper()
	const ours = "SELECT FROM pg_stat_activity WHERE application_name = 'culvert' AND datname = current_database()"
	testkit.WaitFor(tb, "our connections to end", func() bool { return len(database.Query(tb, ours)) == 0 })
}

// TestDivideOneMoment has a row move through a table, of which every reader must see the same place.
func TestDivideOneMoment(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, `
		CREATE TABLE t AS SELECT i AS id, repeat('x', 200) AS fill, 0 AS times FROM generate_series(1, 2000) AS i`)
	end, moving := make(chan struct{}), sync.WaitGroup{}
	moving.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
				database.Exec(t, fmt.Sprintf("UPDATE t SET times = %d; DELETE FROM t WHERE id = %[1]d", i))
				database.Exec(t, "VACUUM (TRUNCATE off) t")
			}
		}
	})
	for range 20 {
		db := open(t, database.ConnString())
		want := linesOf(t, database, "SELECT 1")[:0]
		want = append(want, strings.SplitAfter(encodedBody(t, query(t, db, "SELECT * FROM t")), "\n")...)
		slices.Sort(want)
		got, err := together(divide(t, db, "t", 4), func() {})
		if err != nil {
			t.Error(err)
		}
		expectLines(t, "t", got, want)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	close(end)
	moving.Wait()
}

// encodedBody is encoded without the header.
func encodedBody(tb testing.TB, rows source.Rows) string {
	tb.Helper()
	_, body, _ := strings.Cut(encoded(tb, rows), "\n")
	return body
}

// TestDivideRights reads through a parent what its user may not read by itself, and no part of what is filtered.
func TestDivideRights(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, `
		CREATE SCHEMA closed; CREATE TABLE parts (id int) PARTITION BY LIST (id);
		CREATE TABLE closed.one PARTITION OF parts FOR VALUES IN (1);
		INSERT INTO parts SELECT 1 FROM generate_series(1, 5000);
		CREATE TABLE filtered AS TABLE parts;
		ALTER TABLE filtered ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON filtered USING (id > 1)`)
	role := database.NewRole(t, "reader", "")
	database.Exec(t, "GRANT SELECT ON parts, filtered TO "+role)
	db := openAgain(t, database.ConnStringAs(role))
	rows := divide(t, db, "parts", 3)
	got, err := together(rows, func() {})
	if err != nil {
		t.Error(err)
	}
	expectLines(t, "parts", got, linesOf(t, database, "TABLE parts"))
	_, err = db.Table(context.Background(), "filtered")
	if err == nil || !strings.Contains(err.Error(), "row-level security policy") {
		t.Errorf("a table with a policy: %v", err)
	}
}

// TestDivideHostile must use none of the operators and functions that the owner of the database has put first.
func TestDivideHostile(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, `
		CREATE TABLE t AS SELECT generate_series(1, 5000) AS id;
		CREATE SCHEMA evil;
		CREATE FUNCTION evil.harm(pg_catalog.tid, pg_catalog.tid) RETURNS pg_catalog.bool LANGUAGE plpgsql AS
			$$BEGIN RAISE EXCEPTION 'hijacked'; END$$;
		CREATE OPERATOR evil.>= (LEFTARG = pg_catalog.tid, RIGHTARG = pg_catalog.tid, FUNCTION = evil.harm);
		CREATE OPERATOR evil.< (LEFTARG = pg_catalog.tid, RIGHTARG = pg_catalog.tid, FUNCTION = evil.harm);
		CREATE TYPE evil.tid AS (x int);
		CREATE FUNCTION evil.pg_export_snapshot() RETURNS text LANGUAGE sql AS $$SELECT 'hijacked'$$`)
	database.Exec(t, "ALTER DATABASE "+database.Name+" SET search_path = evil, public, pg_catalog")
	db := openAgain(t, database.ConnString())
	got, err := together(divide(t, db, "t", 3), func() {})
	if err != nil {
		t.Error(err)
	}
	expectLines(t, "t", got, linesOf(t, database, "TABLE public.t"))
}

// TestDivideTwice asks for what cannot be, and the rows go on.
func TestDivideTwice(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, _ := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 200000) AS id")
	all := divide(t, db, "t", 2)
	if _, err := all[0].(source.Divider).Divide(2); err == nil {
		t.Error("Divide of divided rows did not fail")
	}
	if _, err := db.Table(context.Background(), "t"); err == nil {
		t.Error("Table while divided rows are open did not fail")
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	var b source.Batch
	for _, rows := range all {
		if err := rows.Next(&b); err == nil || err == io.EOF {
			t.Errorf("Next of closed rows: %v", err)
		}
	}
	rows := table(t, db, "t")
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.(source.Divider).Divide(2); err == nil {
		t.Error("Divide of rows that are read did not fail")
	}
	before := b.Rows()
	if n, err := drain(rows); before+n != 200_000 || err != io.EOF {
		t.Errorf("then there are %d rows and the error %v", before+n, err)
	}
}

// TestDividedUnread refuses another table as long as a reader may still want rows, in whatever order they end.
func TestDividedUnread(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, _ := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	ctx := context.Background()
	for last := range 3 {
		all := divide(t, db, "t", 3)
		for i, rows := range all {
			if i == last {
				continue
			}
			if err := readCSV(rows, false, func() {}, drop); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Table(ctx, "t"); err == nil {
			t.Errorf("Table while reader %d is not at its end did not fail", last)
		}
		if err := readCSV(all[last], false, func() {}, drop); err != nil {
			t.Fatal(err)
		}
		if last == 2 {
			continue // the end is enough
		}
		if err := all[0].Close(); err != nil {
			t.Error(err)
		}
	}
	divide(t, db, "t", 3)[0].Close()
	if n, err := drain(table(t, db, "t")); n != 5000 || err != io.EOF {
		t.Errorf("after that the table has %d rows and the error %v", n, err)
	}
}

// TestDividedGrown has a table grow tenfold after it was divided. No reader looks through what has been added.
func TestDividedGrown(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 50000) AS id")
	want := linesOf(t, database, "TABLE t")
	all := divide(t, db, "t", 3)
	database.Exec(t, "INSERT INTO t SELECT generate_series(1, 500000)")
	const touched = "SELECT heap_blks_read + heap_blks_hit, pg_relation_size('t') / 8192 FROM pg_statio_user_tables " +
		"WHERE relname = 't'"
	numbers := func() (blocks, pages int) {
		if _, err := fmt.Sscan(strings.Join(database.Query(t, touched)[0], " "), &blocks, &pages); err != nil {
			t.Fatal(err)
		}
		return blocks, pages
	}
	testkit.WaitFor(t, "what was added to be counted", func() bool {
		blocks, pages := numbers()
		return blocks > pages
	})
	before, pages := numbers()
	got, err := together(all, func() {})
	if err != nil {
		t.Error(err)
	}
	expectLines(t, "t", got, want)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	expectGone(t, database)
	after, _ := numbers()
	if read := after - before; read < pages/20 || read > pages/2 {
		t.Errorf("read %d pages of a table that has %d now", read, pages)
	}
}

// TestDone measures while others read.
func TestDone(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, _ := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 50000) AS id")
	rows := table(t, db, "t")
	meter := rows.(source.Meter)
	if done := meter.Done(); done >= 0 {
		t.Errorf("before anything is known, %v is done", done)
	}
	all, err := rows.(source.Divider).Divide(3)
	if err != nil {
		t.Fatal(err)
	}
	if done := meter.Done(); done != 0 {
		t.Errorf("before the first row, %v is done", done)
	}
	var mu sync.Mutex
	last := 0.0
	_, err = together(all, func() {
		mu.Lock()
		defer mu.Unlock()
		done := meter.Done()
		if done < last || done >= 1 {
			t.Errorf("%v is done, after %v", done, last)
		}
		last = done
	})
	if done := meter.Done(); done != 1 || err != nil {
		t.Errorf("at the end, %v is done, and the error is %v", done, err)
	}
}
