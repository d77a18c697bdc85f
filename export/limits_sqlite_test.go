package export_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
)

// TestSQLiteJSONLimits has what JSON Lines do not tell apart: binary data, and a text that looks like it.
func TestSQLiteJSONLimits(t *testing.T) {
	db := newSQLite(t, `CREATE TABLE t (x); INSERT INTO t VALUES (x'41'), ('\x41')`)
	text, _ := readings[0].export(t, db.open(t), "t", format.JSONL{})
	if want := strings.Repeat(`{"x":"\\x41"}`+"\n", 2); string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// TestSQLiteAnyBytes takes text that is not UTF-8 there and back.
func TestSQLiteAnyBytes(t *testing.T) {
	db := newSQLite(t, `CREATE TABLE t (x TEXT, y); CREATE TABLE back (x TEXT, y);
		INSERT INTO t VALUES (CAST(x'ff61c3' AS TEXT), 1), (CAST(x'eda080' AS TEXT), 2), ('é', 3),
		(CAST(x'80' AS TEXT), 4)`)
	src, want := db.open(t), db.cells(t, "t")
	for _, way := range readings {
		text, _ := way.export(t, src, "t", format.CSV{})
		expectPrinted(t, way.name, parseCSV(t, text)[1:], want)

		plan := export.Plan{Format: format.JSONL{}, Unencrypted: true, Jobs: way.jobs, Ordered: way.ordered}
		_, err := plan.Table(t.Context(), new(bytes.Buffer), src, "t")
		invalid, ok := errors.AsType[*format.InvalidUTF8Error](err)
		if !ok || invalid.Column != "x" || invalid.Row != 1 {
			t.Errorf("%s: JSON Lines: %v", way.name, err)
		}
		text, _ = way.export(t, src, "t", format.JSONL{InvalidUTF8: format.Base64Invalid})
		rows := parseJSONL(t, text, []string{"x", "y"})
		for _, row := range rows {
			var object struct{ Base64 string }
			if !strings.HasPrefix(*row[0], "{") {
				continue
			}
			if err := json.Unmarshal([]byte(*row[0]), &object); err != nil {
				t.Fatal(err)
			}
			decoded, err := base64.StdEncoding.DecodeString(object.Base64)
			if err != nil {
				t.Fatal(err)
			}
			*row[0] = string(decoded)
		}
		expectPrinted(t, way.name, rows, want)
	}
}

// TestSQLiteOtherTables reads what has columns or rows of its own making.
func TestSQLiteOtherTables(t *testing.T) {
	db := newSQLite(t, `CREATE TABLE made (a, twice AS (a * 2), b TEXT, kept GENERATED ALWAYS AS (b || a) STORED);
		INSERT INTO made VALUES (1, 'x'), (NULL, 'y'), (x'00', NULL);
		CREATE TABLE back (a, twice AS (a * 2), b TEXT, kept GENERATED ALWAYS AS (b || a) STORED);
		CREATE VIEW seen (" a", b) AS SELECT a, kept FROM made; CREATE TABLE empty (a)`)
	src := db.open(t)
	for _, way := range readings {
		for _, table := range []string{"made", "seen", "empty"} {
			text, _ := way.export(t, src, table, format.CSV{})
			expectPrinted(t, way.name+" of "+table, parseCSV(t, text)[1:], db.cells(t, table))
		}
		// Generated columns are in the lines, and not asked for where they are loaded back.
		text, _ := way.export(t, src, "made", format.JSONL{})
		parseJSONL(t, text, []string{"a", "twice", "b", "kept"})
		db.exec(t, "DELETE FROM back")
		db.loadJSONL(t, text, "back")
		expectRows(t, way.name, db.cells(t, "back"), db.cells(t, "made"))
	}

	plan := export.Plan{Compression: export.None, Unencrypted: true}
	var out bytes.Buffer
	const twice = "SELECT a, b AS a, a FROM made WHERE b = 'x'"
	if _, err := plan.Query(t.Context(), &out, src, twice); err != nil || out.String() != "a,a,a\n1,x,1\n" {
		t.Errorf("columns of one name: %q, %v", out.String(), err)
	}
	out.Reset()
	plan.Format = format.JSONL{}
	if _, err := plan.Query(t.Context(), &out, src, twice); err == nil || out.Len() > 0 {
		t.Errorf("columns of one name in JSON Lines: %q, %v", out.String(), err)
	}
}

// TestSQLiteFullText reads a full-text index, with the numbers of its rows, and the table in which it keeps its
// content.
func TestSQLiteFullText(t *testing.T) {
	db := newSQLite(t, "CREATE TABLE t (x)")
	made := shell(t, db.path, "SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_FTS5';\n")
	if made == "" {
		t.Skip("the program sqlite3 has no FTS5")
	}
	shell(t, db.path, `CREATE VIRTUAL TABLE docs USING fts5(title, body);
		INSERT INTO docs VALUES ('a,b', NULL), ('', 'x');`)
	src := db.open(t)
	for _, way := range readings {
		text, _ := way.export(t, src, "docs_content", format.CSV{})
		if string(text) != "id,c0,c1\n1,\"a,b\",\n2,\"\",x\n" {
			t.Errorf("%s: %q", way.name, text)
		}
		text, _ = way.export(t, src, "docs", format.CSV{})
		if string(text) != "rowid,title,body\n1,\"a,b\",\n2,\"\",x\n" {
			t.Errorf("%s: the index is %q", way.name, text)
		}
	}
}

// TestSQLiteRandom takes random tables there and back.
func TestSQLiteRandom(t *testing.T) {
	t.Parallel()
	kinds := []string{"", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "VARCHAR(9)", "DOUBLE", "ANY"}
	rounds(t, 12, func(seed uint64) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			db := newSQLite(t, "PRAGMA encoding = '"+[]string{"UTF-8", "UTF-16le", "UTF-16be"}[r.IntN(3)]+"'")
			var columns []string
			seen := map[string]bool{}
			for _, i := range r.Perm(len(nastyNames))[:1+r.IntN(8)] {
				if name := strings.ToLower(nastyNames[i]); !seen[name] { // SQLite does not tell A from a
					columns = append(columns, quoteName(nastyNames[i])+" "+kinds[r.IntN(len(kinds))])
					seen[name] = true
				}
			}
			for _, name := range []string{"t", "back"} {
				db.exec(t, fmt.Sprintf("CREATE TABLE %s (%s)", name, strings.Join(columns, ", ")))
			}
			values := make([]string, r.IntN(60))
			for i := range values {
				values[i] = randomSQLite(r)
			}
			db.fill(t, "t", values)
			db.expectFaithful(t, "t", "back")
		})
	})
}

func randomSQLite(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return randomInteger(r)
	case 1:
		return fmt.Sprintf("%g", r.NormFloat64()*float64(uint64(1)<<r.IntN(64)))
	case 2:
		return "x'" + strings.TrimPrefix(randomBytea(r), `\x`) + "'"
	case 3:
		if text := randomText(r); !strings.HasPrefix(text, `\x`) {
			return "'" + strings.ReplaceAll(text, "'", "''") + "'"
		}
	}
	return sqliteValues[r.IntN(len(sqliteValues))]
}
