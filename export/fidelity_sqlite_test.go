package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/sqlite"
)

// sqliteFile is a database with a writer.
type sqliteFile struct {
	path string
	conn *sqlite3.Conn
}

func newSQLite(tb testing.TB, script string) *sqliteFile {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	conn, err := sqlite3.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	})
	db := &sqliteFile{path, conn}
	// It can be written to beside those who read it.
	db.exec(tb, "PRAGMA synchronous = OFF; "+script+"; PRAGMA journal_mode = WAL")
	return db
}

func (db *sqliteFile) exec(tb testing.TB, sql string) {
	tb.Helper()
	if err := db.conn.Exec(sql); err != nil {
		tb.Fatalf("%.300s: %v", sql, err)
	}
}

// cells reads a table: of each cell the type and the value, all bits of it.
func (db *sqliteFile) cells(tb testing.TB, table string) []cells {
	tb.Helper()
	var rows []cells
	db.each(tb, "SELECT * FROM "+quoteName(table), func(stmt *sqlite3.Stmt) {
		row := make(cells, stmt.ColumnCount())
		for i := range row {
			row[i] = sqliteCell(stmt, i)
		}
		rows = append(rows, row)
	})
	return rows
}

func sqliteCell(stmt *sqlite3.Stmt, column int) *string {
	var cell string
	switch stmt.ColumnType(column) {
	case sqlite3.NULL:
		return nil
	case sqlite3.INTEGER:
		cell = fmt.Sprint("integer ", stmt.ColumnInt64(column))
	case sqlite3.FLOAT:
		cell = realCell(stmt.ColumnFloat(column))
	case sqlite3.TEXT:
		cell = "text " + string(stmt.ColumnRawText(column))
	default:
		cell = "blob " + string(stmt.ColumnRawBlob(column))
	}
	return &cell
}

func realCell(v float64) string { return fmt.Sprintf("real %x", math.Float64bits(v)) }

// expectPrinted compares the text of cells, in order, with what they are. A real must read back as the same.
func expectPrinted(tb testing.TB, what string, got, want []cells) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%s: %d rows, want %d", what, len(got), len(want))
	}
	for i, row := range want {
		for j, cell := range row {
			if text := got[i][j]; text == nil || cell == nil {
				if text != nil || cell != nil {
					tb.Errorf("%s: row %d, column %d: %v, want %v", what, i, j, got[i], row)
				}
			} else if !isPrinted(*text, *cell) {
				tb.Errorf("%s: row %d, column %d: %.100q of %.100q", what, i, j, *text, *cell)
			}
		}
	}
}

func isPrinted(text, cell string) bool {
	kind, value, _ := strings.Cut(cell, " ")
	switch kind {
	case "blob":
		return text == fmt.Sprintf(`\x%x`, value)
	case "real":
		v, err := strconv.ParseFloat(text, 64) // infinite if it is out of range
		return (err == nil || math.IsInf(v, 0)) && realCell(v) == cell && strings.Contains(text, ".")
	}
	return text == value
}

// each runs a statement with texts as its parameters.
func (db *sqliteFile) each(tb testing.TB, sql string, row func(*sqlite3.Stmt), args ...string) {
	tb.Helper()
	stmt, _, err := db.conn.Prepare(sql)
	if err != nil {
		tb.Fatal(err)
	}
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			tb.Fatal(err)
		}
	}
	for stmt.Step() {
		row(stmt)
	}
	if err := errors.Join(stmt.Err(), stmt.Close()); err != nil {
		tb.Fatalf("%.300s: %v", sql, err)
	}
}

func (db *sqliteFile) open(tb testing.TB) *sqlite.Source {
	tb.Helper()
	src, err := sqlite.OpenSource(db.path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := src.Close(); err != nil {
			tb.Error(err)
		}
	})
	return src
}

// shell runs the program sqlite3 on a database.
func shell(tb testing.TB, path, input string) string {
	tb.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		testkit.Missing(tb, "sqlite3", "apt-get install sqlite3, or the like")
	}
	cmd := exec.Command(program, "-init", "/dev/null", "-bail", path)
	cmd.Stdin = strings.NewReader(input)
	output, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %.1000s", err, failed.Stderr)
	}
	if err != nil {
		tb.Fatal("sqlite3:", err)
	}
	return string(output)
}

// columnsOf are the names of the columns of a table that can be filled.
func (db *sqliteFile) columnsOf(tb testing.TB, table string) (names []string) {
	tb.Helper()
	db.each(tb, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", func(stmt *sqlite3.Stmt) {
		names = append(names, stmt.ColumnText(0))
	}, table)
	return names
}

// loadJSONL loads an export into a table by json_each. Binary data, which JSON has no type for, is known by its \x.
func (db *sqliteFile) loadJSONL(tb testing.TB, text []byte, table string) {
	tb.Helper()
	var names, values []string
	for _, name := range db.columnsOf(tb, table) {
		names = append(names, quoteName(name))
		values = append(values, fmt.Sprintf(`(SELECT CASE WHEN type = 'text' AND substr(value, 1, 2) = '\x'
			THEN unhex(substr(value, 3)) ELSE value END FROM json_each(?1) WHERE key = '%s')`,
			strings.ReplaceAll(name, "'", "''")))
	}
	sql := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", quoteName(table), strings.Join(names, ", "),
		strings.Join(values, ", "))
	for line := range bytes.Lines(text) {
		db.each(tb, sql, func(*sqlite3.Stmt) {}, string(line))
	}
}

// sqliteValues are what a cell can hold, as SQL. Text that begins with \x is left out: see TestSQLiteJSONLimits.
var sqliteValues = func() []string {
	values := []string{
		"NULL", "x''", "x'00'", "x'5c78'", "x'ff00fe'", "zeroblob(3)", "x'" + allBytes() + "'", "CAST('text' AS BLOB)",
		"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "9007199254740993",
		"0.1", "0.1 + 0.2", "1.0", "-0.0", "0.0 * -1", "5e-324", "1.7976931348623157e308", "1e15", "1e16", "1e17",
		"0.0001", "1e-5", "9e999", "-9e999", "9e999 - 9e999", "123456789012345.67", "char(97, 0, 98)", "char(0)",
		"'12'", "'1.50'", "'1e5'", "' 12 '", "'0x1F'", "'Infinity'", "'9.0e+999'", "'-0'", "'9223372036854775808'",
		"'2024-02-29'", "2460369.5", "1709164800", "TRUE", `'{"a":1}'`, "hex(zeroblob(50000))",
	}
	for _, text := range nastyTexts {
		if !strings.HasPrefix(text, `\x`) {
			values = append(values, "'"+strings.ReplaceAll(text, "'", "''")+"'")
		}
	}
	return values
}()

// sqliteTables are definitions of tables of all kinds, and of those that they are loaded back into.
var sqliteTables = []struct{ name, columns, options string }{
	{"affinities", "i INTEGER, r REAL, t TEXT, b BLOB, n NUMERIC, x, d DATETIME, y BOOLEAN, j JSON", ""},
	{"without rowid", "x, y, z TEXT, id INTEGER PRIMARY KEY", "WITHOUT ROWID"},
	{"strict", "a ANY, t ANY, id INTEGER PRIMARY KEY", "STRICT"},
	{`odd "names"`, "\"a\"\"b\", \" \" TEXT, \"\n\" REAL, \"\" INTEGER, \"select\", \"\\\", \"é\", \"a,b\", 'É'", ""},
}

// fill adds a row for each of the values, with others beside it.
func (db *sqliteFile) fill(tb testing.TB, table string, values []string) {
	tb.Helper()
	names := db.columnsOf(tb, table)
	db.exec(tb, "BEGIN")
	for i := range values {
		row := make([]string, len(names))
		for j, name := range names {
			row[j] = values[(i+7*j)%len(values)]
			if name == "id" {
				row[j] = fmt.Sprint(i)
			}
		}
		db.exec(tb, fmt.Sprintf("INSERT INTO %s VALUES (%s)", quoteName(table), strings.Join(row, ", ")))
	}
	db.exec(tb, "COMMIT")
}

// TestSQLiteValues takes every value there and back, in databases of each encoding.
func TestSQLiteValues(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"UTF-8", "UTF-16le", "UTF-16be"} {
		db := newSQLite(t, "PRAGMA encoding = '"+encoding+"'")
		for i, table := range sqliteTables {
			back := fmt.Sprint("back", i)
			for _, name := range []string{table.name, back} {
				db.exec(t, fmt.Sprintf("CREATE TABLE %s (%s) %s", quoteName(name), table.columns, table.options))
			}
			db.fill(t, table.name, sqliteValues)
			db.expectFaithful(t, table.name, back)
		}
	}
}

// expectFaithful exports a table in all ways and loads it back from JSON Lines.
func (db *sqliteFile) expectFaithful(tb testing.TB, table, back string) {
	tb.Helper()
	src := db.open(tb)
	want := db.cells(tb, table)
	for _, way := range readings {
		what := fmt.Sprintf("%s, %s", table, way.name)
		text, _ := way.export(tb, src, table, format.CSV{})
		expectPrinted(tb, what+": CSV", parseCSV(tb, text)[1:], want)

		text, _ = way.export(tb, src, table, format.JSONL{})
		expectPrinted(tb, what+": JSON Lines", parseJSONL(tb, text, db.columnsOf(tb, table)), want)
		db.exec(tb, "BEGIN; DELETE FROM "+quoteName(back))
		db.loadJSONL(tb, text, back)
		db.exec(tb, "COMMIT")
		expectRows(tb, what+": JSON Lines loaded back", db.cells(tb, back), want)
	}
}

// TestSQLiteShell compares CSV with that of the program sqlite3, and loads it back with .import, as far as that
// keeps values: it takes every cell as text, which the type of the column then changes, so that NULL is the empty
// string.
func TestSQLiteShell(t *testing.T) {
	const columns = "i INTEGER, r REAL, t TEXT, n NUMERIC, x"
	db := newSQLite(t, "CREATE TABLE t ("+columns+"); CREATE TABLE back ("+columns+")")
	db.fill(t, "t", slices.DeleteFunc(slices.Clone(sqliteValues), func(value string) bool {
		return strings.Contains(value, "char(") // the shell ends a text at its first NUL
	}))
	src := db.open(t)
	text, _ := readings[0].export(t, src, "t", format.CSV{})
	rows, want := parseCSV(t, text)[1:], db.cells(t, "t")
	theirs := parseCSV(t, []byte(shell(t, db.path, ".mode csv\n.separator , \"\\n\"\nSELECT * FROM t;\n")))
	if len(theirs) != len(rows) {
		t.Fatalf("%d rows, the shell has %d", len(rows), len(theirs))
	}
	for i, row := range want {
		for j, cell := range row {
			switch kind := cellKind(cell); kind {
			case "blob": // printed as it is
			case "real":
				// Fifteen digits may be more than the largest number, which is then infinite here.
				ours, _ := strconv.ParseFloat(*rows[i][j], 64)
				v, _ := strconv.ParseFloat(*theirs[i][j], 64)
				near := v == ours || math.Abs(v/ours-1) < 1e-14
				if !near && !(math.IsInf(v, 0) && math.Abs(ours) == math.MaxFloat64) {
					t.Errorf("row %d, column %d: %s, the shell has %s", i, j, *rows[i][j], *theirs[i][j])
				}
			default:
				if cells.String(rows[i][j:j+1]) != cells.String(theirs[i][j:j+1]) {
					t.Errorf("row %d, column %d: %v, the shell has %v", i, j, rows[i][j:j+1], theirs[i][j:j+1])
				}
			}
		}
	}

	file := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	shell(t, db.path, ".mode csv\n.separator , \"\\n\"\n.import --skip 1 "+file+" back\n")
	for i, row := range db.cells(t, "back") {
		for j, got := range row {
			cell := want[i][j]
			kept := map[string][]int{"integer": {0, 3}, "real": {1}, "text": {0, 1, 2, 3, 4}, "NULL": {}, "blob": {}}
			if slices.Contains(kept[cellKind(cell)], j) && *got != *cell {
				t.Errorf("row %d, column %d is %q when loaded back, and was %q", i, j, *got, *cell)
			}
		}
	}
}

// cellKind is the type of a cell.
func cellKind(cell *string) string {
	if cell == nil {
		return "NULL"
	}
	kind, _, _ := strings.Cut(*cell, " ")
	return kind
}
