package read_test

import (
	"errors"
	"io"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// TestQueryCharsets reads texts by queries of every form. What the server has replaced is an error at their end, and a
// "?" that a text has by itself is none.
func TestQueryCharsets(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE k (id int, t text CHARACTER SET cp1251, n text CHARACTER SET utf8mb4);"+
		"INSERT INTO k VALUES (1, 'why?', 'why?'), (2, '', ''), (3, NULL, NULL), (4, x'4198', 'A?')")
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
		{"SELECT n, t FROM k", "t", 0},
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
