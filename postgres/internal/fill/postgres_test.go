package fill_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/postgres/internal/fill"
	reading "culvert/postgres/internal/read"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/sink/sinktest"
	"culvert/source"
	"culvert/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSink(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, types)
	changes := changes
	if testkit.PostgresVersion(t) < 15 {
		changes = slices.DeleteFunc(slices.Clone(changes), func(c sinktest.Change) bool {
			return c.Type == "numeric(6,-2)"
		})
	}
	sinktest.Run(t, sinktest.Fixture{
		Open: func(t *testing.T) sink.Sink { return open(t, db.ConnString()) },
		Source: func(t *testing.T) source.Source {
			src, err := reading.Open(t.Context(), db.ConnString())
			if err != nil {
				t.Fatal(err)
			}
			return src
		},
		Exec:      func(t *testing.T, sql string) { db.Exec(t, sql) },
		Values:    values,
		Changes:   changes,
		Loses:     loses,
		Loaders:   true,
		Truncates: true, Conflicts: true, Ledger: true, EachPart: true, Sums: true, Busy: true, Plans: true,
		Groups: true,
	})
}

// types are made before the tables of the suite.
const types = `CREATE DOMAIN price AS numeric(6,2); CREATE DOMAIN prices AS price[];
	CREATE TYPE pair AS (name text, price price); CREATE TYPE nested AS (one pair, more pair[], word varchar(3));
	CREATE TYPE floats AS RANGE (subtype = real)`

// changes are values that PostgreSQL reads as others, or not at all times as the same.
var changes = []sinktest.Change{
	{Type: "date", Kind: source.Text, Value: "today"},
	{Type: "date", Kind: source.Text, Value: "01/02/2026"},
	{Type: "date", Kind: source.Text, Value: "2460369"},
	{Type: "timestamp", Kind: source.Text, Value: "now"},
	{Type: "timestamp", Kind: source.Text, Value: "2026-01-31 10:00:00+02"},
	{Type: "timestamp(2)", Kind: source.Text, Value: "2026-01-31 10:00:00.123"},
	{Type: "timestamptz", Kind: source.Text, Value: "2026-01-31 10:00 Europe/Berlin"},
	{Type: "time(0)", Kind: source.Text, Value: "10:00:00.5"},
	{Type: "interval(1)", Kind: source.Text, Value: "00:00:01.25"},
	{Type: "interval day", Kind: source.Text, Value: "1 day 10:00:00"},
	{Type: "interval hour to minute", Kind: source.Text, Value: "00:00:01"},
	{Type: "interval", Kind: source.Text, Value: "tomorrow"},
	{Type: "numeric(6,2)", Kind: source.Number, Value: "1.005"},
	{Type: "numeric(6,-2)", Kind: source.Number, Value: "1250"},
	{Type: "real", Kind: source.Number, Value: "0.1234567890123"},
	{Type: "char(3)", Kind: source.Text, Value: "abc  "},
	{Type: "char(5)", Kind: source.Text, Value: "abc "},
	{Type: "char(5)", Kind: source.Text, Value: " "},
	{Type: "varchar(3)", Kind: source.Text, Value: "abc "},
	{Type: "boolean", Kind: source.Text, Value: "tr"},
	{Type: "inet", Kind: source.Text, Value: "10/8"},
	{Type: "money", Kind: source.Text, Value: "12,50 €"},
	{Type: "money", Kind: source.Text, Value: "$ 12,50"},
	{Type: "money", Kind: source.Text, Value: "$1.250"},
	{Type: "money", Kind: source.Number, Value: "1.005"},
	{Type: "oid", Kind: source.Text, Value: "-1"},
	{Type: "numeric(6,2)[]", Kind: source.Text, Value: `[0:1]={1.5,"1.005"}`},
	{Type: "varchar(3)[]", Kind: source.Text, Value: `{abc,"abc "}`},
	{Type: "date[]", Kind: source.Text, Value: "{{2026-01-31},{today}}"},
	{Type: "int[]", Kind: source.Text, Value: "{1, 007}"},
	{Type: "bytea[]", Kind: source.Text, Value: `{"\\101"}`},
	{Type: "daterange", Kind: source.Text, Value: "[2026-01-31,tomorrow)"},
	{Type: "tstzrange[]", Kind: source.Text, Value: `{"[\"2026-01-31 10:00:00+00\",now]"}`},
	{Type: "numrange", Kind: source.Text, Value: "(,007]"},
	{Type: "price[]", Kind: source.Text, Value: "{1.5,1.005}"},
	{Type: "prices", Kind: source.Text, Value: "{{1.5},{1.005}}"},
	{Type: "prices[]", Kind: source.Text, Value: `{"{1.005}"}`},
	{Type: "pair", Kind: source.Text, Value: `(7,"1.005")`},
	{Type: "pair", Kind: source.Text, Value: `("a ""b"", (c\\)",1.005)`},
	{Type: "pair[]", Kind: source.Text, Value: `{NULL,"(,1.5)","(a,1.005)"}`},
	{Type: "nested", Kind: source.Text, Value: `("(a,1.5)","{""(a,1.5)"",""(,1.005)""}",)`},
	{Type: "nested", Kind: source.Text, Value: `(,,"abc ")`},
	{Type: "floats", Kind: source.Text, Value: "[1.5,16777217)"},
}

// TestGuarantees tests what is left to check if the type of the source is known.
func TestGuarantees(t *testing.T) {
	sinktest.Guarantees(t, source.PostgreSQL, []string{
		"smallint", "integer", "bigint", "numeric", "numeric(5,2)", "numeric(30,6)", "numeric(6,-2)", "real",
		"double precision", "boolean", "date", "timestamp without time zone", "timestamp(3) without time zone",
		"timestamp with time zone", "time without time zone", "time(2) without time zone", "interval", "interval(2)",
		"character varying(5)", "character(40)", "text", "money", "uuid",
	}, grammar.Postgres)
}

// loses makes a trigger that leaves out the row with the number 13.
func loses(table string) string {
	return `CREATE OR REPLACE FUNCTION loses_13() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN IF NEW.id = 13 THEN RETURN NULL; END IF; RETURN NEW; END';
		CREATE TRIGGER loses_13 BEFORE INSERT OR UPDATE ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION loses_13()`
}

var values = []sourcetest.Value{
	{Type: "boolean", SQL: "true"},
	{Type: "double precision", SQL: "5e-324"},
	{Type: "double precision", SQL: "'-0'"},
	{Type: "real", SQL: "'-Infinity'"},
	{Type: "numeric(10,2)", SQL: "1.5"},
	{Type: "numeric", SQL: "1" + strings.Repeat("0", 999) + ".25"},
	{Type: "money", SQL: "12.5::money"},
	{Type: "char(4)", SQL: "'ab'"},
	{Type: `"char"`, SQL: "'x'"},
	{Type: `"char"`, SQL: `'\377'`},
	{Type: "text", SQL: `'a,b"c' || chr(10) || '\.' || chr(13)`},
	{Type: "bytea", SQL: `'\x00ff5c0a'`},
	{Type: "bytea", SQL: "''"},
	{Type: "json", SQL: `'{"a": 1.0, "a":2}'`},
	{Type: "jsonb", SQL: `'{"b":1,"a":[null]}'`},
	{Type: "timestamptz", SQL: "'2024-02-29 23:59:59.123456+05:30'"},
	{Type: "timestamp", SQL: "'0044-03-15 12:00 BC'"},
	{Type: "date", SQL: "'-infinity'"},
	{Type: "interval", SQL: "'1 year -2 days 03:04:05'"},
	{Type: "uuid", SQL: "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"},
	{Type: "text[]", SQL: `'{NULL,"NULL","",a b}'`},
	{Type: "int[]", SQL: `'[0:1]={1,2}'`},
	{Type: "bytea[]", SQL: `ARRAY['\x5c22'::bytea, NULL, '']`},
	{Type: "int4range", SQL: "'(1,5]'"},
	{Type: "bit(3)", SQL: "B'101'"},
	{Type: "point", SQL: "'(0.1,-2)'"},
	{Type: "xml", SQL: "'<a/>text'::xml"},
	{Type: "price[]", SQL: "'{1.5,NULL,NaN}'"},
	{Type: "pair[]", SQL: `'{"(\"a b\",1.5)",NULL,"(,-0.25)"}'`},
	{Type: "nested", SQL: `ROW(ROW(' (a ', 1)::pair, '{NULL,"(,2)"}', 'ab ')::nested`},
	{Type: "floats", SQL: "'[-0,1e+20)'"},
}

// open opens a database.
func open(tb testing.TB, connString string) *fill.DB {
	tb.Helper()
	db, err := fill.Open(context.Background(), connString)
	if err != nil {
		tb.Fatal(err)
	}
	return db
}
