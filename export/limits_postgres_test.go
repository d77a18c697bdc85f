package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
)

// TestPostgresEncodings takes text in the encodings of other databases there and back. The files are in UTF-8.
func TestPostgresEncodings(t *testing.T) {
	for _, test := range []struct {
		encoding, client string
		texts            []string
	}{
		{"LATIN1", "LATIN1", []string{"é", "ÿ\u00a0", "a\nb", `\`, ""}},
		{"EUC_JP", "SJIS", []string{"表", "ソ\\", "あ,い", "\"漢\"", ""}}, // in SJIS with the byte of a backslash
	} {
		encoding, texts := test.encoding, test.texts
		database := testkit.Postgres(t).NewDatabase(t, "ENCODING", encoding, "TEMPLATE template0 LOCALE 'C'")
		database.Exec(t, fmt.Sprintf(oddSQL, database.Name, test.client))
		table := newTable(t, database, texts[0], []postgresColumn{
			{texts[0], "text"}, {"a", "json"}, {"b", "jsonb"}, {"c", "text[]"}, {"d", "xml"},
		})
		for _, text := range texts {
			quoted := quoteJSON(text)
			array, tag := "{"+quoted+"}", "<a>"+text+"</a>"
			object := "{" + quoted + ":[" + quoted + "]}"
			table.insert(t, []cells{{&text, &object, &object, &array, &tag}})
		}
		want := table.copied(t, "UTF8")
		for _, way := range readings {
			table.expectFaithful(t, way, want)
		}
	}
}

// TestPostgresAnyBytes takes bytes that are no text in any encoding there and back.
func TestPostgresAnyBytes(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t, "ENCODING SQL_ASCII TEMPLATE template0 LOCALE 'C'")
	table := newTable(t, database, "t", []postgresColumn{{"id", "integer"}, {"t", "text"}})
	table.run(t, `SET LOCAL client_encoding = 'SQL_ASCII'; INSERT INTO t VALUES
		(1, E'\xff'), (2, E'\xc3\xa9'), (3, E'\xc3'), (4, E'a\xe9,"\xff\n\x80'), (5, E'\xed\xa0\x80'),
		(6, ''), (7, NULL)`)
	table.run(t, `INSERT INTO t SELECT i, convert_from(decode(to_hex(i), 'hex'), 'SQL_ASCII')
		FROM generate_series(16, 255) AS i`)
	table.spread(t)
	src := table.open(t)
	want := table.copied(t, "SQL_ASCII")
	for _, way := range readings {
		text, stats := way.export(t, src, "t", format.CSV{})
		expectRows(t, way.name, parseCSV(t, text), parseCSV(t, []byte(want)))
		if stats.Readers == 1 && string(text) != want {
			t.Errorf("%s: the CSV is not psql's: %s", way.name, difference(string(text), want))
		}
		table.run(t, "TRUNCATE back, lines")
		psql(t, table.database, "SQL_ASCII", string(text), "-c", `\copy back from pstdin csv header`)
		table.expectBack(t, way.name+": CSV", exact)

		plan := export.Plan{
			Format: format.JSONL{}, Unencrypted: true, Compression: export.None, Jobs: way.jobs, Ordered: way.ordered,
		}
		_, err := plan.Table(t.Context(), new(bytes.Buffer), src, "t")
		if invalid, ok := errors.AsType[*format.InvalidUTF8Error](err); !ok || invalid.Column != "t" {
			t.Errorf("%s: JSON Lines: %v", way.name, err)
		}

		text, _ = way.export(t, src, "t", format.JSONL{InvalidUTF8: format.Base64Invalid})
		parseJSONL(t, text, table.names())
		table.run(t, "TRUNCATE back, lines")
		psql(t, table.database, "UTF8", string(text), "-c",
			`\copy lines from pstdin csv quote e'\x01' delimiter e'\x02'`, "-c", `
			INSERT INTO back SELECT (line::json->>'id')::int, CASE json_typeof(line::json->'t') WHEN 'object'
				THEN convert_from(decode(line::json->'t'->>'base64', 'base64'), 'SQL_ASCII')
				ELSE line::json->>'t' END FROM lines`)
		table.expectBack(t, way.name+": JSON Lines", exact)
	}
}

// TestPostgresJSONLimits has the values that PostgreSQL does not give back out of JSON as they were, and what becomes
// of them. The same becomes of them out of the JSON that PostgreSQL makes of the row, except where ours has an object
// with the text of a value.
func TestPostgresJSONLimits(t *testing.T) {
	const null = "NULL"
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, "CREATE DOMAIN document AS jsonb")
	for i, test := range []struct {
		kind, value, byJSON, byJSONB string // the value, or the code of the error
		theirs                       string // both, if they are others
	}{
		// A null of JSON is NULL for both functions, and a string in a type of another name may be a text.
		{"json", "null", `{"json_text":"null"}`, `{"json_text": "null"}`, null},
		{"jsonb", "null", `{"json_text": "null"}`, `{"json_text": "null"}`, null},
		{"document", `"x"`, `{"json_text": "\"x\""}`, `{"json_text": "\"x\""}`, `"x"`},
		// A scalar is read and written again.
		{"json", ` "\u00e9" `, `"é"`, `"é"`, ""},
		{"json", " 1 ", "1", "1", ""},
		// Neither takes characters that the text of the database cannot have.
		{"json", `["\u0000"]`, "22P05", "22P05", ""},
		{"json", `["\ud800"]`, "22P02", "22P02", ""},
		// jsonb has the last of repeated keys, in an order of its own, and numbers as numeric has them.
		{"json", `{"b":1,"a":2,"b":3}`, `{"b":1,"a":2,"b":3}`, `{"a": 2, "b": 3}`, ""},
		{"json", `[1e999999]`, `[1e999999]`, "22003", ""},
		{"json", `[1E2, -0]`, `[1E2, -0]`, "[100, 0]", ""},
		{"double precision", "-0", "-0", "0", ""},
		{"real", "-0", "-0", "0", ""},
	} {
		table := newTable(t, database, fmt.Sprint("t", i), []postgresColumn{{"v", test.kind}})
		table.insert(t, []cells{{&test.value}})
		line, _ := readings[0].export(t, table.open(t), table.name, format.JSONL{})
		for function, want := range map[string]string{"json": test.byJSON, "jsonb": test.byJSONB} {
			for maker, of := range map[string]string{
				"ours":   "'" + strings.TrimSuffix(string(line), "\n") + "'",
				"theirs": "(SELECT row_to_json(t)::text FROM " + table.name + " AS t)",
			} {
				want := want
				if maker == "theirs" && test.theirs != "" {
					want = test.theirs
				}
				sql := fmt.Sprintf("SELECT (%s_populate_record(NULL::back, %s::%[1]s)).v", function, of)
				if got := table.outcome(t, sql); got != want {
					t.Errorf("%s %s out of %s, %s: %s, want %s", test.kind, test.value, function, maker, got, want)
				}
			}
		}
	}
}

// outcome is the value that a query gives, or the code of its error.
func (table *postgresTable) outcome(tb testing.TB, sql string) string {
	tb.Helper()
	results, err := table.conn.Exec(tb.Context(), sql).ReadAll()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	if err != nil {
		tb.Fatal(err)
	}
	if value := results[0].Rows[0][0]; value != nil {
		return string(value)
	}
	return "NULL"
}

// TestPostgresJSONOnOneLine has the one thing that a line takes from json: the white space around its breaks.
func TestPostgresJSONOnOneLine(t *testing.T) {
	table := newTable(t, testkit.Postgres(t).NewDatabase(t), "t", []postgresColumn{{"v", "json"}})
	table.run(t, `INSERT INTO t VALUES (E'{\n  "b" : 1.0,\r\n  "a" : "x  y\\n", "b" : [ ]\n}')`)
	for _, way := range readings {
		text, _ := way.export(t, table.open(t), "t", format.JSONL{})
		table.loadJSONL(t, text, "json")
		if got, want := table.outcome(t, "SELECT v FROM back"), `{"b":1.0,"a":"x  y\n","b":[]}`; got != want {
			t.Errorf("%s: %s, want %s", way.name, got, want)
		}
		table.expectBack(t, way.name, throughJSONB)
	}
}

// TestPostgresDeepJSON takes JSON there and back that is nested deeper than most readers allow.
func TestPostgresDeepJSON(t *testing.T) {
	table := newTable(t, testkit.Postgres(t).NewDatabase(t), "t", []postgresColumn{{"a", "json"}, {"b", "jsonb"}})
	deep := strings.Repeat("[", 12_000) + strings.Repeat("]", 12_000)
	table.insert(t, []cells{{&deep, &deep}})
	for _, way := range readings {
		text, _ := way.export(t, table.open(t), "t", format.JSONL{})
		for _, kind := range []string{"json", "jsonb"} {
			table.loadJSONL(t, text, kind)
			table.expectBack(t, way.name+", "+kind, exact)
		}
	}
}

// TestPostgresHighChar exports the "char" of a byte that is no character, which PostgreSQL prints as it is before
// version 16: CSV has it, but neither COPY nor a reader of JSON would take it.
func TestPostgresHighChar(t *testing.T) {
	table := newTable(t, testkit.Postgres(t).NewDatabase(t), "t", []postgresColumn{{"v", `"char"`}})
	table.run(t, `INSERT INTO t VALUES ('é')`)
	want := table.copied(t, "UTF8")
	for _, way := range readings {
		if text, _ := way.export(t, table.open(t), "t", format.CSV{}); string(text) != want {
			t.Errorf("%s: %q, want %q", way.name, text, want)
		}
		plan := export.Plan{Format: format.JSONL{}, Unencrypted: true, Jobs: way.jobs, Ordered: way.ordered}
		_, err := plan.Table(t.Context(), new(bytes.Buffer), table.open(t), "t")
		if _, refused := errors.AsType[*format.InvalidUTF8Error](err); refused != (want == "v\n\xc3\n") {
			t.Errorf("%s: JSON Lines of %q: %v", way.name, want, err)
		}
	}
}

// TestPostgresExtensions takes the types of extensions there and back, as far as they are installed.
func TestPostgresExtensions(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	var columns []postgresColumn
	rows := make([]cells, 4)
	for i, extension := range []struct {
		name   string
		values []string
	}{
		{"hstore", []string{``, `"a"=>NULL, ""=>"", "b"=>"NULL"`, "\"q\\\"\"=>\"\\\\\", \"n\nl\"=>\",\""}},
		{"citext", []string{"", "A\nb", `\.`}},
		{"ltree", []string{"", "a.B_1.c"}},
		{"cube", []string{"(0.1, -0),(1e-300, 1)", "(NaN)"}},
		{"seg", []string{"1.50(+-)0.1", "<5"}},
	} {
		if len(database.Query(t, "SELECT FROM pg_available_extensions WHERE name = '"+extension.name+"'")) == 0 {
			continue
		}
		database.Exec(t, "CREATE EXTENSION "+extension.name)
		columns = append(columns, postgresColumn{fmt.Sprint("c", i), extension.name})
		for j := range rows {
			var cell *string
			if j > 0 {
				cell = &extension.values[j%len(extension.values)]
			}
			rows[j] = append(rows[j], cell)
		}
	}
	if len(columns) == 0 {
		testkit.Missing(t, "the extensions of PostgreSQL", "apt-get install postgresql-contrib, or the like")
	}
	table := newTable(t, database, "t", columns)
	table.insert(t, rows)
	want := table.copied(t, "UTF8")
	for _, way := range readings {
		table.expectFaithful(t, way, want)
	}
}
