package read_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// TestOneView reads tables that others change meanwhile.
func TestOneView(t *testing.T) {
	db, database := openNew(t, `
		CREATE TABLE a AS SELECT 1 AS id; CREATE TABLE b AS SELECT 1 AS id; CREATE TABLE gone AS SELECT 1 AS id`)
	database.Exec(t, "INSERT INTO a VALUES (2)")
	expectCSV(t, func() source.Rows { return table(t, db, "a") }, "id\n1\n")
	database.Exec(t, "UPDATE b SET id = 2; DROP TABLE gone; CREATE TABLE late ()")
	expectCSV(t, func() source.Rows { return table(t, db, "b") }, "id\n1\n")

	// Failures do not move the view.
	for _, name := range []string{"gone", "late", `"`} {
		if rows, err := db.Table(context.Background(), name); err == nil {
			_, err = drain(rows)
			t.Errorf("table %s, which is not in the view: %v", name, err)
		}
	}
	if _, err := db.Query(context.Background(), "SELECT nothing"); err == nil {
		t.Error("a query that is wrong did not fail")
	}
	expectCSV(t, func() source.Rows { return table(t, db, "b") }, "id\n1\n")
	expectCSV(t, func() source.Rows { return query(t, db, "SELECT id FROM a") }, "id\n1\n")
}

// TestTruncatedMeanwhile must not take a table for empty whose rows were there when the transaction began.
func TestTruncatedMeanwhile(t *testing.T) {
	const tables = `
		CREATE TABLE t (id int) PARTITION BY RANGE (id);
		CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
		CREATE TABLE low_1 PARTITION OF low FOR VALUES FROM (0) TO (10);
		CREATE TABLE high PARTITION OF t FOR VALUES FROM (10) TO (20);
		INSERT INTO t SELECT generate_series(0, 19); CREATE TABLE plain AS TABLE t;
		CREATE TABLE rewritten AS TABLE t; CREATE TABLE spare AS SELECT 25 AS id;
		CREATE TABLE parent (id int); CREATE TABLE child () INHERITS (parent); CREATE TABLE other () INHERITS (parent);
		INSERT INTO child VALUES (1); INSERT INTO other VALUES (2);
		CREATE VIEW seen AS SELECT id FROM plain; CREATE VIEW over AS SELECT * FROM seen UNION ALL TABLE t`
	for _, test := range []struct{ change, table string }{
		{"TRUNCATE plain", "plain"},
		{"ALTER TABLE rewritten ALTER id TYPE bigint", "rewritten"},
		{"TRUNCATE low_1", "t"},
		{"TRUNCATE low_1", "low"},
		{"ALTER TABLE plain RENAME TO old; CREATE TABLE plain AS TABLE old", "plain"},
		{"ALTER TABLE plain RENAME TO old; CREATE VIEW plain AS TABLE old", "plain"},
		{"ALTER TABLE t DETACH PARTITION low", "t"},
		{"ALTER TABLE low DETACH PARTITION low_1", "t"},
		{"DROP TABLE low", "t"},
		{"ALTER TABLE child NO INHERIT parent", "parent"},
		{"ALTER TABLE spare INHERIT parent", "parent"},
		{"TRUNCATE plain", "seen"},
		{"TRUNCATE plain", "over"},
		{"TRUNCATE low_1", "over"},
		{"ALTER TABLE spare RENAME TO low_2; ALTER TABLE t ATTACH PARTITION low_2 FOR VALUES FROM (20) TO (30)", "t"},
	} {
		db, database := openNew(t, tables)
		database.Exec(t, test.change)
		rows, err := db.Table(context.Background(), test.table)
		if err == nil {
			var n int
			n, err = drain(rows)
			t.Errorf("%s: then %s has %d rows and the error %v", test.change, test.table, n, err)
		} else if !strings.Contains(err.Error(), "after the transaction began") {
			t.Errorf("%s: then %s gives the error %v", test.change, test.table, err)
		}
		if n, err := drain(table(t, db, "high")); n != 10 || err != io.EOF {
			t.Errorf("%s: then a table beside it has %d rows and the error %v", test.change, n, err)
		}
		if _, err := drain(table(t, db, "pg_class")); err != io.EOF {
			t.Error("a system catalog:", err)
		}
	}
}

// TestNewChild reads a table without children that has got one, whose older rows are not its own.
func TestNewChild(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t AS SELECT 1 AS id; CREATE TABLE other AS SELECT 2 AS id")
	database.Exec(t, "ALTER TABLE other INHERIT t")
	expectCSV(t, func() source.Rows { return table(t, db, "t") }, "id\n1\n")
}

// TestNewPartition reads a table that has been given an empty partition, which takes no row away.
func TestNewPartition(t *testing.T) {
	db, database := openNew(t, `
		CREATE TABLE t (id int) PARTITION BY LIST (id); CREATE TABLE one PARTITION OF t FOR VALUES IN (1);
		INSERT INTO t VALUES (1)`)
	database.Exec(t, "CREATE TABLE two PARTITION OF t FOR VALUES IN (2); INSERT INTO t VALUES (2)")
	expectCSV(t, func() source.Rows { return table(t, db, "t") }, "id\n1\n")
}

// TestChangedBeforeTheFirstRow changes what a table holds after Table has looked at it. Either the change has to
// wait, or the rows must end in an error.
func TestChangedBeforeTheFirstRow(t *testing.T) {
	const tables = `
		CREATE TABLE t (id int) PARTITION BY LIST (id);
		CREATE TABLE one PARTITION OF t FOR VALUES IN (1); CREATE TABLE two PARTITION OF t FOR VALUES IN (2);
		CREATE TABLE more PARTITION OF t DEFAULT PARTITION BY LIST (id);
		CREATE TABLE three PARTITION OF more FOR VALUES IN (3);
		INSERT INTO t VALUES (1), (2), (3);
		CREATE TABLE parent AS SELECT 1 AS id; CREATE TABLE child () INHERITS (parent); INSERT INTO child VALUES (2);
		CREATE SCHEMA here; CREATE TABLE here.t AS SELECT 1 AS id`
	for _, test := range []struct {
		change, table string
		rows          int64 // if the change has to wait, or 0
	}{
		{"TRUNCATE two", "t", 3},
		{"TRUNCATE one, three", "t", 3},
		{"ALTER TABLE more DETACH PARTITION three", "t", 3},
		{"TRUNCATE child", "parent", 2},
		{
			"ALTER SCHEMA here RENAME TO there; CREATE SCHEMA here; CREATE TABLE here.t AS TABLE there.t",
			"here.t", 0,
		},
	} {
		for _, way := range ways {
			db, database := openNew(t, tables)
			rows := table(t, db, test.table)
			database.Exec(t, `DO $do$ BEGIN SET LOCAL lock_timeout = '1ms'; `+test.change+`;
				EXCEPTION WHEN lock_not_available THEN NULL; END $do$`)
			n, err := way.read(rows, 0, func() {})
			if test.rows > 0 {
				if n != test.rows || err != io.EOF {
					t.Errorf("%s: then %s by %s has %d rows and the error %v",
						test.change, test.table, way.name, n, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), "after the transaction began") {
				t.Errorf("%s: then %s by %s has %d rows and the error %v", test.change, test.table, way.name, n, err)
			}
			var b source.Batch
			if again := rows.Next(&b); again != err || b.Rows() != 0 {
				t.Errorf("%s: then Next by %s gives %d rows and the error %v", test.change, way.name, b.Rows(), again)
			}
			if n, err := drain(query(t, db, "SELECT 1")); n != 1 || err != io.EOF {
				t.Errorf("%s: then a query has %d rows and the error %v", test.change, n, err)
			}
		}
	}
}

// TestLocksStay fails in other ways after tables have been looked at, which must stay as they are.
func TestLocksStay(t *testing.T) {
	db, database := openNew(t, `
		CREATE TABLE t AS SELECT 1 AS id; CREATE TABLE parts (id int) PARTITION BY LIST (id);
		CREATE TABLE one PARTITION OF parts FOR VALUES IN (1); INSERT INTO parts VALUES (1)`)
	for _, name := range []string{"t", "parts"} {
		if err := table(t, db, name).Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := db.Query(context.Background(), "SELECT nothing"); err == nil {
		t.Error("a query that is wrong did not fail")
	}
	if n, err := drain(query(t, db, "SELECT 1")); n != 1 || err != io.EOF {
		t.Errorf("then a query has %d rows and the error %v", n, err)
	}
	for _, name := range []string{"t", "parts", "one"} {
		database.Exec(t, `DO $do$ BEGIN SET LOCAL lock_timeout = '1ms'; DROP TABLE `+name+`;
			RAISE 'dropped'; EXCEPTION WHEN lock_not_available THEN NULL; END $do$`)
	}
}

// TestLockedByOthers waits for a partition that someone else has locked, until the context ends.
func TestLockedByOthers(t *testing.T) {
	db, database := openNew(t, `
		CREATE TABLE t (id int) PARTITION BY LIST (id); CREATE TABLE one PARTITION OF t FOR VALUES IN (1);
		INSERT INTO t VALUES (1)`)
	other, err := pgconn.Connect(context.Background(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	err = other.Exec(context.Background(), "BEGIN; LOCK TABLE one IN ACCESS EXCLUSIVE MODE").Close()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error)
	go func() {
		_, err := db.Table(ctx, "t")
		result <- err
	}()
	const waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'one'::regclass"
	for len(database.Query(t, waiting)) == 0 {
		continue
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table of what is locked: %v, want context.Canceled", err)
	}
	if err := other.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	expectCSV(t, func() source.Rows { return table(t, db, "t") }, "id\n1\n")
}
