package export_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/postgres"
)

// plainSQL are the settings under which pg_dump prints values, for a transaction.
const plainSQL = `SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'postgres';
SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL quote_all_identifiers = off;`

// oddSQL sets options of a database under which it prints values, and reads them, in other ways.
const oddSQL = `
ALTER DATABASE %[1]s SET TimeZone = 'Australia/Lord_Howe'; ALTER DATABASE %[1]s SET DateStyle = 'SQL, DMY';
ALTER DATABASE %[1]s SET IntervalStyle = 'sql_standard'; ALTER DATABASE %[1]s SET extra_float_digits = -10;
ALTER DATABASE %[1]s SET bytea_output = 'escape'; ALTER DATABASE %[1]s SET client_encoding = '%[2]s';
ALTER DATABASE %[1]s SET quote_all_identifiers = on; ALTER DATABASE %[1]s SET xmloption = 'content'`

// postgresTable is a table to export and to load back.
type postgresTable struct {
	database *testkit.PostgresDatabase
	name     string
	columns  []postgresColumn // without those that are generated
	conn     *pgconn.PgConn   // with the settings of the database, but for the encoding
}

type postgresColumn struct{ name, kind string }

func (c postgresColumn) quoted() string { return quoteName(c.name) }

func (c postgresColumn) definition() string { return c.quoted() + " " + c.kind }

// newTable makes a table in a database whose settings are made.
func newTable(
	tb testing.TB, database *testkit.PostgresDatabase, name string, columns []postgresColumn,
) *postgresTable {
	tb.Helper()
	conn, err := pgconn.Connect(tb.Context(), database.ConnString()+" client_encoding=UTF8")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	table := &postgresTable{database, name, columns, conn}
	table.run(tb, fmt.Sprintf(`CREATE TABLE %s (%s);
		CREATE TABLE IF NOT EXISTS lines (line text); SET client_min_messages = warning`,
		quoteName(name), table.list(postgresColumn.definition)))
	table.clone(tb)
	return table
}

// clone makes a table with the same columns for what is loaded back.
func (table *postgresTable) clone(tb testing.TB) {
	tb.Helper()
	table.run(tb, "DROP TABLE IF EXISTS back; CREATE TABLE back (LIKE "+quoteName(table.name)+" INCLUDING GENERATED)")
}

// run runs statements in a transaction.
func (table *postgresTable) run(tb testing.TB, sql string) []*pgconn.Result {
	tb.Helper()
	results, err := table.conn.Exec(tb.Context(), "BEGIN;"+plainSQL+sql+";COMMIT").ReadAll()
	if err != nil {
		tb.Fatalf("%s: %v, from %.300s", table.name, err, sql)
	}
	return results
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (table *postgresTable) names() []string {
	var names []string
	for _, c := range table.columns {
		names = append(names, c.name)
	}
	return names
}

// list is one expression for each column, from a pattern for its quoted name.
func (table *postgresTable) list(expression func(c postgresColumn) string) string {
	var all []string
	for _, c := range table.columns {
		all = append(all, expression(c))
	}
	return strings.Join(all, ", ")
}

// insert adds rows of the texts of values.
func (table *postgresTable) insert(tb testing.TB, rows []cells) {
	tb.Helper()
	var sql strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&sql, "INSERT INTO %s (%s) VALUES (", quoteName(table.name), table.list(postgresColumn.quoted))
		for i, cell := range row {
			if i > 0 {
				sql.WriteString(", ")
			}
			if cell == nil {
				sql.WriteString("NULL")
			} else {
				sql.WriteString("'" + strings.ReplaceAll(*cell, "'", "''") + "'")
			}
		}
		sql.WriteString(");\n")
	}
	table.run(tb, sql.String())
}

// spread puts pages without rows between those that the table has and those that follow, so that several connections
// share it.
func (table *postgresTable) spread(tb testing.TB) {
	tb.Helper()
	table.run(tb, fmt.Sprintf(`
		ALTER TABLE %[1]s ADD fill text; ALTER TABLE %[1]s ALTER fill SET STORAGE PLAIN;
		INSERT INTO %[1]s (fill) SELECT repeat('x', 2000) FROM generate_series(1, 4400);
		DELETE FROM %[1]s WHERE fill IS NOT NULL;
		ALTER TABLE %[1]s DROP fill`, quoteName(table.name)))
}

// open opens the database as a source.
func (table *postgresTable) open(tb testing.TB) *postgres.Source {
	tb.Helper()
	db, err := postgres.OpenSource(tb.Context(), table.database.ConnString())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// psql runs psql with an input, in the encoding of the output of an export.
func psql(tb testing.TB, database *testkit.PostgresDatabase, encoding, input string, args ...string) []byte {
	tb.Helper()
	cmd := database.PsqlCommand(tb, args...)
	cmd.Env = append(cmd.Env, "PGCLIENTENCODING="+encoding)
	cmd.Stdin = strings.NewReader(input)
	output, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %.2000s", err, failed.Stderr)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return output
}

// copied is the CSV that psql prints.
func (table *postgresTable) copied(tb testing.TB, encoding string) string {
	tb.Helper()
	return string(psql(tb, table.database, encoding, "",
		"-c", "BEGIN; "+plainSQL, "-c", `\copy `+quoteName(table.name)+` to stdout csv header`))
}

// loadCSV loads an export by psql. Before version 18 psql takes a line of \. for the end, wherever it stands. The
// server does not, and so gets such a text directly.
func (table *postgresTable) loadCSV(tb testing.TB, text []byte) {
	tb.Helper()
	table.run(tb, "TRUNCATE back, lines")
	if !bytes.Contains(text, []byte("\n\\.\n")) {
		psql(tb, table.database, "UTF8", string(text), "-c", `\copy back from pstdin csv header`)
		return
	}
	const sql = "COPY back FROM STDIN (FORMAT csv, HEADER)"
	if _, err := table.conn.CopyFrom(tb.Context(), bytes.NewReader(text), sql); err != nil {
		tb.Fatalf("loading CSV: %v", err)
	}
}

// loadJSONL loads an export by json_populate_record or jsonb_populate_record. A byte that no line has is the quote, and
// another one the delimiter, so that each line is a value.
func (table *postgresTable) loadJSONL(tb testing.TB, text []byte, kind string) {
	tb.Helper()
	table.run(tb, "TRUNCATE back, lines")
	if _, err := table.conn.CopyFrom(tb.Context(), bytes.NewReader(text),
		`COPY lines FROM STDIN (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')`); err != nil {
		tb.Fatalf("loading JSON Lines: %v", err)
	}
	sql := fmt.Sprintf("INSERT INTO back (%s) SELECT %s FROM lines, %s_populate_record(NULL::back, line::%[3]s) AS r",
		table.list(postgresColumn.quoted), table.list(func(c postgresColumn) string { return "r." + c.quoted() }), kind)
	if len(table.columns) == 0 {
		sql = "INSERT INTO back SELECT FROM lines"
	}
	if _, err := table.conn.Exec(tb.Context(), sql).ReadAll(); err != nil {
		tb.Fatalf("loading JSON Lines by %s_populate_record: %v", kind, err)
	}
}

// expectBack compares what was loaded with the table, by the text of expressions over the columns.
func (table *postgresTable) expectBack(tb testing.TB, what string, expression func(c postgresColumn) string) {
	tb.Helper()
	lost := func(expressions, from, in string) (rows []string) {
		sql := fmt.Sprintf("SELECT left(r, 300) FROM (%s FROM %s EXCEPT ALL %[1]s FROM %[3]s) AS d LIMIT 3",
			expressions, from, in)
		for _, result := range table.run(tb, sql) {
			for _, row := range result.Rows {
				rows = append(rows, string(row[0]))
			}
		}
		return rows
	}
	// A row as text tells NULL from the empty string.
	row := "SELECT ROW(" + table.list(expression) + ")::text AS r"
	if len(lost(row, quoteName(table.name), "back"))+len(lost(row, "back", quoteName(table.name))) == 0 {
		return
	}
	tb.Errorf("%s: the table is another when it is loaded back", what)
	for _, c := range table.columns {
		value := "SELECT (" + expression(c) + ")::text AS r"
		if rows := lost(value, quoteName(table.name), "back"); len(rows) > 0 {
			tb.Errorf("%s %s: lost %q, has %q", c.name, c.kind, rows, lost(value, "back", quoteName(table.name)))
		}
	}
}

// exact is the expression that compares all of a value.
func exact(c postgresColumn) string { return c.quoted() }

// throughJSONB is exact but for what jsonb does not keep: the layout and the repeated keys of json, and the sign of a
// zero.
func throughJSONB(c postgresColumn) string {
	switch c.kind {
	case "json":
		return c.quoted() + "::jsonb"
	case "real", "double precision":
		return "0 + " + c.quoted()
	}
	return c.quoted()
}

// expectFaithful exports the table in a way of reading and loads it back from each format.
func (table *postgresTable) expectFaithful(tb testing.TB, way reading, want string) export.Stats {
	tb.Helper()
	what := fmt.Sprintf("%s, %s", table.name, way.name)
	src := table.open(tb)
	text, stats := way.export(tb, src, table.name, format.CSV{})
	rows := parseCSV(tb, text)
	if stats.Readers > 1 {
		expectRows(tb, what+": CSV of psql", rows, parseCSV(tb, []byte(want)))
	} else if string(text) != want {
		tb.Errorf("%s: the CSV is not psql's: %s", what, difference(string(text), want))
	}
	if sum := sumOfLines(tb, splitCSV([]byte(want))[1:]); stats.Sum != sum {
		tb.Errorf("%s: CSV has the sum %s, want %s", what, stats.Sum, sum)
	}
	table.loadCSV(tb, text)
	table.expectBack(tb, what+": CSV", exact)

	text, ofJSON := way.export(tb, src, table.name, format.JSONL{})
	if ofJSON.Sum != stats.Sum {
		tb.Errorf("%s: JSON Lines have the sum %s, and CSV %s", what, ofJSON.Sum, stats.Sum)
	}
	if len(table.columns) > 0 {
		expectRows(tb, what+": JSON Lines", parseJSONL(tb, text, table.names()), table.cellsOfJSON(tb, rows[1:]))
	}
	table.loadJSONL(tb, text, "json")
	table.expectBack(tb, what+": json_populate_record", exact)
	table.loadJSONL(tb, text, "jsonb")
	table.expectBack(tb, what+": jsonb_populate_record", throughJSONB)
	return stats
}

// cellsOfJSON returns rows with the JSON in them as the text that it stands for.
func (table *postgresTable) cellsOfJSON(tb testing.TB, rows []cells) []cells {
	tb.Helper()
	for i, c := range table.columns {
		if !slices.Contains([]string{"json", "jsonb", "document"}, c.kind) {
			continue
		}
		for _, row := range rows {
			if row[i] == nil {
				continue
			}
			cell, err := cellOfJSON(*row[i])
			if err != nil {
				tb.Fatal(err)
			}
			row[i] = cell
		}
	}
	return rows
}

// newNasty makes a table of each value of each type, every one beside others, and a row of nothing but NULL. Columns
// that are generated or were dropped stand between the others.
func newNasty(tb testing.TB) *postgresTable {
	tb.Helper()
	database := testkit.Postgres(tb).NewDatabase(tb)
	database.Exec(tb, postgresTypesSQL)
	database.Exec(tb, fmt.Sprintf(oddSQL, database.Name, "LATIN1"))
	columns := []postgresColumn{{"gone", "text"}}
	rows := 0
	for i, kind := range postgresTypes {
		columns = append(columns, postgresColumn{fmt.Sprintf("c%d", i), kind.name})
		rows = max(rows, len(kind.values))
	}
	table := newTable(tb, database, "nasty", columns)
	table.columns = columns[1:]
	table.run(tb, "ALTER TABLE nasty DROP gone; ALTER TABLE nasty ADD half bigint GENERATED ALWAYS AS (c10 / 2) STORED")
	table.clone(tb)
	all := []cells{make(cells, len(table.columns))}
	for i := range rows {
		row := make(cells, len(table.columns))
		for j, kind := range postgresTypes {
			row[j] = &kind.values[i%len(kind.values)]
		}
		all = append(all, row)
	}
	table.insert(tb, all[:rows/2])
	table.spread(tb)
	table.insert(tb, all[rows/2:])
	return table
}

// logicalTypes has the logical types of postgresTypes. That of a type that is missing here is unknown.
var logicalTypes = map[string]string{
	"text": "string", "varchar": "string", "varchar(7)": "string(7)", "char(5)": "char(5)", `"char"`: "string",
	"name": "string", "boolean": "bool", "flag": "bool", "smallint": "int16", "integer": "int32", "bigint": "int64",
	"oid": "int64", "real": "float32", "double precision": "float64", "numeric": "decimal",
	"numeric(10,2)": "decimal(10,2)", "numeric(5,-3)": "decimal(5,-3)", "quantity": "decimal(12,3)", "date": "date",
	"timestamp": "timestamp", "timestamptz": "instant", "time": "time", "time(2)": "time(2)", "interval": "interval",
	"interval day to second(1)": "interval", "text[]": "list(string)", "words": "list(string)", "int[]": "list(int32)",
	"float8[]": "list(float64)", "numeric[]": "list(decimal)", "bytea[]": "list(bytes)", "boolean[]": "list(bool)",
	"json[]": "list(json)", "timestamptz[]": "list(instant)", "mood": "enum", "bytea": "bytes", "secret": "bytes",
	"json": "json", "jsonb": "json", "document": "json", "uuid": "uuid", "pair[]": "list(unknown)",
	"box[]": "list(unknown)",
}

// expectLogical compares the logical type of each column.
func (table *postgresTable) expectLogical(t *testing.T) {
	t.Helper()
	rows, err := table.open(t).Table(t.Context(), table.name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	kinds := map[string]string{}
	for _, c := range table.columns {
		kinds[c.name] = c.kind
	}
	for _, c := range rows.Columns() {
		kind := kinds[c.Name]
		if want := cmp.Or(logicalTypes[kind], "unknown"); kind != "" && c.Logical.String() != want {
			t.Errorf("%s has the logical type %s, want %s", kind, c.Logical, want)
		}
		delete(kinds, c.Name)
	}
	if len(kinds) > 0 {
		t.Errorf("these columns are not read: %v", kinds)
	}
}

// TestPostgresValues takes every value there and back.
func TestPostgresValues(t *testing.T) {
	t.Parallel()
	table := newNasty(t)
	table.expectLogical(t)
	want := table.copied(t, "UTF8")
	for _, way := range readings {
		stats := table.expectFaithful(t, way, want)
		readers := way.jobs
		if way.ordered {
			readers = 1
		}
		if stats.Readers != readers {
			t.Errorf("%s: %d readers", way.name, stats.Readers)
		}
	}
}

// nastyNames are names of columns that can stand in one table.
var nastyNames = []string{
	"a", "A", " a", "a ", " ", "\n", "\r\n", "\t", `"`, `""`, "'", ",", `\`, `\.`, `\n`, "a,b", `say "hi"`, "select",
	"NULL", "été", strings.Repeat("表", 21), strings.Repeat("🜄", 15) + "abc", "\ufeffa", "\u202ea", "\u200b", "\u00a0",
	"\x01\x7f",
	"e\u0301", "\u00e9", "$1", "{}", "ctid ", "Ctid", "1", "-", "--", "/*", "%", "true", "__proto__", "0",
}

// TestPostgresTables takes tables of odd shapes there and back.
func TestPostgresTables(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t).NewDatabase(t)
	manyTexts := func(names []string) (columns []postgresColumn) {
		for _, name := range names {
			columns = append(columns, postgresColumn{name, "text"})
		}
		return columns
	}
	numbered := make([]string, 1600)
	for i := range numbered {
		numbered[i] = fmt.Sprint("c", i)
	}
	for _, test := range []struct {
		name    string
		columns []postgresColumn
	}{
		{"none", nil},
		{`one "or", two`, manyTexts([]string{"a"})},
		{"names", manyTexts(nastyNames)},
		{"widest", manyTexts(numbered)},
	} {
		table := newTable(t, database, test.name, test.columns)
		if len(table.columns) == 0 {
			table.run(t, "INSERT INTO none SELECT FROM generate_series(1, 3)")
		}
		for i := range nastyTexts {
			if len(table.columns) == 0 || i > 3 && len(table.columns) > 1 {
				break
			}
			row := make(cells, len(table.columns))
			for j := range row {
				if (i+j)%3 > 0 || len(row) == 1 {
					row[j] = &nastyTexts[(i+j)%len(nastyTexts)]
				}
			}
			table.insert(t, []cells{row, make(cells, len(row))})
		}
		want := table.copied(t, "UTF8")
		for _, way := range readings {
			table.expectFaithful(t, way, want)
		}
	}
}
