package read_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// TestSnapshot reads two tables of which others change one in between.
func TestSnapshot(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE a (i int); CREATE TABLE b (i int); CREATE TABLE c (i int);"+
		"INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1), (2), (3); INSERT INTO c VALUES (1)")
	database.Exec(t, "INSERT INTO b VALUES (4); DELETE FROM a WHERE i = 1")
	expectRows(t, table(t, db, "a"), 2)
	rows := table(t, db, "b")
	database.Exec(t, "DELETE FROM b")
	expectRows(t, rows, 3)
	expectRows(t, query(t, db, "SELECT a.i FROM a JOIN b USING (i)"), 2)

	// What has no snapshot must not come as if it had no rows.
	database.Exec(t, "TRUNCATE c")
	if rows, err := db.Table(context.Background(), "c"); err == nil {
		if _, err = drain(rows); err == io.EOF {
			t.Error("a table that was truncated meanwhile has no rows")
		}
	}
	expectRows(t, table(t, db, "a"), 2)
}

// TestReadOnly tries to write.
func TestReadOnly(t *testing.T) {
	_, database := openNew(t, "CREATE TABLE t (i int); INSERT INTO t VALUES (1)")
	for _, sql := range []string{
		"DELETE FROM t", "DROP TABLE t", "CREATE TABLE u (i int)", "DELETE FROM t RETURNING i", "TRUNCATE t",
		"SELECT 1; DELETE FROM t", "SELECT i FROM t WHERE i = ?", "SELECT i FROM t INTO @x", "COMMIT", "DO 1",
		"SET SESSION TRANSACTION READ WRITE",
	} {
		db := openAgain(t, database.URL())
		if rows, err := db.Query(context.Background(), sql); err == nil || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s gave %v and the error %v", sql, rows, err)
		}
	}
	if got := database.Query(t, "SELECT i FROM t"); len(got) != 1 {
		t.Errorf("the table holds %q", got)
	}
}

// TestSnapshotEnds runs statements that end the transaction. Those that give rows fail before io.EOF, and nothing is
// read afterwards.
func TestSnapshotEnds(t *testing.T) {
	testkit.NeedsMariaDB(t, "blocks outside of procedures")
	_, database := openNew(t, "CREATE TABLE t (i int); INSERT INTO t VALUES (1); CREATE PROCEDURE p() BEGIN COMMIT;"+
		" SELECT 1; END; CREATE PROCEDURE slow() BEGIN SELECT 1; SELECT SLEEP(3600); END")
	for _, sql := range []string{
		"ANALYZE TABLE t", "CHECK TABLE t", "CALL p()", "BEGIN NOT ATOMIC COMMIT; SELECT 1; END",
		"BEGIN NOT ATOMIC SELECT 1; ROLLBACK; START TRANSACTION; END",
		"BEGIN NOT ATOMIC COMMIT; SIGNAL SQLSTATE '45000'; END", "TRUNCATE t", "DROP TABLE t", "COMMIT", "DO 1",
		"SET SESSION TRANSACTION READ WRITE",
		"CALL slow()", // not waited for
	} {
		db := openAgain(t, database.URL())
		rows, err := db.Query(context.Background(), sql)
		if err == nil {
			_, err = drain(rows)
		}
		if err == io.EOF || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: %v", sql, err)
		}
		if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("Table after %s: %v", sql, err)
		}
	}
	db := openAgain(t, database.URL())
	if err := run(context.Background(), db, "CHECK TABLE t"); !strings.Contains(err.Error(), "ended the transaction") {
		t.Errorf("the end of the snapshot gave %v", err)
	}
	db = openAgain(t, database.URL())
	rows := query(t, db, "BEGIN NOT ATOMIC COMMIT; SELECT 1 UNION SELECT 2; END")
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table after a statement was closed that had ended the transaction: %v", err)
	}
	expectIdle(t, database, 1)
}

// TestDeadlock becomes the victim of a deadlock, which rolls the transaction back, with a savepoint and without.
func TestDeadlock(t *testing.T) {
	t.Run("savepoint", func(t *testing.T) { testDeadlock(t, "t") })
	t.Run("none", func(t *testing.T) { testDeadlock(t, "aria") })
}

func testDeadlock(t *testing.T, first string) {
	db, database := openNew(t, "CREATE TABLE t (i int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0);"+
		"CREATE TABLE aria (i int) ENGINE=Aria; INSERT INTO aria VALUES (1), (2)")
	expectRows(t, table(t, db, first), 2)
	expectRows(t, query(t, db, "SELECT i FROM t WHERE i = 1 LOCK IN SHARE MODE"), 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		database.Exec(t, "BEGIN; UPDATE t SET n = 1 WHERE i = 2; UPDATE t SET n = 1 WHERE i = 1; COMMIT")
	}()
	testkit.WaitFor(t, "the other transaction to wait", func() bool {
		// INNODB_TRX is not brought up to date for those who ask often.
		return len(database.Query(t, `SELECT 1 FROM information_schema.PROCESSLIST
			WHERE DB = DATABASE() AND INFO LIKE 'UPDATE t SET n = 1 WHERE i = 1%'`)) == 1
	})
	err := run(context.Background(), db, "SELECT i FROM t WHERE i = 2 LOCK IN SHARE MODE")
	if err == nil || !strings.Contains(err.Error(), "Deadlock") {
		t.Errorf("the deadlock gave %v", err)
	}
	<-done
	if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table after the deadlock: %v", err)
	}
}

func TestTableNames(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	other := testkit.MariaDB(t).NewDatabase(t)
	other.Exec(t, "CREATE TABLE elsewhere (o1 int); CREATE TABLE t (o2 int)")
	database.Exec(t, "CREATE TABLE t (t int); CREATE TABLE `T` (upper int); CREATE TABLE `a.b` (point int);"+
		"CREATE TABLE `back``tick` (tick int); CREATE TABLE `a; DROP TABLE t` (drops int);"+
		"CREATE VIEW v AS SELECT t AS viewed FROM t; CREATE SEQUENCE s; CREATE TABLE `Mixed` (mixed int)")
	db := openAgain(t, database.URL())
	for name, want := range map[string]string{
		"t": "t", "T": "upper", "v": "viewed", "a.b": "point", "`a.b`": "point", "back`tick": "tick",
		"`back``tick`": "tick", "a; DROP TABLE t": "drops", "Mixed": "mixed", "s": "next_not_cached_value",
		database.Name + ".t": "t", other.Name + ".elsewhere": "o1", other.Name + ".t": "o2",
		"`" + other.Name + "`.`t`": "o2", other.Name + ".`t`": "o2", database.Name + ".a.b": "point",
		"information_schema.TABLES": "TABLE_CATALOG",
	} {
		rows, err := db.Table(context.Background(), name)
		if err != nil {
			t.Errorf("Table(%q): %v", name, err)
			continue
		}
		if got := rows.Columns()[0].Name; got != want {
			t.Errorf("Table(%q) has the column %s, want %s", name, got, want)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, known := range map[string]string{
		"mixed": "Mixed", "tt": "t", "`t": "t", "``": "t", ".t": "", "t.": "", "`t`.": "",
		other.Name + ".x": other.Name + ".t",
		"nowhere.t":       database.Name + ".t",
		"😀":               "t", "😀.t": "", database.Name + ".😀": "",
	} {
		_, err := db.Table(context.Background(), name)
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if !ok || known != "" && !slices.Contains(unknown.Known, known) {
			t.Errorf("Table(%q): %v, want *source.UnknownError that knows %q", name, err, known)
		}
	}
}

// TestNamesInOtherLetters has two tables whose names differ in letter case alone, and of which one has a check.
func TestNamesInOtherLetters(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t (a json, b int); CREATE TABLE `T` (c int, a longtext);"+
		"INSERT INTO t VALUES ('{}', 1); INSERT INTO `T` VALUES (1, 'no JSON')")
	var b source.Batch
	for name, want := range map[string]string{"t": "json {}\nnumber 1\n", "T": "number 1\ntext no JSON\n"} {
		rows := table(t, db, name)
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
		got := ""
		for column := range b.Columns() {
			kind, value := b.Value(0, column)
			got += kind.String() + " " + string(value) + "\n"
		}
		if got != want {
			t.Errorf("table %s holds\n%swant\n%s", name, got, want)
		}
		expectRows(t, rows, 0)
	}
}

// TestNoDatabase connects to a server without saying which database.
func TestNoDatabase(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int); INSERT INTO t VALUES (1)")
	db := openAgain(t, strings.Replace(database.URL(), "/"+database.Name, "/", 1))
	expectRows(t, table(t, db, database.Name+".t"), 1)
	_, err := db.Table(context.Background(), "t")
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if !ok || !slices.Contains(unknown.Known, database.Name+".t") {
		t.Errorf("Table without a database: %v", err)
	}
}

func TestColumns(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t (a int, hidden int INVISIBLE DEFAULT 5, sum int AS (a + 1) STORED,"+
		"virtual int AS (a + 2), j json, checked text CHECK (json_valid(`checked`)), d int DEFAULT (1 + 1))"+
		" WITH SYSTEM VERSIONING;"+
		"INSERT INTO t (a, j, checked) VALUES (1, '{}', '[]'); CREATE VIEW v AS SELECT a, sum, j FROM t")
	expect := func(rows source.Rows, want string) {
		t.Helper()
		var got []string
		for _, c := range rows.Columns() {
			got = append(got, c.Name+" "+c.Type)
		}
		var b source.Batch
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
		for column := range b.Columns() {
			kind, text := b.Value(0, column)
			got[column] += " " + kind.String() + " " + string(text)
		}
		if got := strings.Join(got, "\n"); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		expectRows(t, rows, 0)
	}
	expect(table(t, db, "t"), "a int(11) number 1\nhidden int(11) number 5\nj longtext json {}\n"+
		"checked text json []\nd int(11) number 2")
	expect(table(t, db, "v"), "a int(11) number 1\nsum int(11) number 2\nj longtext text {}")
	expect(query(t, db, "SELECT sum, CAST(a AS UNSIGNED) AS u, NULL AS n, x'00' AS b, 'é' AS s, j FROM t"),
		"sum INT number 2\nu UNSIGNED BIGINT number 1\nn NULL null \nb VARBINARY bytes \x00\ns VARCHAR text é\n"+
			"j TEXT text {}")
}

// TestColumnPrivileges reads a table of whose columns the user may not see all.
func TestColumnPrivileges(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: "of root"})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2);"+
		"CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'of reader';"+
		"GRANT SELECT (a) ON "+database.Name+".t TO reader@'127.0.0.1'")
	db := openAgain(t, "mysql://reader:of%20reader@"+server.Address(t)+"/"+database.Name)
	if rows, err := db.Table(context.Background(), "t"); err == nil {
		t.Errorf("a part of the table was given: %v", rows.Columns())
	}
	expectRows(t, query(t, db, "SELECT a FROM t"), 1)

	// The server does not tell of an invisible column to who may not read it, but refuses the table.
	database.Exec(t, "CREATE TABLE u (a int, b int INVISIBLE); GRANT SELECT (a) ON "+database.Name+
		".u TO reader@'127.0.0.1'")
	if rows, err := db.Table(context.Background(), "u"); err == nil {
		t.Errorf("a part of a table with an invisible column was given: %v", rows.Columns())
	}
}

// TestSettings reads from a server whose settings would change what comes.
func TestSettings(t *testing.T) {
	testkit.NeedsMariaDB(t, "these settings")
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{
		"--default-time-zone=+05:30", "--sql-mode=ANSI,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES,IGNORE_SPACE",
		"--max-statement-time=100", "--transaction-isolation=READ-UNCOMMITTED",
		"--character-set-server=latin1", "--lower-case-table-names=1", "--autocommit=0",
	}})
	database := server.NewDatabase(t)
	database.Exec(t, `CREATE TABLE "Mixed" (at timestamp, c char(4), s varchar(9));
		INSERT INTO "mixed" VALUES ('2026-01-02 05:30:00', 'a', 'é'), ('2026-01-02 05:30:00', 'a', 'é'); COMMIT;
		SET GLOBAL sql_select_limit = 1`)
	db := openAgain(t, database.URL())
	rows := table(t, db, "MIXED")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	for column, want := range []string{"2026-01-02 00:00:00", "a", "é"} {
		if _, got := b.Value(1, column); string(got) != want {
			t.Errorf("column %d holds %q, want %q", column, got, want)
		}
	}
	if b.Rows() != 2 {
		t.Errorf("%d rows", b.Rows())
	}
	expectRows(t, rows, 0)
	rows = query(t, db, "SELECT @@max_statement_time, @@tx_isolation, @@sql_mode")
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	for column, want := range []string{"0", "REPEATABLE-READ"} {
		if _, got := b.Value(0, column); string(got) != want {
			t.Errorf("setting %d is %q, want %q", column, got, want)
		}
	}
	if _, got := b.Value(0, 2); strings.Contains(string(got), "PAD") || !strings.Contains(string(got), "ANSI") {
		t.Errorf("sql_mode is %s", got)
	}
	expectRows(t, rows, 0)
}
