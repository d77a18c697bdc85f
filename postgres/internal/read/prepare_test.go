package read_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

func prepare(tb testing.TB, db *read.DB, tables ...string) {
	tb.Helper()
	if err := db.Prepare(context.Background(), tables); err != nil {
		tb.Fatal(err)
	}
}

// manyTables makes tables of one row, with everything that a definition asks for.
const manyTables = `
	DO $do$ BEGIN FOR i IN 1 .. 40 LOOP EXECUTE format(
		'CREATE TABLE t%s (id serial PRIMARY KEY, at timestamptz DEFAULT now(), note text CHECK (note > ''''));
		CREATE INDEX ON t%1$s (note); INSERT INTO t%1$s VALUES (1, ''2024-02-29 12:00Z'', %1$L)', i);
	END LOOP; END $do$`

// TestPreparedRoundTrips counts how often the server is waited for.
func TestPreparedRoundTrips(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	database.Exec(t, manyTables)
	var trips atomic.Int64
	p := newProxy(t, server, func(m message) ([]byte, error) {
		if m.kind() == 'Z' { // ReadyForQuery
			trips.Add(1)
		}
		return m, nil
	})
	for _, tables := range []int{20, 40} {
		db := openAgain(t, p.connString(database.Name))
		var names []string
		for i := range tables {
			names = append(names, fmt.Sprint("public.t", i+1))
		}
		trips.Store(0)
		prepare(t, db, names...)
		for _, name := range names {
			rows := table(t, db, name)
			size(t, rows)
			if _, err := rows.(source.Divider).Divide(4); err != nil {
				t.Error(err)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
			if d, err := db.Define(t.Context(), name); err != nil || *d.Sequences[0].Next != 1 {
				t.Errorf("%+v, error %v", d, err)
			}
		}
		if outside, err := db.OutsideSnapshot(t.Context(), names); err != nil || len(outside) > 0 {
			t.Errorf("outside: %q, error %v", outside, err)
		}
		if n := trips.Swap(0); n > 9 {
			t.Errorf("%d tables are looked up in %d round trips", tables, n)
		}
		for i, name := range names {
			expectText(t, table(t, db, name), fmt.Sprintf("1,2024-02-29 12:00:00+00,%d\n", i+1))
		}
		if n := trips.Swap(0); n != int64(tables) {
			t.Errorf("%d tables are read in %d round trips", tables, n)
		}
	}
}

// expectText reads rows as the server prints them, and closes them.
func expectText(tb testing.TB, rows source.Rows, want string) {
	tb.Helper()
	var text bytes.Buffer
	_, err := rows.(source.CSVWriter).WriteCSV(&text)
	if closeErr := rows.Close(); err != nil || closeErr != nil || text.String() != want {
		tb.Errorf("%q, errors %v, %v; want %q", &text, err, closeErr, want)
	}
}

// TestPreparedMeanwhile changes tables before they are looked up, and after that if they are not locked. Whether they
// are printed by the server or not, no row of another state is returned.
func TestPreparedMeanwhile(t *testing.T) {
	const tables = `
		CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS id; CREATE TABLE s.other AS SELECT 2 AS id;
		CREATE TABLE parent (id int); CREATE TABLE s.child () INHERITS (parent); CREATE DOMAIN d AS int;
		CREATE TABLE s.d (id d, n int)`
	for _, change := range []string{
		"TRUNCATE s.t",
		"ALTER TABLE s.t ALTER id TYPE bigint",
		"ALTER TABLE s.t RENAME TO old; CREATE TABLE s.t AS TABLE s.old",
		"ALTER TABLE s.t RENAME TO old; CREATE VIEW s.t AS TABLE s.old",
		"DROP TABLE s.t; CREATE TABLE s.t AS SELECT 3 AS id",
		"DROP TABLE s.t",
		"ALTER TABLE s.t RENAME id TO no",
		"ALTER SCHEMA s RENAME TO old; CREATE SCHEMA s; CREATE TABLE s.t AS TABLE old.t",
	} {
		for _, moment := range []string{"before", "after", "locked"} {
			if moment == "locked" && !strings.HasPrefix(change, "ALTER SCHEMA") {
				continue // it waits for the lock
			}
			db, database := openNew(t, tables)
			if moment == "after" {
				db.SpendLocks()
			}
			if moment != "before" {
				prepare(t, db, "s.t", "s.other")
			}
			database.Exec(t, change)
			prepare(t, db, "s.t")
			for _, read := range []func(source.Rows) error{
				func(rows source.Rows) error { _, err := drain(rows); return err },
				func(rows source.Rows) error { _, err := rows.(source.CSVWriter).WriteCSV(io.Discard); return err },
			} {
				rows, err := db.Table(context.Background(), "s.t")
				if err == nil {
					err = read(rows)
					if closeErr := rows.Close(); closeErr != nil {
						t.Error(closeErr)
					}
				}
				if err == nil || err == io.EOF {
					t.Errorf("%s %s: read without an error", change, moment)
				}
			}
			if !strings.HasPrefix(change, "ALTER SCHEMA") {
				expectText(t, table(t, db, "s.other"), "2\n")
			}
		}
	}
}

// TestPreparedSequences has a schema set sequences that were read with their tables, and others, to the same positions.
func TestPreparedSequences(t *testing.T) {
	db, database := openNew(t, manyTables+`;
		INSERT INTO t1 VALUES (2, now(), 'more'); SELECT nextval('t1_id_seq');
		SELECT setval('t2_id_seq', 70); CREATE SEQUENCE alone START 9`)
	other := openAgain(t, database.ConnString())
	prepare(t, db, "t1", "t2", "t3")
	got, err := db.Schema(t.Context(), source.SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := other.Schema(t.Context(), source.SchemaConfig{})
	if err != nil || !slices.EqualFunc(got.Statements, want.Statements, func(a, b source.Statement) bool {
		return a.SQL == b.SQL && a.After == b.After
	}) {
		t.Errorf("%+v, without Prepare %+v, error %v", got, want, err)
	}
}

// TestPreparedBeside looks up tables together with such that cannot be read.
func TestPreparedBeside(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	role := database.NewRole(t, "prepared", "")
	database.Exec(t, `
		CREATE TABLE good AS SELECT 1 AS id; CREATE TABLE denied AS SELECT 1 AS id;
		CREATE TABLE guarded AS SELECT 1 AS id; ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
		CREATE TABLE partly AS SELECT 1 AS id, 2 AS no;
		GRANT SELECT ON good, guarded TO `+role+`; GRANT SELECT (id) ON partly TO `+role)
	db := openAgain(t, database.ConnStringAs(role))
	prepare(t, db, "denied", "good", "guarded", "partly", "gone")
	for _, name := range []string{"denied", "guarded", "partly"} {
		rows, err := db.Table(context.Background(), name)
		if err == nil {
			_, err = drain(rows)
		}
		if err == nil || err == io.EOF {
			t.Errorf("%s was read", name)
		}
	}
	expectText(t, table(t, db, "good"), "1\n")
}

// TestPreparedBehindChange has somebody wait to change a table that the first session keeps locked. A session that has
// joined it does not wait for ever, and goes on with another table.
func TestPreparedBehindChange(t *testing.T) {
	read.ShortenLockTimeouts(t)
	db, database := openNew(t, "CREATE TABLE t AS SELECT 1 AS id; CREATE TABLE other AS SELECT 2 AS id")
	prepare(t, db, "t", "other")
	snapshot, err := db.Share(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	another, err := db.Join(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	joined := another.(*read.DB)
	changed := behind(t, database, "t", "DROP TABLE t")
	rows := table(t, joined, "t")
	if _, err := rows.(source.CSVWriter).WriteCSV(io.Discard); !errors.Is(source.Redacted(err), source.ErrLocked) {
		t.Errorf("behind a change: %v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	expectText(t, table(t, joined, "other"), "2\n")
	expectText(t, table(t, db, "t"), "1\n")
	for _, src := range []source.Source{joined, db} {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	<-changed
}

// TestPreparedCount has the server confirm another number of rows than it has sent.
func TestPreparedCount(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t AS SELECT generate_series(1, 5) AS id")
	p := newProxy(t, server, func(m message) ([]byte, error) {
		if m.kind() == 'C' && m.body() == "COPY 5\x00" {
			return newMessage('C', "COPY 4\x00"), nil
		}
		return m, nil
	})
	db := openAgain(t, p.connString(database.Name))
	prepare(t, db, "t")
	_, err := table(t, db, "t").(source.CSVWriter).WriteCSV(io.Discard)
	var count *source.CountError
	if !errors.As(err, &count) || *count != (source.CountError{Received: 5, Confirmed: 4}) {
		t.Errorf("error %v", err)
	}
}

// TestPreparedStops ends the reading of a table by its context, by its writer, and by the loss of the connection.
func TestPreparedStops(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	// The rows of t do not fit into the buffers on their way, so that the context ends before they are read.
	database.Exec(t, `CREATE TABLE t AS SELECT repeat('x', 100) AS line FROM generate_series(1, 50000);
CREATE TABLE other AS SELECT 2 AS id`)
	var cut atomic.Bool
	p := newProxy(t, server, func(m message) ([]byte, error) {
		if cut.Load() && m.kind() == 'd' {
			return nil, io.EOF
		}
		return m, nil
	})
	db := openAgain(t, p.connString(database.Name))
	prepare(t, db, "t", "other")
	full := errors.New("full")
	if _, err := table(t, db, "t").(source.CSVWriter).WriteCSV(failing{full}); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := db.Table(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.(source.CSVWriter).WriteCSV(calling(cancel)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
	expectText(t, table(t, db, "other"), "2\n")
	cut.Store(true)
	if _, err := table(t, db, "t").(source.CSVWriter).WriteCSV(io.Discard); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("a connection that is lost: %v", err)
	}
}

// failing is a writer that fails.
type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// calling is a writer that calls itself each time.
type calling func()

func (c calling) Write(p []byte) (int, error) {
	c()
	return len(p), nil
}
