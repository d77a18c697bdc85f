package fill_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	mysqlsource "culvert/mysql/internal/read"
	"culvert/sink"
	"culvert/sink/sinktest"
	"culvert/source"
)

// whole makes everything that a schema can have. OWN is the name of the database, and OTHER that of another one.
var whole = []string{
	"ALTER DATABASE COLLATE utf8mb4_general_ci",
	"CREATE TABLE OTHER.x (id int, shop int)",
	"CREATE FUNCTION OTHER.of() RETURNS int RETURN 1",
	"CREATE TABLE `a``b` (id int PRIMARY KEY, n varchar(40), UNIQUE (n))",
	`CREATE TABLE orders (
		id int NOT NULL AUTO_INCREMENT PRIMARY KEY, customer int,
		title varchar(50) CHARACTER SET latin1 NOT NULL DEFAULT 'no''thing', paid decimal(10,2) NOT NULL DEFAULT 0,
		twice decimal(12,2) AS (paid * 2) STORED,
		at datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
		note text, facts json, kind enum('a','b') COMMENT 'it''s', FULLTEXT KEY words (note), KEY (customer, paid),
		CHECK (paid >= 0), FOREIGN KEY (customer) REFERENCES ` + "`a``b`" + ` (id)) COMMENT 'what was ordered'`,
	"CREATE SEQUENCE numbers START WITH 10 INCREMENT BY 3 CACHE 5 MAXVALUE 1000",
	"CREATE SEQUENCE round START WITH 10 MINVALUE 1 MAXVALUE 12 CYCLE NOCACHE",
	"SELECT NEXTVAL(round), NEXTVAL(round), NEXTVAL(round), NEXTVAL(round)",
	"CREATE SEQUENCE `down``s` START WITH -1 INCREMENT BY -1",
	"SELECT NEXTVAL(`down``s`)",
	"CREATE SEQUENCE spent START WITH 1 MAXVALUE 2 NOCACHE",
	"SELECT NEXTVAL(spent), NEXTVAL(spent)",
	"CREATE TABLE numbered (id bigint DEFAULT NEXTVAL(numbers), v text, n int DEFAULT (NEXTVAL(numbers)))",
	"INSERT INTO numbered (v) VALUES ('x'), ('y')",
	"INSERT INTO `a``b` VALUES (1, 'one'), (2, 'two')",
	`INSERT INTO orders (customer, title, paid, note, facts, kind, at) VALUES
		(1, 'é', 2.5, 'some words', '{"a": 1}', 'b', '2026-01-02'), (2, 'x', 0, NULL, NULL, NULL, '2026-01-03')`,

	"CREATE FUNCTION plus(x int) RETURNS int DETERMINISTIC COMMENT 'one; more' RETURN x + 1",
	"CREATE VIEW zz AS SELECT o.id, o.paid, OWN.plus(o.id) AS next, 'it''s \\\\ ; `OWN`.' AS t FROM OWN.orders o",
	"CREATE FUNCTION most() RETURNS decimal(10,2) READS SQL DATA RETURN (SELECT MAX(paid) FROM zz)",
	"CREATE VIEW above AS SELECT zz.*, most() AS most FROM zz WHERE zz.paid > 0",
	"CREATE SQL SECURITY INVOKER VIEW checked AS SELECT id, n FROM `a``b` WHERE id < 100 WITH LOCAL CHECK OPTION",
	"CREATE ALGORITHM=TEMPTABLE VIEW mixed (i, `x y`) AS SELECT o.id, OTHER.of() FROM orders o JOIN OTHER.x JOIN zz",
	"CREATE VIEW named AS SELECT OWN.id, OWN.shop FROM OTHER.x AS OWN, orders",
	"CREATE VIEW drawing AS SELECT NEXTVAL(numbers) AS n",
	`SET NAMES latin1; CREATE VIEW old AS SELECT 'ascii' AS t; CREATE FUNCTION old() RETURNS text RETURN 'ascii'`,
	`SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES';
		CREATE PROCEDURE "p""q"(OUT x int) BEGIN SELECT 'a\' AS "é";
		SELECT "id" INTO x FROM "a` + "`" + `b" LIMIT 1; END`,
	`SET sql_mode = ORACLE; CREATE PACKAGE pk AS FUNCTION z RETURN int; END`,
	`SET sql_mode = ORACLE; CREATE PACKAGE BODY pk AS FUNCTION z RETURN int AS BEGIN RETURN 7; END; END`,
	`SET sql_mode = ORACLE; CREATE FUNCTION "of package" RETURN int AS BEGIN RETURN pk.z; END`,
	`CREATE AGGREGATE FUNCTION total(x int) RETURNS int BEGIN DECLARE m int DEFAULT 0;
		DECLARE CONTINUE HANDLER FOR NOT FOUND RETURN m; LOOP FETCH GROUP NEXT ROW; SET m = m + x; END LOOP; END`,
	"ALTER DATABASE COLLATE latin1_bin",
	"CREATE FUNCTION of_latin(x text) RETURNS text RETURN x",
	"ALTER DATABASE COLLATE utf8mb4_general_ci",
	"CREATE TRIGGER second BEFORE INSERT ON orders FOR EACH ROW SET NEW.note = 'DEFINER=`x`@`y`'",
	"CREATE TRIGGER first BEFORE INSERT ON orders FOR EACH ROW PRECEDES second SET NEW.paid = 0",
	"CREATE TRIGGER IF NOT EXISTS OWN.`t``3` /* on */ AFTER INSERT ON OWN . numbered FOR EACH ROW " +
		"SET @x = 'it''s \\\\'",
	`SET time_zone = '+03:00'; CREATE EVENT daily ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00'
		ENABLE COMMENT 'x' DO DELETE FROM ` + "`a``b`",
	`SET time_zone = '-02:30'; CREATE EVENT once ON SCHEDULE AT '2030-01-01 00:00:00' ON COMPLETION PRESERVE DISABLE
		DO BEGIN DELETE FROM numbered; END`,
}

// wholeDatabase makes a database with everything.
func wholeDatabase(t *testing.T, server *testkit.MariaDBServer) *testkit.MariaDBDatabase {
	t.Helper()
	own, other := server.NewDatabase(t), server.NewDatabase(t)
	names := strings.NewReplacer("OWN", own.Name, "OTHER", other.Name)
	for _, sql := range whole {
		own.Exec(t, names.Replace(sql))
	}
	return own
}

func TestRestore(t *testing.T) {
	server := testkit.MariaDB(t)
	own := wholeDatabase(t, server)
	open := func(t *testing.T, database *testkit.MariaDBDatabase) source.Source {
		src, err := mysqlsource.Open(context.Background(), database.URL())
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	dump := func(t *testing.T, database *testkit.MariaDBDatabase) string {
		// The names of both are left out, and how the author of a trigger has written its beginning.
		text := database.Dump(t)
		for _, name := range []string{own.Name, database.Name} {
			text = strings.NewReplacer("`"+name+"`.", "", name+" . ", "", name+".", "", name, "OWN").Replace(text)
		}
		return strings.NewReplacer("TRIGGER IF NOT EXISTS", "TRIGGER", " /* on */ ", " ").Replace(text)
	}
	sinktest.Restore(t, sinktest.Restoring{
		Source: func(t *testing.T) source.Source { return open(t, own) },
		Dump:   dump(t, own),
		Fails:  "CREATE VIEW `fails` AS select * from `missing`",
		Mends:  []string{"CREATE TABLE missing (id int)"},
		Undo:   []string{"DROP VIEW fails", "DROP TABLE missing"},
		Refused: []string{
			"DROP TABLE orders", "CREATE USER u", "CREATE FUNCTION `f` RETURNS STRING SONAME 'f.so'",
			"CREATE OR REPLACE VIEW `v` AS select 1", "CREATE VIEW `mysql`.`v` AS select 1",
			"DO SETVAL(`s`, 1, 0, 0) + SLEEP(9)", "SET SESSION sql_mode = '', character_set_client = x, autocommit = 0",
			"ALTER TABLE `t` ALTER COLUMN `c` SET DEFAULT nextval(`s`), DROP COLUMN `d`",
		},
		New: func(t *testing.T) sinktest.Restored {
			database := server.NewDatabase(t)
			return sinktest.Restored{
				Open: func(t *testing.T) sink.Sink {
					db, err := fill.Open(context.Background(), database.URL())
					if err != nil {
						t.Fatal(err)
					}
					return db
				},
				Source: func(t *testing.T) source.Source { return open(t, database) },
				Exec:   func(t *testing.T, sql string) { database.Exec(t, sql) },
				Dump:   func(t *testing.T) string { return dump(t, database) },
			}
		},
	})
}

// TestRestoreGoesOn finds what a process that was killed has made, but not recorded. What others have made is an error.
func TestRestoreGoesOn(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	s := &source.Schema{Dialect: source.MariaDB, Statements: []source.Statement{
		{After: true, SQL: "CREATE VIEW `a` AS select 1 AS `a`"},
		{After: true, SQL: "CREATE FUNCTION `f`() RETURNS int RETURN 1"},
		{After: true, SQL: "CREATE PROCEDURE `f`() SET @x = 1"},
		{After: true, SQL: "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DISABLE DO SET @x = 1"},
		{After: true, SQL: "CREATE TRIGGER `t` BEFORE INSERT ON `x` FOR EACH ROW SET @x = 1"},
		{SQL: "CREATE SEQUENCE `s` start with 1"},
	}}
	restore := func() error {
		db, err := fill.Open(t.Context(), database.URL())
		if err != nil {
			t.Fatal(err)
		}
		restoration, err := db.Restore(t.Context(), "x", s, sink.Filling{})
		if err == nil {
			err = restoration.Finish(t.Context(), 1)
		}
		return errors.Join(err, db.Close())
	}
	database.Exec(t, "CREATE TABLE x (id int)")
	for _, one := range s.Statements {
		database.Exec(t, one.SQL)
	}
	for range 2 {
		refused, is := errors.AsType[*sink.StatementsError](restore())
		if !is || len(refused.Failed) != 1 || refused.Failed[0].SQL != s.Statements[5].SQL {
			t.Fatalf("a sequence that is there: %v", refused)
		}
	}
	database.Exec(t, "DROP SEQUENCE s")
	for range 2 {
		if refused, is := errors.AsType[*sink.StatementsError](restore()); !is || len(refused.Failed) != 5 {
			t.Fatalf("what is there: %v", refused)
		}
	}
	database.Exec(t, "UPDATE culvert_restore SET state = 'begun' WHERE LENGTH(statement) = 32")
	if err := restore(); err != nil {
		t.Error("what was begun:", err)
	}
	if found := database.Query(t, "SHOW TABLES LIKE 'culvert%'"); len(found) > 0 {
		t.Errorf("there are still %q", found)
	}
}

// TestRestoreSettings has statements with settings of their own, of which some are tried again after those of others.
func TestRestoreSettings(t *testing.T) {
	testkit.NeedsMariaDB(t, "what this schema has")
	database := testkit.MariaDB(t).NewDatabase(t)
	db, err := fill.Open(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const latin1 = "SET SESSION sql_mode = '', character_set_client = latin1, collation_connection = latin1_bin"
	s := &source.Schema{Dialect: source.MariaDB, Statements: []source.Statement{
		{After: true, SQL: latin1}, {After: true, SQL: "CREATE VIEW `v` AS select 'é'"},
	}}
	if _, err := db.Restore(t.Context(), "x", s, sink.Filling{}); err == nil {
		t.Error("UTF-8 is read as latin1")
	}
	const utf8mb4 = "SET SESSION sql_mode = '', character_set_client = utf8mb4, collation_connection = utf8mb4_bin"
	s.Statements = []source.Statement{
		{SQL: "CREATE SEQUENCE `é` start with 1"},
		{After: true, SQL: "DO SETVAL(`ü`, 7, 0, 0)"},
		{After: true, SQL: "CREATE VIEW `wrong` AS select 1 from `é v`"},
		{After: true, SQL: latin1},
		{After: true, SQL: "CREATE FUNCTION `f`() RETURNS int RETURN 1"},
		{After: true, SQL: strings.Replace(latin1, "''", "'NONE'", 1)},
		{After: true, SQL: "CREATE FUNCTION `g`() RETURNS int RETURN 1"},
		{After: true, SQL: latin1 + ", collation_database = latin1_bin, time_zone = '+03:00'"},
		{After: true, SQL: "CREATE FUNCTION `h`() RETURNS text RETURN CONCAT(@@time_zone, CHARSET('a'))"},
		{After: true, SQL: utf8mb4},
		{After: true, SQL: "CREATE VIEW `é v` AS select 'é' AS `é`"},
	}
	restoration, err := db.Restore(t.Context(), "x", s, sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	refused, is := errors.AsType[*sink.StatementsError](restoration.Finish(t.Context(), 1))
	if !is || len(refused.Failed) != 2 || refused.Before || refused.Failed[0].SQL != s.Statements[1].SQL ||
		refused.Failed[1].SQL != s.Statements[6].SQL {
		t.Errorf("got %v", refused)
	}
	if found := database.Query(t, "SHOW CREATE FUNCTION h"); found[0][3] != "latin1" || found[0][5] != "latin1_bin" {
		t.Errorf("the function is %q", found)
	}
	if found := database.Query(t, "SELECT @@collation_database"); found[0][0] == "latin1_bin" {
		t.Errorf("the database stays as %q", found)
	}
	if found := database.Query(t, "SELECT 1 FROM wrong"); len(found) != 1 {
		t.Error("a view that was tried again is not there")
	}
}

// TestRestoresOwn takes no schema of MySQL into MariaDB, which has other statements.
func TestRestoresOwn(t *testing.T) {
	testkit.NeedsMariaDB(t, "what this schema has")
	db := open(t, testkit.MariaDB(t).NewDatabase(t))
	if !db.Restores(source.MariaDB) || db.Restores(source.MySQL) {
		t.Error("a schema of another system can be made")
	}
}

// TestRestoreKeepsCollation ends a load while a statement waits for which the collation of the database was altered.
func TestRestoreKeepsCollation(t *testing.T) {
	testkit.NeedsMariaDB(t, "what this schema has")
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE x (id int)")
	before := database.Query(t, "SELECT @@collation_database")
	s := &source.Schema{Dialect: source.MariaDB, Statements: []source.Statement{
		{After: true, SQL: "SET SESSION sql_mode = '', character_set_client = utf8mb4, " +
			"collation_connection = utf8mb4_bin, collation_database = latin1_bin"},
		{After: true, SQL: "CREATE TRIGGER `t` BEFORE INSERT ON `x` FOR EACH ROW SET @x = 1"},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db, other := open(t, database), open(t, database)
	holder, err := other.Table(t.Context(), "x", sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	restoration, err := db.Restore(ctx, "x", s, sink.Filling{LockTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		testkit.WaitFor(t, "the trigger", func() bool {
			return len(database.Query(t, "SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = DATABASE() "+
				"AND INFO LIKE 'CREATE TRIGGER%' AND STATE LIKE 'Waiting%'")) > 0
		})
		cancel()
	}()
	if err := restoration.Finish(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v", err)
	}
	if after := database.Query(t, "SELECT @@collation_database"); after[0][0] != before[0][0] {
		t.Errorf("the database stays as %q", after)
	}
	if err := holder.Discard(); err != nil {
		t.Fatal(err)
	}
	restoration, err = open(t, database).Restore(t.Context(), "x", s, sink.Filling{})
	if err == nil {
		err = restoration.Finish(t.Context(), 1)
	}
	if err != nil {
		t.Error(err)
	}
}
