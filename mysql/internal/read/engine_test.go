package read_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// engines are how a table of two rows is made in each storage engine that a server of the tests can have, and whether
// its rows are in the snapshot. It is "" for an engine of no tables of its own.
var engines = map[string]struct {
	sql      string
	snapshot bool
}{
	"InnoDB":     {"CREATE TABLE t (i int NOT NULL) ENGINE=InnoDB; INSERT INTO t VALUES (1), (2)", true},
	"Aria":       {"CREATE TABLE t (i int NOT NULL) ENGINE=Aria; INSERT INTO t VALUES (1), (2)", false},
	"MyISAM":     {"CREATE TABLE t (i int NOT NULL) ENGINE=MyISAM; INSERT INTO t VALUES (1), (2)", false},
	"MEMORY":     {"CREATE TABLE t (i int NOT NULL) ENGINE=MEMORY; INSERT INTO t VALUES (1), (2)", false},
	"CSV":        {"CREATE TABLE t (i int NOT NULL) ENGINE=CSV; INSERT INTO t VALUES (1), (2)", false},
	"ARCHIVE":    {"CREATE TABLE t (i int NOT NULL) ENGINE=ARCHIVE; INSERT INTO t VALUES (1), (2)", false},
	"BLACKHOLE":  {"CREATE TABLE t (i int NOT NULL) ENGINE=BLACKHOLE; INSERT INTO t VALUES (1), (2)", false},
	"MRG_MyISAM": {"", false}, // the rows are those of other tables
	"FEDERATED": {"CREATE TABLE remote (i int NOT NULL); INSERT INTO remote VALUES (1), (2);" +
		"CREATE TABLE t (i int NOT NULL) ENGINE=FEDERATED CONNECTION='itself/remote'", false},
	"SEQUENCE":           {"", false},
	"PERFORMANCE_SCHEMA": {"", false},
}

// TestEngines reads tables of every storage engine of the server in one snapshot, each after each.
func TestEngines(t *testing.T) {
	testkit.NeedsMariaDB(t, "these storage engines")
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{
		Options: []string{
			"--plugin-load-add=ha_archive", "--plugin-load-add=ha_blackhole", "--plugin-load-add=ha_federatedx",
		},
	})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE SERVER itself FOREIGN DATA WRAPPER mysql OPTIONS (USER 'root', SOCKET '"+
		server.SocketPath()+"', DATABASE '"+database.Name+"')")
	want := map[string]int{"later": 1}
	var outside []string
	for _, row := range database.Query(t, "SELECT ENGINE FROM information_schema.ENGINES"+
		" WHERE SUPPORT IN ('YES', 'DEFAULT')") {
		engine, known := engines[row[0]]
		if !known {
			t.Errorf("no table of the engine %s is tested", row[0])
		}
		if engine.sql == "" {
			continue
		}
		name := "t_" + strings.ToLower(row[0])
		database.Exec(t, strings.NewReplacer("TABLE t ", "TABLE "+name+" ", "INTO t ", "INTO "+name+" ").
			Replace(engine.sql))
		switch want[name] = 2; row[0] {
		case "BLACKHOLE":
			want[name] = 0
		case "FEDERATED":
			want["remote"] = 2
		}
		if !engine.snapshot {
			outside = append(outside, name)
		}
	}
	database.Exec(t, "CREATE TABLE later (i int PRIMARY KEY); INSERT INTO later VALUES (1)")
	db := openAgain(t, database.URL())
	database.Exec(t, "INSERT INTO later VALUES (2)")
	names, err := db.Tables(context.Background(), "")
	if err != nil || len(names) != len(want) {
		t.Fatalf("the tables are %q and the error %v, want those of %v", names, err, want)
	}
	for range 2 {
		for _, name := range names {
			if d := defined(t, db, name); len(d.Columns) != 1 || strings.Contains(d.Create, "itself") {
				t.Errorf("definition %+v", d)
			}
			expectRows(t, table(t, db, name), want[name])
		}
	}
	outside = append(outside, "information_schema.TABLES")
	names = append(names, "information_schema.TABLES")
	slices.Sort(outside)
	slices.Sort(names)
	if got, err := db.OutsideSnapshot(context.Background(), names); err != nil || !slices.Equal(got, outside) {
		t.Errorf("outside of the snapshot are %q, and the error %v, want %q", got, err, outside)
	}
}

// TestAriaEndsNoSnapshot has statements follow a table of Aria, after which the server sets no savepoint. The snapshot
// is kept by statements that cannot end it, and others are refused or noticed.
func TestAriaEndsNoSnapshot(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE aria (i int) ENGINE=Aria; INSERT INTO aria VALUES (1);"+
		"CREATE TABLE t (i int); INSERT INTO t VALUES (1);"+
		"CREATE PROCEDURE p() BEGIN COMMIT; START TRANSACTION; SELECT * FROM t; END;"+
		"CREATE FUNCTION f() RETURNS int RETURN 1")
	db := openAgain(t, database.URL())
	expectRows(t, table(t, db, "aria"), 1)
	database.Exec(t, "INSERT INTO t VALUES (2)")
	for _, sql := range []string{
		"SELECT * FROM t", " (SELECT i FROM t) UNION SELECT i FROM t -- same", "WITH x AS (SELECT * FROM t) TABLE x",
		"SELECT f() FROM t", "VALUES (1)", "SELECT t.i FROM t, aria",
	} {
		if strings.HasPrefix(sql, "WITH") {
			sql = strings.Replace(sql, "TABLE x", "SELECT * FROM x", 1)
		}
		expectRows(t, query(t, db, sql), 1)
	}
	for _, sql := range []string{"CALL p()", "CHECK TABLE t", "SHOW TABLES"} {
		err := run(context.Background(), db, sql)
		if err == nil || !strings.Contains(err.Error(), "Aria") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	expectRows(t, table(t, db, "t"), 1)
}

// TestOutsideSnapshot looks for tables outside the snapshot in what views, functions and queries read.
func TestOutsideSnapshot(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE good (i int, old int); CREATE TABLE old (i int) ENGINE=MyISAM;"+
		"CREATE TABLE `odd ``'name` (i int) ENGINE=Aria; INSERT INTO old VALUES (1); CREATE SEQUENCE s;"+
		"CREATE VIEW v AS SELECT i FROM good; CREATE VIEW over_old AS SELECT g.i FROM good g JOIN old o ON g.i = o.i;"+
		"CREATE VIEW over_odd AS SELECT COUNT(*) AS n FROM `odd ``'name`;"+
		"CREATE ALGORITHM=TEMPTABLE VIEW over_view AS SELECT * FROM over_old;"+
		"CREATE FUNCTION f() RETURNS int READS SQL DATA RETURN (SELECT MAX(i) FROM old);"+
		"CREATE FUNCTION g() RETURNS int READS SQL DATA RETURN (SELECT MAX(i) FROM good);"+
		"CREATE VIEW calls AS SELECT f() AS i FROM good; CREATE VIEW calls_good AS SELECT g() AS i FROM good;"+
		"CREATE PROCEDURE p() SELECT f()")
	db := openAgain(t, database.URL())
	names := []string{
		"good", "old", "odd `'name", "v", "over_old", "over_odd", "over_view", "calls", "calls_good", "s", "none",
	}
	outside, err := source.OutsideSnapshot(context.Background(), db, names)
	want := []string{"old", "odd `'name", "over_old", "over_odd", "over_view", "calls"}
	if err != nil || !slices.Equal(outside, want) {
		t.Errorf("outside the snapshot are %q, want %q: %v", outside, want, err)
	}
	for sql, want := range map[string]bool{
		"SELECT * FROM good -- it's all":                    false,
		"SELECT g.old FROM good g":                          false,
		"SELECT COUNT(*), g() FROM good, v WHERE i = 'v'":   false,
		"SELECT * FROM OLD":                                 false, // letter case counts
		"SELECT i FROM good UNION SELECT i FROM old":        true,
		"SELECT 'it''s' FROM good -- it's\nJOIN old":        true,
		"SELECT * FROM " + database.Name + " . `old`":       true,
		"SELECT * FROM `odd ``'name`":                       true,
		"SELECT i FROM good WHERE i IN (SELECT i FROM old)": true,
		"WITH x AS (SELECT * FROM over_view) TABLE x":       true,
		"SELECT f() FROM good":                              true,
		"CALL p()":                                          true,
		"SELECT TABLE_NAME FROM information_schema.TABLES":  true,
		"not a statement":                                   false,
	} {
		if got, err := source.QueryOutsideSnapshot(context.Background(), db, sql); got != want || err != nil {
			t.Errorf("%s: %v, %v", sql, got, err)
		}
	}
}
