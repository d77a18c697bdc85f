package read_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

// TestQueryCharsets reads texts by queries of every form. What the server has replaced is an error at their end, and a
// "?" that a text has by itself is none.
func TestQueryCharsets(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE k (id int, t text CHARACTER SET cp1251, n text CHARACTER SET utf8mb4,"+
		" g point);"+ // with the byte of "?" in its numbers
		"INSERT INTO k VALUES (1, 'why?', 'why?', POINT(1, 1)), (2, '', '', NULL), (3, NULL, NULL, NULL),"+
		" (4, x'4198', 'A?', NULL)")
	db := openAgain(t, database.URL())
	for _, test := range []struct {
		sql, column string // which is "" if nothing was replaced
		rows        int
	}{
		{"SELECT t FROM k WHERE id < 4", "", 3},
		{"SELECT n FROM k", "", 4},
		{"SELECT n, CAST(t AS BINARY) AS t FROM k", "", 4},
		{"SELECT t FROM k ORDER BY id LIMIT 3", "", 3},
		{"SELECT COUNT(t) FROM k", "", 1},
		{"SHOW COLUMNS FROM k WHERE Field <> 'g'", "", 3},
		{"SELECT n, t FROM k", "t", 0},
		{"SELECT g, t FROM k ORDER BY id", "t", 0},
		{"SELECT t FROM k LOCK IN SHARE MODE", "t", 0},
		{"SELECT t, t FROM k ORDER BY id", "t", 0},
		{"SELECT id, UPPER(t) AS ``` up` FROM k", "` up", 0},
		{"SELECT MAX(t) AS m FROM k WHERE id > 3 GROUP BY id;\n", "m", 0},
		{"SELECT t FROM k -- all of it", "t", 0},
		{"WITH x AS (SELECT t FROM k) SELECT * FROM x", "t", 0},
		{"(SELECT t FROM k ORDER BY id LIMIT 1) UNION ALL (SELECT t FROM k ORDER BY id DESC LIMIT 1)", "t", 0},
	} {
		rows, err := drain(query(t, db, test.sql))
		text, found := errors.AsType[*source.TextError](err)
		if !found && (test.column != "" || err != io.EOF || rows != test.rows) {
			t.Errorf("%s: %d rows and the error %v", test.sql, rows, err)
		}
		if found && (text.Column != test.column || text.Charset != "cp1251" || text.Row != 0) {
			t.Errorf("%s: %v", test.sql, err)
		}
	}
}

// TestQueryUnchecked reads texts by queries that the server does not take as a part of another one: if a text may have
// been replaced, they are an error, and not taken for a statement that reads no table.
func TestQueryUnchecked(t *testing.T) {
	testkit.NeedsMariaDB(t, "a parser that leaves these queries unchecked")
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE k (id int, t text CHARACTER SET cp1251);"+
		"INSERT INTO k VALUES (1, 'why'), (2, x'4198')")
	db := openAgain(t, database.URL())
	for _, sql := range []string{
		"SELECT SQL_NO_CACHE t FROM k", "SELECT SQL_CALC_FOUND_ROWS t FROM k", "SELECT HIGH_PRIORITY t FROM k",
		"SELECT t FROM k; -- all", "SELECT t FROM k; /* all */",
	} {
		_, err := drain(query(t, db, sql))
		if err == io.EOF || !strings.Contains(err.Error(), "cannot be checked") {
			t.Errorf("%s: %v", sql, err)
		}
		where := strings.Replace(sql, "FROM k", "FROM k WHERE id = 1", 1)
		expectRows(t, query(t, db, where), 1) // without a mark
	}
}

// TestQueryWithoutWith reads texts of a server that says that it has no WITH, as MySQL 5.7: they cannot be checked, and
// are as the server returns them.
func TestQueryWithoutWith(t *testing.T) {
	testkit.NeedsMariaDB(t, "a server that is told its version")
	database := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--version=5.7.44-log"}}).NewDatabase(t)
	database.Exec(t, "CREATE TABLE k (id int, t text CHARACTER SET cp1251);"+
		"INSERT INTO k VALUES (1, 'why?'), (2, x'4198')")
	db := openAgain(t, database.URL())
	expectRows(t, query(t, db, "SELECT t FROM k"), 2)
	expectRows(t, query(t, db, "SELECT HIGH_PRIORITY t FROM k"), 2)
}

// TestQueryCheckRefused takes from the user the right to read the table before the texts of the query are checked.
func TestQueryCheckRefused(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: "of root"})
	database := server.NewDatabase(t)
	const reader = "reader@'127.0.0.1'"
	database.Exec(t, "CREATE TABLE k (t text CHARACTER SET cp1251); INSERT INTO k VALUES ('why?');"+
		"CREATE USER "+reader+" IDENTIFIED BY 'of reader'; GRANT SELECT ON "+database.Name+".k TO "+reader)
	db := openAgain(t, "mysql://reader:of%20reader@"+server.Address(t)+"/"+database.Name)
	rows := query(t, db, "SELECT t FROM k")
	database.Exec(t, "REVOKE SELECT ON "+database.Name+".k FROM "+reader)
	const denied = 1142 // ER_TABLEACCESS_DENIED_ERROR
	if _, err := drain(rows); wire.ErrorNumber(err) != denied {
		t.Error(err)
	}
}
