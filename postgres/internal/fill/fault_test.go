package fill_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/testkit"
	"culvert/postgres/internal/fill"
	"culvert/sink"
	"culvert/source"
)

// openNew opens a new database in which the statements have been run, and closes it at the end of the test.
func openNew(tb testing.TB, sql string) (*fill.DB, *testkit.PostgresDatabase) {
	tb.Helper()
	database := testkit.Postgres(tb).NewDatabase(tb)
	database.Exec(tb, sql)
	return openAgain(tb, database.ConnString()), database
}

func openAgain(tb testing.TB, connString string) *fill.DB {
	tb.Helper()
	db := open(tb, connString)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func beginTable(tb testing.TB, db *fill.DB, name string, f sink.Filling) sink.Table {
	tb.Helper()
	table, err := db.Table(context.Background(), name, f)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := table.Discard(); err != nil {
			tb.Error(err)
		}
	})
	return table
}

func loadText(loader sink.Loader, text string) error {
	return loader.(sink.TextLoader).LoadText(strings.NewReader(text))
}

// loadRows has each loader of a table of numbers load one row, as a part of its own.
func loadRows(tb testing.TB, table sink.Table) {
	tb.Helper()
	for i, loader := range table.Loaders() {
		if err := loadText(loader, fmt.Sprintln(i)); err != nil {
			tb.Fatal(err)
		}
		endPart(tb, loader, sink.Part{Name: fmt.Sprint(i), Rows: 1})
	}
}

// endPart ends the only part of a loader, and the loader.
func endPart(tb testing.TB, loader sink.Loader, part sink.Part) {
	tb.Helper()
	err := loader.EndPart(part)
	if err == nil {
		_, err = loader.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// expectCount compares the number of rows of a table, as another session sees it.
func expectCount(tb testing.TB, database *testkit.PostgresDatabase, table string, want string) {
	tb.Helper()
	if got := database.Query(tb, "SELECT count(*) FROM "+table)[0][0]; got != want {
		tb.Errorf("table %s has %s rows, want %s", table, got, want)
	}
}

const refusingSQL = `
CREATE TABLE parent (id bigint PRIMARY KEY);
CREATE TABLE t (id bigint PRIMARY KEY, small smallint,
	"of, parent" bigint REFERENCES parent DEFERRABLE INITIALLY DEFERRED,
	note varchar(5) NOT NULL CONSTRAINT polite CHECK (note <> 'rude'));
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF new.note = 'raise' THEN RAISE 'no % here', new.note; END IF;
	IF new.note = 'skip' THEN RETURN NULL; END IF;
	RETURN new; END $$;
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()`

// TestRefusedBinary names the row, the column and, where the server names it, the value of binary rows.
func TestRefusedBinary(t *testing.T) {
	db, _ := openNew(t, `CREATE DOMAIN positive AS integer CHECK (value > 0); CREATE TYPE mood AS ENUM ('sad');
		CREATE TABLE t (id positive PRIMARY KEY, mood mood, data json, note text NOT NULL CHECK (note <> 'rude'))`)
	for _, test := range []struct {
		row   string
		want  sink.RowError // Err is not compared
		shown string        // in the error
	}{
		{"0,sad,{},a\n", sink.RowError{Code: "23514", Column: "id", Constraint: "positive_check"}, "positive"},
		{"2,glad,{},a\n", sink.RowError{Code: "22P02", Column: "mood"}, "glad"},
		{"2,sad,odd,a\n", sink.RowError{Code: "22P02", Column: "data"}, "odd"},
		{"2,sad,{},\n", sink.RowError{Code: "23502", Column: "note"}, "sad"},
		{"2,sad,{},rude\n", sink.RowError{Code: "23514", Constraint: "t_note_check"}, "rude"},
		{"1,sad,{},a\n", sink.RowError{Code: "23505", Constraint: "t_pkey"}, "1"},
		{"2,sad,{},\xff\n", sink.RowError{Code: "22021", Column: "note"}, "0xff"},
	} {
		for _, redact := range []bool{false, true} {
			filled := beginTable(t, db, "t", sink.Filling{Redact: redact}).(sink.BinaryTable)
			rows, ok := filled.AppendTextAsBinary(nil, []byte("1,sad,{},\"two\nlines\"\n"+test.row))
			if !ok {
				t.Fatalf("%q has no binary form", test.row)
			}
			err := filled.Loaders()[0].(sink.BinaryLoader).LoadBinary(bytes.NewReader(rows))
			got, is := errors.AsType[*sink.RowError](err)
			if !is || got.Row != 2 || got.Line != 0 || got.Code != test.want.Code || got.Column != test.want.Column ||
				got.Constraint != test.want.Constraint {
				t.Errorf("%q: %#v", test.row, err)
			}
			if shown := strings.Contains(fmt.Sprint(err), test.shown); !redact && !shown {
				t.Errorf("%q: %v", test.row, err)
			}
			for _, secret := range []string{"glad", "odd", "rude", "0xff"} {
				if redact && strings.Contains(fmt.Sprintf("%v %#v", err, got), secret) {
					t.Errorf("%q: the error has a value: %v", test.row, err)
				}
			}
			if err := filled.Discard(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestRefusedRows(t *testing.T) {
	db, database := openNew(t, refusingSQL)
	for _, test := range []struct {
		text string
		want sink.RowError // Value is a part of the value, Err is not compared
	}{
		{"1,2,,ok\n2,x\"\",,ok\n", sink.RowError{Line: 2, Code: "22P02", Column: "small", Value: "x"}},
		{"1,2,,ok\n1,2,,ok\n", sink.RowError{Line: 2, Code: "23505", Constraint: "t_pkey"}},
		{
			"1,2,,ok\n2,2,,\"o\nk\"\n3,2,,toolong\n",
			sink.RowError{Line: 4, Code: "22001", Column: "note", Value: "toolong"},
		},
		{"1,2,,\n", sink.RowError{Line: 1, Code: "23502", Column: "note"}},
		{"1,2,,rude\n", sink.RowError{Line: 1, Code: "23514", Constraint: "polite"}},
		{"1,2,,raise\n", sink.RowError{Line: 1, Code: "P0001"}},
		{"1,2,,ok,more\n", sink.RowError{Line: 1, Code: "22P04"}},
		{"1,2\n", sink.RowError{Line: 1, Code: "22P04"}},
		{"1,2,9,ok\n", sink.RowError{Code: "23503", Constraint: "t_of, parent_fkey"}},
		{"1,2,,a\xffb\n", sink.RowError{Line: 1, Code: "22021"}},
		{"1,2,,\"open\n", sink.RowError{Line: 1, Code: "22P04"}},
	} {
		for _, redact := range []bool{false, true} {
			table := beginTable(t, db, "t", sink.Filling{Redact: redact})
			err := loadText(table.Loaders()[0], test.text)
			if err == nil {
				if _, err = table.Loaders()[0].Close(); err == nil {
					err = table.Commit()
				}
			}
			got, ok := errors.AsType[*sink.RowError](err)
			if !ok {
				t.Errorf("%q: %v", test.text, err)
			} else if got.Line != test.want.Line || got.Code != test.want.Code || got.Column != test.want.Column ||
				got.Constraint != test.want.Constraint || got.Table != `"public"."t"` ||
				!redact && !strings.Contains(got.Value, test.want.Value) {
				t.Errorf("%q: %#v", test.text, got)
			}
			for _, secret := range []string{"toolong", "rude", "raise here", "more", "x\"", "(9)", "open"} {
				if redact && strings.Contains(fmt.Sprintf("%v %#v", err, got), secret) {
					t.Errorf("%q: the error has a value: %v", test.text, err)
				}
			}
			if _, shown := errors.AsType[*pgconn.PgError](err); shown == redact {
				t.Errorf("%q, redacted %t: the server's own error is there: %t", test.text, redact, shown)
			}
			if err := table.Discard(); err != nil {
				t.Error(err)
			}
		}
	}
	expectCount(t, database, "t", "0")
}

// TestDeferredPart has a part violate a constraint that is checked when it is committed.
func TestDeferredPart(t *testing.T) {
	db, database := openNew(t, refusingSQL)
	ledger := &sink.Ledger{Table: "ledger", Load: "x"}
	loader := beginTable(t, db, "t", sink.Filling{Ledger: ledger, EachPart: true}).Loaders()[0]
	if err := loadText(loader, "1,2,9,ok\n"); err != nil {
		t.Fatal(err)
	}
	err := loader.EndPart(sink.Part{Name: "p", Rows: 1})
	row, is := errors.AsType[*sink.RowError](err)
	if !is || row.Code != "23503" || row.Constraint != "t_of, parent_fkey" {
		t.Errorf("a part: %v", err)
	}
	expectCount(t, database, "t", "0")
	expectCount(t, database, "ledger", "0")
}

// TestSkippedRows has a trigger leave rows out, which the caller has to notice.
func TestSkippedRows(t *testing.T) {
	db, database := openNew(t, refusingSQL)
	table := beginTable(t, db, "t", sink.Filling{})
	var b source.Batch
	b.Reset(4)
	for i, note := range []string{"ok", "skip"} {
		b.AppendInt(int64(i))
		b.AppendNull()
		b.AppendNull()
		b.Append(source.Text, []byte(note))
		b.EndRow()
	}
	loader := table.Loaders()[0]
	if err := loader.Load(&b); err != nil {
		t.Fatal(err)
	}
	_, err := loader.Flush()
	if counted, ok := errors.AsType[*sink.CountError](err); !ok || counted.Sent != 2 || counted.Counted != 1 {
		t.Errorf("rows that a trigger skips: %v", err)
	}
	if err := table.Discard(); err != nil {
		t.Error(err)
	}
	table = beginTable(t, db, "t", sink.Filling{})
	if err := loadText(table.Loaders()[0], "1,2,,ok\n2,2,,skip\n"); err != nil {
		t.Fatal(err)
	}
	if rows, err := table.Loaders()[0].Flush(); rows != 1 || err != nil {
		t.Errorf("the server has counted %d rows of text, %v", rows, err)
	}
	expectCount(t, database, "t", "0")
}

func TestKinds(t *testing.T) {
	db, database := openNew(t, `
CREATE TABLE base (id bigint, twice bigint GENERATED ALWAYS AS (id * 2) STORED, n bigint GENERATED ALWAYS AS IDENTITY);
CREATE VIEW v AS SELECT 1 AS id; CREATE TABLE bare ();
CREATE TABLE parted (id bigint, n bigint) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 PARTITION OF parted DEFAULT;
CREATE SCHEMA s; CREATE TABLE s."T x" (id bigint)`)
	if _, err := db.Table(context.Background(), "v", sink.Filling{}); err == nil {
		t.Error("a view can be filled")
	}
	if _, err := db.Table(context.Background(), "base", sink.Filling{Columns: []string{"twice"}}); err == nil {
		t.Error("a generated column can be filled")
	}
	for name, text := range map[string]string{
		"base": "1,7\n2,9\n", "bare": "\n\n", "parted": "5,1\n50,2\n", `s."T x"`: "1\n2\n",
	} {
		for _, existing := range []sink.Existing{sink.Refuse, sink.Truncate, sink.Append} {
			wanted := 1
			if existing == sink.Refuse {
				wanted = 2
			}
			table := beginTable(t, db, name, sink.Filling{Existing: existing, Loaders: wanted})
			for _, loader := range table.Loaders() {
				if err := loadText(loader, text); err != nil {
					t.Fatal(name, err)
				}
				if rows, _, err := loader.Sum(); rows != 2 || err != nil {
					t.Errorf("%s: %d rows are read back, %v", name, rows, err)
				}
				if _, err := loader.Close(); err != nil {
					t.Fatal(name, err)
				}
			}
			if err := table.Commit(); err != nil {
				t.Fatal(name, err)
			}
		}
		expectCount(t, database, name, "4") // truncated, and appended to
		if err := db.Analyze(context.Background(), name, sink.Filling{}); err != nil {
			t.Error(err)
		}
	}
	if got := database.Query(t, "SELECT string_agg(n::text, ' ' ORDER BY n) FROM base")[0][0]; got != "7 7 9 9" {
		t.Errorf("the identity column has %s", got)
	}
}

// session is another session, with a transaction of its own.
func session(t *testing.T, database *testkit.PostgresDatabase, sql string) *pgconn.PgConn {
	t.Helper()
	conn, err := pgconn.Connect(context.Background(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if err := conn.Exec(context.Background(), sql).Close(); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestLockedByOthers(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (id bigint)")
	other := session(t, database, "BEGIN; INSERT INTO t VALUES (1)")
	for _, f := range []sink.Filling{{}, {Loaders: 2}, {Existing: sink.Truncate}} {
		f.LockTimeout = 50 * time.Millisecond
		if _, err := db.Table(context.Background(), "t", f); !errors.Is(err, sink.ErrLocked) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if err := other.Exec(context.Background(), "ROLLBACK").Close(); err != nil {
		t.Fatal(err)
	}
	beginTable(t, db, "t", sink.Filling{Loaders: 2})
}

// TestGuard has another session write while several loaders fill a table: it has to wait, and readers do not.
func TestGuard(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (id bigint)")
	table := beginTable(t, db, "t", sink.Filling{Loaders: 2})
	expectCount(t, database, "t", "0")
	written := make(chan error, 1)
	conn := session(t, database, "SELECT 1")
	go func() { written <- conn.Exec(context.Background(), "INSERT INTO t VALUES (1)").Close() }()
	testkit.WaitFor(t, "the other session to wait", func() bool {
		rows := database.Query(t, fmt.Sprintf("SELECT cardinality(pg_blocking_pids(%d)) > 0", conn.PID()))
		return rows[0][0] == "t"
	})
	for i, loader := range table.Loaders() {
		if err := loadText(loader, fmt.Sprintf("%d\n", i+2)); err != nil {
			t.Fatal(err)
		}
		if _, err := loader.Close(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-written:
		t.Fatal("the other session has written:", err)
	default:
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error("the other session:", err)
	}
	expectCount(t, database, "t", "3")
}

// TestEqualKeys has two loaders add the same key: one waits for the other, until the lock timeout.
func TestEqualKeys(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (id bigint PRIMARY KEY)")
	table := beginTable(t, db, "t", sink.Filling{Loaders: 2, LockTimeout: 100 * time.Millisecond})
	loaders := table.Loaders()
	if err := loadText(loaders[0], "1\n"); err != nil {
		t.Fatal(err)
	}
	if err := loadText(loaders[1], "2\n1\n"); !errors.Is(err, sink.ErrLocked) {
		t.Errorf("equal keys: %v", err)
	}
	if err := table.Discard(); err != nil {
		t.Error(err)
	}
	expectCount(t, database, "t", "0")
}

// TestKilled ends the sessions of loaders.
func TestKilled(t *testing.T) {
	for _, f := range []sink.Filling{{}, {Loaders: 2}} {
		_, database := openNew(t, "CREATE TABLE t (id bigint)")
		db := open(t, database.ConnString()+" application_name=victim")
		table := beginTable(t, db, "t", f)
		for _, loader := range table.Loaders() {
			if err := loadText(loader, "1\n"); err != nil {
				t.Fatal(err)
			}
		}
		database.EndSessions(t, "application_name = 'victim'")
		err := loadText(table.Loaders()[0], "2\n")
		if !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%+v: %v", f, err)
		}
		if err := table.Discard(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		expectCount(t, database, "t", "0")
	}
}

func TestPlanSteps(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t (id bigint PRIMARY KEY, a text)")
	plan, err := db.Plan(context.Background(), "t", sink.Filling{Existing: sink.Truncate, Loaders: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`LOCK TABLE "public"."t" IN ACCESS EXCLUSIVE MODE`, `TRUNCATE TABLE ONLY "public"."t"`,
		`COPY "public"."t" ("id", "a") FROM STDIN (FORMAT binary, FREEZE)`, "COMMIT",
	}
	if !slices.Equal(plan.Steps, want) || plan.Loaders != 1 || plan.Alone == "" || plan.Object == "" {
		t.Errorf("the plan is %+v", plan)
	}
}
