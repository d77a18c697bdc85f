package read_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// TestCharsets reads texts of each character set of the server, with every byte and some pairs of bytes. What has no
// equal in UTF-8 is an error that finds its rows, and never another text.
func TestCharsets(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	found := database.Query(t, "SELECT CHARACTER_SET_NAME, MAXLEN FROM information_schema.CHARACTER_SETS"+
		" WHERE CHARACTER_SET_NAME NOT LIKE 'utf%' AND CHARACTER_SET_NAME NOT IN ('ucs2', 'binary')")
	for _, row := range found {
		charset := row[0]
		sql := fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, c varchar(9) CHARACTER SET %[1]s);"+
			"INSERT IGNORE INTO %[1]s SELECT seq, UNHEX(LPAD(HEX(seq), 2, '0')) FROM seq_0_to_255;", charset)
		if row[1] != "1" {
			sql += fmt.Sprintf("INSERT IGNORE INTO %s SELECT seq, UNHEX(HEX(seq))"+
				" FROM seq_32768_to_65535_step_7;", charset)
		}
		// What the character set does not have was stored as another text.
		database.Exec(t, sql+"DELETE FROM "+charset+" WHERE CONV(HEX(c), 16, 10) <> id")
	}
	database.Exec(t, "CREATE TABLE kinds (e enum('a', x'98') CHARACTER SET cp1251,"+
		" s set('a', x'98') CHARACTER SET cp1251, t text CHARACTER SET cp1251);"+
		"INSERT INTO kinds VALUES (2, 2, x'98'); CREATE VIEW v AS SELECT CONCAT(t, '') AS t FROM kinds")
	bad := 0
	db := openAgain(t, database.URL())
	for _, row := range found {
		charset := row[0]
		lost := "HEX(c) <> HEX(CONVERT(CONVERT(c USING utf8mb4) USING " + charset + "))"
		ids := database.Query(t, "SELECT id FROM "+charset+" WHERE "+lost)
		bad += len(ids)
		rows, err := db.Select(context.Background(), charset, source.Selection{Where: "NOT (" + lost + ")"})
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(database.Query(t, "SELECT COUNT(*) FROM "+charset)[0][0])
		if err != nil {
			t.Fatal(err)
		}
		expectRows(t, rows, n-len(ids))
		// Of a query, only what was replaced is another text.
		replaced := lost + " AND CONVERT(c USING utf8mb4) RLIKE '[?\uFFFD]'"
		if found := database.Query(t, "SELECT 1 FROM "+charset+" WHERE "+replaced); len(found) > 0 {
			_, err := drain(query(t, db, "SELECT id, c FROM "+charset))
			if text, ok := errors.AsType[*source.TextError](err); !ok || text.Column != "c" {
				t.Errorf("query of %s: %v", charset, err)
			}
			n -= len(found)
		}
		expectRows(t, query(t, db, "SELECT id, c FROM "+charset+" WHERE NOT ("+replaced+")"), n)
		if len(ids) == 0 {
			expectRows(t, table(t, db, charset), n)
			continue
		}
		_, err = drain(table(t, db, charset))
		text, ok := errors.AsType[*source.TextError](err)
		if !ok || text.Column != "c" || text.Charset != charset {
			t.Errorf("%s: %v", charset, err)
			continue
		}
		// Each such row fails alone, is found by the condition, and gives its bytes.
		for _, id := range ids[:min(3, len(ids))] {
			rows, err := db.Select(context.Background(), charset, source.Selection{Where: "id = " + id[0]})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := drain(rows); !errors.As(err, &text) || text.Row != 1 {
				t.Errorf("%s, %s: %v", charset, id[0], err)
			}
		}
		expectRows(t, query(t, db, "SELECT id FROM "+charset+" WHERE "+text.Condition), len(ids))
		bytes := query(t, db, "SELECT "+text.Bytes+" FROM "+charset+" WHERE id = "+ids[0][0])
		var b source.Batch
		if err := bytes.Next(&b); err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(ids[0][0])
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimPrefix(fmt.Sprintf("%c%c", number>>8, number&255), "\x00")
		if kind, got := b.Value(0, 0); kind != source.Bytes || string(got) != latin1(want) {
			t.Errorf("%s, %s: the bytes are %v %q", charset, ids[0][0], kind, got)
		}
		expectRows(t, bytes, 0)
	}
	for _, column := range []string{"kinds.e", "kinds.s", "v.t"} {
		from, name, _ := strings.Cut(column, ".")
		rows, err := db.Select(context.Background(), from, source.Selection{Columns: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = drain(rows)
		if text, ok := errors.AsType[*source.TextError](err); !ok || text.Column != name {
			t.Errorf("column %s: %v", column, err)
		}
	}
	if bad == 0 {
		t.Error("the server has no text without an equal in UTF-8")
	}
}

// TestHalves reads halves of surrogate pairs, which MariaDB keeps where UTF-8 has none: they are errors that find their
// rows, in tables, views, JSON and queries, and their bytes can be read.
func TestHalves(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	for name, half := range map[string]string{
		"ucs2": "_ucs2 x'D800'", "utf32": "_utf32 x'0000DFFF'", "utf8mb3": "_utf8mb3 x'EDA080'",
		"utf8mb4": "_utf8mb4 x'ED9FBFEDB080'", "json": "_utf8mb4 x'225BEDAFBF5D22'",
	} {
		charset, check := name, ""
		if name == "json" {
			charset, check = "utf8mb4", " CHECK (JSON_VALID(c))"
		}
		database.Exec(t, "CREATE TABLE "+name+" (id int PRIMARY KEY, c text CHARACTER SET "+charset+check+");"+
			"INSERT INTO "+name+` VALUES (1, '"a"'), (2, '"한"'), (4, '"힣"');`+
			"CREATE VIEW v"+name+" AS SELECT * FROM "+name)
		expectRows(t, table(t, openAgain(t, database.URL()), name), 3)
		database.Exec(t, "SET check_constraint_checks = OFF; INSERT INTO "+name+" VALUES (3, "+half+")")
		for _, from := range []string{name, "v" + name, ""} {
			db := openAgain(t, database.URL())
			var rows source.Rows
			if from == "" {
				rows = query(t, db, "SELECT * FROM "+name+" ORDER BY id")
			} else {
				rows = table(t, db, from)
			}
			_, err := drain(rows)
			text, is := errors.AsType[*source.TextError](err)
			if !is || text.Column != "c" || text.Row != 3 {
				t.Errorf("%s: %v", name, err)
				continue
			}
			found := database.Query(t, "SELECT id FROM "+name+" WHERE "+text.Condition)
			if len(found) != 1 || found[0][0] != "3" {
				t.Errorf("%s: the condition finds %v", name, found)
			}
			if text.Query != "" {
				expectRows(t, query(t, db, text.Query), 4)
			}
		}
	}
}

// latin1 returns the bytes whose values the characters are.
func latin1(text string) string {
	var b []byte
	for _, c := range text {
		b = append(b, byte(c))
	}
	return string(b)
}
