package read_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// TestIndivisible asks for what only one connection can read. It then does.
func TestIndivisible(t *testing.T) {
	read.ShrinkRanges(t)
	db, database := openNew(t, `
		CREATE TABLE t AS SELECT generate_series(1, 5000) AS id; CREATE VIEW v AS TABLE t;
		CREATE TABLE parts (id int) PARTITION BY LIST (id);
		CREATE TABLE one PARTITION OF parts FOR VALUES IN (1);
		INSERT INTO parts SELECT 1 FROM generate_series(1, 5000);
		CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;
		CREATE FOREIGN TABLE far (id int) SERVER s;
		CREATE FOREIGN TABLE two PARTITION OF parts FOR VALUES IN (2) SERVER s`)
	for name, reason := range map[string]string{
		"v":     "a view has no pages of its own",
		"far":   "a foreign table has no pages here",
		"parts": "one of its children is a foreign table",
	} {
		rows := table(t, db, name)
		expectIndivisible(t, rows, reason)
		if name == "v" {
			if n, err := drain(rows); n != 5000 || err != io.EOF {
				t.Errorf("%s has %d rows and the error %v", name, n, err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}

	old := func(m message) ([]byte, error) {
		if m.kind() == 'D' && strings.Contains(m.body(), "\x00\x00\x00\x0615") {
			m = newMessage('D', strings.Replace(m.body(), "\x00\x00\x00\x0615", "\x00\x00\x00\x0613", 1))
		}
		return m, nil
	}
	// The version is a number of six digits.
	if version := database.Query(t, "SHOW server_version_num")[0][0]; strings.HasPrefix(version, "15") {
		db = openAgain(t, newProxy(t, database.Server, old).connString(database.Name))
		expectIndivisible(t, table(t, db, "t"), "the server is older than PostgreSQL 14")
	}
}

func expectIndivisible(tb testing.TB, rows source.Rows, reason string) {
	tb.Helper()
	_, err := rows.(source.Divider).Divide(4)
	if alone, ok := errors.AsType[*source.IndivisibleError](err); !ok || !strings.Contains(alone.Reason, reason) {
		tb.Errorf("Divide: %v, want the reason %q", err, reason)
	}
}

// divideFewer shares the rows of a table among fewer readers than were asked for, since more are not to be had.
func divideFewer(tb testing.TB, db *read.DB, name string, readers int, reason string) []source.Rows {
	tb.Helper()
	all, err := table(tb, db, name).(source.Divider).Divide(readers)
	fewer, ok := errors.AsType[*source.IndivisibleError](err)
	if len(all) < 2 || ok != (len(all) < readers) || !ok && err != nil {
		tb.Fatalf("Divide among %d: %d readers, %v", readers, len(all), err)
	}
	if ok && !strings.Contains(fewer.Reason, reason) {
		tb.Errorf("Divide among %d: %d readers, and the reason is %q", readers, len(all), fewer.Reason)
	}
	return all
}

// TestDivideBehindPooler has other connections not come to the same place.
func TestDivideBehindPooler(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	snapshot := func(m message) ([]byte, error) {
		if body := m.body(); m.kind() == 'D' && strings.HasPrefix(body, "\x00\x01") && strings.HasSuffix(body, "-1") {
			m = newMessage('D', body[:len(body)-1]+"9")
		}
		return m, nil
	}
	db := openAgain(t, newProxy(t, database.Server, snapshot).connString(database.Name))
	rows := table(t, db, "t")
	expectIndivisible(t, rows, "connection pooler")
	if n, err := drain(rows); n != 5000 || err != io.EOF {
		t.Errorf("then one connection has %d rows and the error %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}

	role := database.NewRole(t, "reader", "")
	database.Exec(t, "GRANT SELECT ON t TO "+role)
	db = openAgain(t, database.ConnStringAs(role))
	rows = table(t, db, "t")
	database.Exec(t, "ALTER ROLE "+role+" SET search_path = pg_catalog")
	expectIndivisible(t, rows, "the same settings")
	if n, err := drain(rows); n != 5000 || err != io.EOF {
		t.Errorf("then one connection has %d rows and the error %v", n, err)
	}
}

// TestDivideWithFewConnections is given less than it asks for. The server keeps to such a limit only approximately
// (CREATE DATABASE in its manual): a session counts while it is still being refused.
func TestDivideWithFewConnections(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	limited := func(limit int) *read.DB {
		role := database.NewRole(t, fmt.Sprint("reader", limit), fmt.Sprint("CONNECTION LIMIT ", limit))
		database.Exec(t, "GRANT SELECT ON t TO "+role)
		return openAgain(t, database.ConnStringAs(role))
	}
	expectIndivisible(t, table(t, limited(1), "t"), "no second connection")
	for limit, most := range map[int]int{2: 2, 3: 3, 9: 5} {
		all := divideFewer(t, limited(limit), "t", 5, "too many connections for role")
		if len(all) < 2 || len(all) > most || limit > most && len(all) < most {
			t.Errorf("with a limit of %d connections there are %d readers", limit, len(all))
		}
		got, err := together(all, func() {})
		if err != nil {
			t.Error(err)
		}
		expectLines(t, "t", got, linesOf(t, database, "TABLE t"))
	}
}

// TestDivideRefusedTogether has the server refuse connections that were opened at the same time, and then one that is
// opened alone.
func TestDivideRefusedTogether(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT generate_series(1, 5000) AS id")
	for _, test := range []struct{ refusals, readers, opened int32 }{
		{3, 5, 8}, // the first, the helper that tries whether there is a snapshot, three in vain, and three again
		{4, 2, 6},
	} {
		var opened atomic.Int32
		edit := func(m message) ([]byte, error) {
			if m.kind() != 'R' { // what the server begins with
				return m, nil
			}
			if n := opened.Add(1); n > 2 && n <= 2+test.refusals {
				refusal := "SFATAL\x00VFATAL\x00C53300\x00Mtoo many connections for role\x00\x00"
				return newMessage('E', refusal), io.EOF
			}
			return m, nil
		}
		db := openAgain(t, newProxy(t, database.Server, edit).connString(database.Name))
		all := divideFewer(t, db, "t", 5, "too many connections for role")
		if int32(len(all)) != test.readers || opened.Load() != test.opened {
			t.Errorf("after %d refusals there are %d readers, from %d connections, want %d, %d",
				test.refusals, len(all), opened.Load(), test.readers, test.opened)
		}
		got, err := together(all, func() {})
		if err != nil {
			t.Error(err)
		}
		expectLines(t, "t", got, linesOf(t, database, "TABLE t"))
	}
}

// TestDivideRefusedByServer reads with one connection what the server gives, but not in ranges.
func TestDivideRefusedByServer(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, `
		CREATE TABLE t AS SELECT generate_series(1, 5000) AS id;
		CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
		CREATE TABLE elsewhere USING other AS TABLE t;
		CREATE TABLE parts (id int) PARTITION BY LIST (id);
		CREATE TABLE one PARTITION OF parts FOR VALUES IN (1) USING other;
		CREATE TABLE rest PARTITION OF parts DEFAULT; INSERT INTO parts TABLE t;
		CREATE TABLE columns AS TABLE t`)
	role := database.NewRole(t, "reader", "")
	// Rights on all columns are not rights on ctid.
	database.Exec(t, `GRANT SELECT ON t, elsewhere, parts TO `+role+`;
		GRANT SELECT (id) ON columns TO `+role)
	db := openAgain(t, database.ConnStringAs(role))
	for name, reason := range map[string]string{
		"elsewhere": "its access method is not heap",
		"parts":     "its access method is not heap",
		"columns":   "refuses to read it in ranges of pages (permission denied",
	} {
		rows := table(t, db, name)
		expectIndivisible(t, rows, reason)
		if n, err := drain(rows); n != 5000 || err != io.EOF {
			t.Errorf("then one connection has %d rows of %s and the error %v", n, name, err)
		}
	}
	got, err := together(divide(t, db, "t", 3), func() {})
	if err != nil {
		t.Error(err)
	}
	expectLines(t, "a table beside them", got, linesOf(t, database, "TABLE t"))
}

// TestDivideWithoutSnapshot has the server not export snapshots: to nobody but superusers, and when it cannot. The
// first connection must not lose its view by that.
func TestDivideWithoutSnapshot(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	server := testkit.NewPostgres(t, testkit.PostgresConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, `
		CREATE TABLE t AS SELECT generate_series(1, 5000) AS id; CREATE TABLE u AS TABLE t;
		CREATE ROLE reader LOGIN; GRANT SELECT ON t, u TO reader`)
	read := func(name string, db *read.DB, reason string) {
		t.Helper()
		rows := table(t, db, "t")
		expectIndivisible(t, rows, reason)
		database.Exec(t, "INSERT INTO u VALUES (0)")
		if n, err := drain(rows); n != 5000 || err != io.EOF {
			t.Errorf("%s: then one connection has %d rows and the error %v", name, n, err)
		}
		database.Exec(t, "DELETE FROM u WHERE id = 0")
		if n, err := drain(table(t, db, "u")); n != 5000 || err != io.EOF {
			t.Errorf("%s: then another table has %d rows and the error %v", name, n, err)
		}
	}

	database.Exec(t, "REVOKE EXECUTE ON FUNCTION pg_export_snapshot FROM PUBLIC")
	db := openAgain(t, strings.Replace(database.ConnString(), "user=postgres", "user=reader", 1))
	read("without the right", db, "does not share its snapshot (permission denied for function pg_export_snapshot)")

	db = openAgain(t, database.ConnString())
	snapshots := filepath.Join(database.Query(t, "SHOW data_directory")[0][0], "pg_snapshots")
	if err := os.Rename(snapshots, snapshots+".gone"); err != nil {
		t.Fatal(err)
	}
	read("without its directory", db, `does not share its snapshot (could not create file "pg_snapshots`)
	if err := os.Rename(snapshots+".gone", snapshots); err != nil {
		t.Fatal(err)
	}
	if all := divide(t, db, "t", 3); len(all) != 3 {
		t.Errorf("once it can, there are %d readers", len(all))
	}
}

// TestDivideFewLocks reads tables of many partitions on a server with room for few locks. All readers together take at
// most half of them.
func TestDivideFewLocks(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	server := testkit.NewPostgres(t, testkit.PostgresConfig{
		Settings: []string{"max_locks_per_transaction = 10", "max_connections = 20"}, // 200 locks
	})
	for _, test := range []struct {
		partitions, readers int
		index               string
	}{
		{10, 8, ""},
		{30, 3, ""},
		{30, 1, "PRIMARY KEY"},
		{60, 1, ""},
	} {
		name := fmt.Sprint(test.partitions, " partitions ", test.index)
		database := server.NewDatabase(t)
		database.Exec(t, "CREATE TABLE t (id int "+test.index+") PARTITION BY HASH (id)")
		for from := 0; from < test.partitions; from += 10 {
			database.Exec(t, fmt.Sprintf(`DO $do$ BEGIN FOR i IN %d .. %d LOOP
				EXECUTE format('CREATE TABLE t%%s PARTITION OF t FOR VALUES WITH (MODULUS %d, REMAINDER %%1$s)', i);
				END LOOP; END $do$`, from, from+9, test.partitions))
		}
		database.Exec(t, "INSERT INTO t SELECT generate_series(1, 40000)")
		db := openAgain(t, database.ConnString())
		var all []source.Rows
		if test.readers == 1 {
			all = []source.Rows{table(t, db, "t")}
			expectIndivisible(t, all[0], "max_locks_per_transaction")
		} else {
			all = divideFewer(t, db, "t", 8, "max_locks_per_transaction")
		}
		if len(all) != test.readers {
			t.Errorf("%s have %d readers, want %d", name, len(all), test.readers)
		}
		got, err := together(all, func() {})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		expectLines(t, name, got, linesOf(t, database, "TABLE t"))
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDivideManySmall opens no connections that would have nothing to do: a range takes its pages of all partitions.
func TestDivideManySmall(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	_, database := openNew(t, "CREATE TABLE t (id int) PARTITION BY HASH (id)")
	database.Exec(t, `DO $do$ BEGIN FOR i IN 0 .. 49 LOOP
		EXECUTE format('CREATE TABLE t%s PARTITION OF t FOR VALUES WITH (MODULUS 50, REMAINDER %1$s)', i);
		END LOOP; END $do$`)
	for _, test := range []struct{ rows, pages int }{{200, 1}, {10_000, 2}} {
		database.Exec(t, fmt.Sprintf("TRUNCATE t; INSERT INTO t SELECT generate_series(1, %d)", test.rows))
		db := openAgain(t, database.ConnString())
		all := divide(t, db, "t", 4)
		if len(all) != test.pages {
			t.Errorf("partitions of at most %d pages have %d readers", test.pages, len(all))
		}
		got, err := together(all, func() {})
		if err != nil {
			t.Error(err)
		}
		expectLines(t, "t", got, linesOf(t, database, "TABLE t"))
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
