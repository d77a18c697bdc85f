package read_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// createTraps makes the table of traps, with generated columns, and table copy, which is the same without rows.
func createTraps(t *testing.T) *testkit.MariaDBDatabase {
	t.Helper()
	columns := []string{"id int PRIMARY KEY"}
	for i, trap := range traps {
		columns = append(columns, trapName(i)+" "+trap.sql)
	}
	columns = append(columns, "stored int AS (id * 2) STORED", "computed varchar(50) AS (CONCAT('=', id)) VIRTUAL")
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE traps ("+strings.Join(columns, ", ")+"); CREATE TABLE copy LIKE traps")
	insertTraps(t, database, "traps", trapRows(rand.New(rand.NewPCG(1, 0))))
	return database
}

func trapName(i int) string { return fmt.Sprintf("c%d", i) }

// trapRows are a row of NULLs, each value in a row of its own, and rows of random values.
func trapRows(r *rand.Rand) [][]string {
	var rows [][]string
	add := func(value func(column int) string) {
		row := []string{fmt.Sprint(len(rows) + 1)}
		for i := range traps {
			row = append(row, value(i))
		}
		rows = append(rows, row)
	}
	add(func(int) string { return "NULL" })
	for i, trap := range traps {
		for _, value := range trap.values {
			add(func(column int) string {
				if column == i {
					return value
				}
				return "NULL"
			})
		}
	}
	for range 500 {
		add(func(column int) string {
			trap := traps[column]
			switch {
			case r.IntN(8) == 0:
				return "NULL"
			case trap.random != nil:
				return trap.random(r)
			}
			return trap.values[r.IntN(len(trap.values))]
		})
	}
	return rows
}

// insertTraps inserts rows of SQL values.
func insertTraps(t *testing.T, database *testkit.MariaDBDatabase, table string, rows [][]string) {
	t.Helper()
	names := []string{"id"}
	for i := range traps {
		names = append(names, trapName(i))
	}
	var sql strings.Builder
	sql.WriteString("SET sql_mode = ''; SET time_zone = '+00:00'; INSERT INTO " + table +
		" (" + strings.Join(names, ", ") + ") VALUES ")
	for i, row := range rows {
		if i > 0 {
			sql.WriteByte(',')
		}
		sql.WriteString("(" + strings.Join(row, ", ") + ")")
	}
	database.Exec(t, sql.String())
}

// TestRoundTrip takes every value to a file and back, and has the server compare the rows.
func TestRoundTrip(t *testing.T) {
	database := createTraps(t)
	for _, test := range []struct {
		format format.Format
		parse  func(tb testing.TB, text string, columns []source.Column) [][]field
	}{
		{format.CSV{}, parseCSV},
		{format.JSONL{}, parseJSONL},
	} {
		t.Run(fmt.Sprintf("%T", test.format), func(t *testing.T) {
			rows := table(t, openAgain(t, database.URL()), "traps")
			columns := rows.Columns()
			if len(columns) != 1+len(traps) {
				t.Fatalf("there are %d columns, want %d", len(columns), 1+len(traps))
			}
			var loaded [][]string
			for _, row := range test.parse(t, encoded(t, test.format, rows), columns) {
				values := []string{row[0].text}
				for i, field := range row[1:] {
					values = append(values, field.literal(t, traps[i].class))
				}
				loaded = append(loaded, values)
			}
			database.Exec(t, "TRUNCATE copy")
			insertTraps(t, database, "copy", loaded)
			compareTraps(t, database)
		})
	}
}

// compareTraps compares the checksums of all rows, and tells which values differ.
func compareTraps(t *testing.T, database *testkit.MariaDBDatabase) {
	t.Helper()
	types, exact := []string{"int STORED", "varchar(50) VIRTUAL"}, []string{"stored", "computed"}
	for i, trap := range traps {
		types, exact = append(types, trap.sql), append(exact, trap.class.exact(trapName(i)))
	}
	sum := "MD5(CONCAT_WS(',', IFNULL(" + strings.Join(exact, ", '-'), IFNULL(") + ", '-')))"
	sums := func(table string) [][]string {
		return database.Query(t, "SELECT id, "+sum+" FROM "+table+" ORDER BY id")
	}
	want, got := sums("traps"), sums("copy")
	if len(want) < 500 || len(got) != len(want) {
		t.Fatalf("%d rows of %d came back", len(got), len(want))
	}
	for i, row := range want {
		if row[1] == "" || got[i][0] != row[0] {
			t.Fatalf("rows %q and %q cannot be compared", row, got[i])
		}
		if got[i][1] == row[1] {
			continue
		}
		for column, expression := range exact {
			value := func(table string) string {
				sql := fmt.Sprintf("SELECT IFNULL(%s, 'NULL') FROM %s WHERE id = %s", expression, table, row[0])
				return database.Query(t, sql)[0][0]
			}
			if before, after := value("traps"), value("copy"); before != after {
				t.Errorf("row %s: %s was %.200s and came back as %.200s", row[0], types[column], before, after)
			}
		}
	}
}

// exact is the SQL of a text that equal values of a column have in common, and no others.
func (c class) exact(column string) string {
	switch c {
	case float:
		return "CONCAT(" + column + " + 0e0)"
	case plain:
		return "CONCAT(" + column + ")"
	case member:
		return "CONCAT(" + column + " + 0, HEX(" + column + "))"
	}
	return "HEX(" + column + ")"
}

// field is a value that was parsed, or NULL.
type field struct {
	text string
	null bool
}

var (
	numberOrTime = regexp.MustCompile(`^[-0-9a-f:.e+ ]*$`)
	hexadecimal  = regexp.MustCompile(`^\\x([0-9a-f]{2})*$`)
	wholeNumber  = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
)

// literal writes a value as SQL.
func (f field) literal(tb testing.TB, c class) string {
	tb.Helper()
	expect := func(pattern *regexp.Regexp) {
		if !pattern.MatchString(f.text) {
			tb.Fatalf("%.100q does not look like %v", f.text, pattern)
		}
	}
	if f.null {
		return "NULL"
	}
	switch c {
	case plain, float:
		expect(numberOrTime)
		return "'" + f.text + "'"
	case bits:
		expect(wholeNumber)
		return f.text
	case binary:
		expect(hexadecimal)
		return "x'" + f.text[2:] + "'"
	}
	return fmt.Sprintf("CONVERT(x'%x' USING utf8mb4)", f.text)
}

// parseCSV is strict: a field is quoted from its first to its last byte, or has no quote in it.
func parseCSV(tb testing.TB, text string, columns []source.Column) [][]field {
	tb.Helper()
	var rows [][]field
	var row []field
	for rest := text; rest != ""; {
		var f field
		if strings.HasPrefix(rest, `"`) {
			rest = rest[1:]
			for {
				end := strings.IndexByte(rest, '"')
				if end < 0 {
					tb.Fatal("a quote is not closed")
				}
				f.text += rest[:end]
				rest = rest[end+1:]
				if !strings.HasPrefix(rest, `"`) {
					break
				}
				f.text += `"`
				rest = rest[1:]
			}
		} else {
			end := strings.IndexAny(rest, ",\n")
			if end < 0 || strings.ContainsAny(rest[:end], "\"\r") {
				tb.Fatalf("a field has a quote in it, or no end: %.100q", rest)
			}
			f.text, f.null, rest = rest[:end], end == 0, rest[end:]
		}
		row = append(row, f)
		switch {
		case strings.HasPrefix(rest, "\n"):
			if len(row) != len(columns) {
				tb.Fatalf("row %d has %d fields, want %d", len(rows), len(row), len(columns))
			}
			rows, row = append(rows, row), nil
		case !strings.HasPrefix(rest, ","):
			tb.Fatalf("a field is followed by %.100q", rest)
		}
		rest = rest[1:]
	}
	if len(row) > 0 || len(rows) == 0 {
		tb.Fatal("the last line is not complete")
	}
	for i, c := range columns {
		if rows[0][i].text != c.Name {
			tb.Errorf("column %d is named %q, want %q", i, rows[0][i].text, c.Name)
		}
	}
	return rows[1:]
}

// parseJSONL is strict: each line is one object, with each column once and in order.
func parseJSONL(tb testing.TB, text string, columns []source.Column) [][]field {
	tb.Helper()
	var rows [][]field
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if !ended || !utf8.ValidString(line) || !stdjson.Valid([]byte(line)) {
			tb.Fatalf("not a line of JSON: %.100q", line)
		}
		decoder := stdjson.NewDecoder(strings.NewReader(line))
		next := func(want stdjson.Token) {
			if got, err := decoder.Token(); err != nil || got != want {
				tb.Fatalf("token %v and the error %v, want %v", got, err, want)
			}
		}
		next(stdjson.Delim('{'))
		var row []field
		for i, c := range columns {
			next(c.Name)
			var raw stdjson.RawMessage
			if err := decoder.Decode(&raw); err != nil {
				tb.Fatal(err)
			}
			f := field{text: string(raw), null: string(raw) == "null"}
			if bytes.HasPrefix(raw, []byte(`"`)) && (i == 0 || traps[i-1].class != json) {
				if err := stdjson.Unmarshal(raw, &f.text); err != nil {
					tb.Fatal(err)
				}
			}
			var escaped struct {
				Text *string `json:"json_text"`
			}
			if bytes.HasPrefix(raw, []byte(`{"json_text":`)) && stdjson.Unmarshal(raw, &escaped) == nil {
				f.text = *escaped.Text
			}
			row = append(row, f)
		}
		next(stdjson.Delim('}'))
		rows = append(rows, row)
	}
	return rows
}

// TestWhatJSONLinesChange pins the JSON that does not come back from JSON Lines as it was, that with line breaks in it,
// and null, which does.
func TestWhatJSONLinesChange(t *testing.T) {
	testkit.NeedsMariaDB(t, "JSON that is kept as it was written")
	db, _ := openNew(t, `CREATE TABLE t (j json); INSERT INTO t VALUES ('{"a":\n [1,\t2]}'), ('null')`)
	const want = `{"j":{"a":[1,2]}}` + "\n" + `{"j":{"json_text":"null"}}` + "\n"
	if got := encoded(t, format.JSONL{}, table(t, db, "t")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := encoded(t, format.CSV{}, table(t, db, "t")); got != "j\n\"{\"\"a\"\":\n [1,\t2]}\"\nnull\n" {
		t.Errorf("CSV is %q", got)
	}
}
