package load_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// pair are two databases of PostgreSQL between which tables are copied.
type pair struct {
	was, is *testkit.PostgresDatabase
	src     source.Source
	dst     sink.Sink
}

// newPair makes tables by statements for both, and then by others for each.
func newPair(t *testing.T, both, was, is string) *pair {
	t.Helper()
	p := new(pair)
	p.was = testkit.Postgres(t).NewDatabase(t)
	p.was.Exec(t, both+";"+was)
	p.is, p.dst = newPostgres(t, both+";"+is)
	p.src = openPostgres(t, p.was)
	return p
}

// same compares the text of all rows.
func (p *pair) same(t *testing.T, table string) {
	t.Helper()
	sql := "SELECT t::text COLLATE \"C\" FROM " + table + " AS t ORDER BY 1"
	if want, got := p.was.Query(t, sql), p.is.Query(t, sql); !slices.EqualFunc(want, got, slices.Equal) {
		t.Errorf("%s: %v became %v", table, want, got)
	}
}

// isBinary reports whether the rows of a copy were not CSV, which has a sum.
func isBinary(stats load.Stats) bool { return stats.Rows > 0 && !stats.Summed }

// TestCopyBinaryTypes copies values at the edges of all types whose binary form is copied.
func TestCopyBinaryTypes(t *testing.T) {
	types := map[string]string{
		"smallint": "'-32768'", "integer": "2147483647", "bigint": "'-9223372036854775808'", "oid": "4294967295",
		"real": "'-0'", "double precision": "'NaN'", "numeric": "1e-1000",
		"numeric(12,2)": "-0.10", "numeric(3)": "'NaN'",
		"boolean": "true", "date": "'0044-03-15 BC'", "time": "'24:00'", "time(2)": "'10:00:00.12'",
		"timetz": "'24:00:00-15:59'", "timestamp": "'-infinity'", "timestamp(3)": "'294276-12-31 23:59:59.999'",
		"timestamptz": "'infinity'", "uuid": "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "bytea": `'\xffff'`,
		"bit(3)": "B'101'", "bit varying": "B''", "varbit(70)": "B'1'", "inet": "'::1/64'", "cidr": "'10.0.0.0/8'",
		"macaddr": "'08:00:2b:01:02:03'", "macaddr8": "'08:00:2b:01:02:03:04:05'", "text": `E'\n\\.\n'`,
		"varchar": "''", "varchar(3)": "'é表😀'", "char(4)": "'ab'", "name": "'x'", "json": `'{"a" : 1.0,  "a":2}'`,
		"jsonb": `'{"b":1e400,"a":[null, "\u00e9"]}'`,
	}
	var columns, values, nulls []string
	for name, value := range types {
		columns = append(columns, fmt.Sprintf("c%d %s", len(columns), name))
		values, nulls = append(values, value+"::"+name), append(nulls, "NULL")
	}
	p := newPair(t, "CREATE TABLE t ("+strings.Join(columns, ", ")+")", "INSERT INTO t VALUES ("+
		strings.Join(values, ", ")+"), ("+strings.Join(nulls, ", ")+")", "")
	plan := load.Plan{ReadBack: true}
	stats, err := plan.Copy(t.Context(), p.dst, p.src, "t", "t")
	if err != nil || !isBinary(stats) {
		t.Errorf("%+v, %v", stats, err)
	}
	p.same(t, "t")
}

// TestRandomCopyBinary copies random rows of the types that other systems have too.
func TestRandomCopyBinary(t *testing.T) {
	rounds := 8
	switch {
	case testkit.Soak():
		rounds = 200
	case !testkit.RunsLong():
		rounds = 3
	}
	was, is := randomPostgres(t), randomPostgres(t)
	for _, db := range []database{was, is} {
		db.exec("CREATE TYPE mood AS ENUM ('so so', 'it''s', 'é')")
	}
	for seed := range rounds {
		table := newRandomTable("postgres", rand.New(rand.NewPCG(uint64(seed), 1)))
		table.name = fmt.Sprint("t", seed)
		table.fill(was)
		is.exec(table.define(table.name))
		err := opened(t, was, func(src source.Source) error {
			err := filled(t, is, func(dst sink.Sink) error {
				plan := load.Plan{ReadBack: true}
				stats, err := plan.Copy(t.Context(), dst, src, table.name, table.name)
				hasMood := slices.ContainsFunc(table.types, func(one randomType) bool { return one.sql == "mood" })
				if err == nil && isBinary(stats) == hasMood {
					t.Errorf("%s: %+v", table.define(table.name), stats)
				}
				return err
			})
			return errors.Join(err, opened(t, is, func(there source.Source) error {
				return table.compare(t, src, table.name, there, table.name)
			}))
		})
		if err != nil {
			t.Errorf("%s: %v", table.define(table.name), err)
		}
	}
}

// TestCopyCSV copies as CSV what has no binary form, has other types in the table, or is changed on its way.
func TestCopyCSV(t *testing.T) {
	t.Parallel()
	const both = `CREATE TYPE mood AS ENUM ('so so'); CREATE TYPE two AS (a int, b text);
		CREATE DOMAIN short AS varchar(5)`
	for _, test := range []struct{ from, to, value string }{
		{from: "interval", value: "'1 year -2 days'"},
		{from: "money", value: "'12.5'"},
		{from: "text[]", value: `'{NULL,"NULL",""}'`},
		{from: "mood", value: "'so so'"},
		{from: "two", value: "ROW(1, 'a,b')"},
		{from: "short", value: "'ab'"},
		{from: "tsvector", value: "'a:1 b:2'"},
		{from: "int4range", value: "'(1,5]'"},
		{from: "xml", value: "'<a/>'"},
		{from: "integer", to: "bigint", value: "7"},
		{from: "numeric(10,2)", to: "numeric(10,3)", value: "1.50"},
		{from: "varchar(4)", to: "varchar(5)", value: "'ab'"},
		{from: "char(4)", to: "char(5)", value: "'ab'"},
		{from: "text", to: "short", value: "'ab'"},
	} {
		to := test.to
		if to == "" {
			to = test.from
		}
		p := newPair(t, both, "CREATE TABLE t (v "+test.from+"); INSERT INTO t VALUES ("+test.value+"), (NULL)",
			"CREATE TABLE t (v "+to+")")
		plan := load.Plan{ReadBack: true}
		stats, err := plan.Copy(t.Context(), p.dst, p.src, "t", "t")
		if err != nil || isBinary(stats) {
			t.Errorf("%s: %+v, %v", test.from, stats, err)
		}
	}
}

// TestCopyBinaryTables copies into tables of all kinds, each way that fills them.
func TestCopyBinaryTables(t *testing.T) {
	t.Parallel()
	const rows = "SELECT i, repeat('x', i % 50) FROM generate_series(1, 5000) AS i"
	p := newPair(t, `
		CREATE TABLE t (id int PRIMARY KEY, v text);
		CREATE TABLE parts (id int, v text) PARTITION BY RANGE (id);
		CREATE TABLE low PARTITION OF parts DEFAULT;
		CREATE TABLE high PARTITION OF parts FOR VALUES FROM (2000) TO (MAXVALUE);
		CREATE TABLE made (id int, v text, twice int GENERATED ALWAYS AS (2 * id) STORED);
		CREATE TABLE none ()`, `
		INSERT INTO t `+rows+`; INSERT INTO parts `+rows+`; INSERT INTO made `+rows+`;
		INSERT INTO none DEFAULT VALUES`, "")
	for i, f := range []sink.Filling{
		{},
		{Existing: sink.Truncate},
		{Existing: sink.Swap},
		{Existing: sink.Append, Conflict: sink.Update, Key: []string{"id"}},
		{Existing: sink.Append, Conflict: sink.Ignore},
	} {
		plan := load.Plan{ReadBack: i%2 == 0 || f.Conflict != sink.Fail, Loaders: 2, Filling: f}
		stats, err := plan.Copy(t.Context(), p.dst, p.src, "t", "t")
		if err != nil || !isBinary(stats) || stats.Rows != 5000 {
			t.Errorf("%+v: %+v, %v", f, stats, err)
		}
		p.same(t, "t")
	}
	plan := load.Plan{ReadBack: true, Filling: sink.Filling{Existing: sink.Truncate}, Loaders: 2}
	all, err := plan.CopyTables(t.Context(), p.dst, p.src, []load.Names{
		{From: "t", To: "t"}, {From: "parts", To: "parts"}, {From: "made", To: "made"}, {From: "none", To: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, stats := range all {
		if isBinary(stats) != (stats.Name != "none") {
			t.Errorf("%+v", stats)
		}
		p.same(t, stats.Name)
	}
}

// TestCopyBinaryChanged has a trigger change a row, which is found as it is read back.
func TestCopyBinaryChanged(t *testing.T) {
	p := newPair(t, "CREATE TABLE t (id int, v text)",
		"INSERT INTO t SELECT i, 'v' FROM generate_series(1, 3000) AS i", `
		CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
			IF NEW.id = 1234 THEN NEW.v = 'w'; END IF; RETURN NEW; END$$;
		CREATE TRIGGER change BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION change()`)
	plan := load.Plan{ReadBack: true}
	_, err := plan.Copy(t.Context(), p.dst, p.src, "t", "t")
	if differ, is := errors.AsType[*load.SumError](err); !is || differ.Where != "in the table" {
		t.Error(err)
	}
}

// TestCopyBinaryRefused names the row that the table refuses.
func TestCopyBinaryRefused(t *testing.T) {
	p := newPair(t, "CREATE TABLE t (id int, v text)",
		"INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) AS i",
		"ALTER TABLE t ADD CHECK (id <> 3456)")
	plan := load.Plan{ReadBack: true}
	_, err := plan.Copy(t.Context(), p.dst, p.src, "t", "t")
	if row, is := errors.AsType[*sink.RowError](err); !is || row.Row != 3456 || row.Line != 0 {
		t.Error(err)
	}
}

// TestCopyBinaryKilled loses the connection to either server in the middle.
func TestCopyBinaryKilled(t *testing.T) {
	const kill = "pg_terminate_backend(pg_backend_pid())"
	for name, sql := range map[string][2]string{
		"source": {"CREATE VIEW t AS SELECT i AS id, CASE WHEN i = 4000 THEN " + kill +
			" END AS v FROM generate_series(1, 5000) AS i", "CREATE TABLE t (id int, v boolean)"},
		"table": {
			"CREATE TABLE t AS SELECT i AS id, true AS v FROM generate_series(1, 5000) AS i",
			`CREATE TABLE t (id int, v boolean);
			CREATE FUNCTION kill() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
				PERFORM ` + kill + ` WHERE NEW.id = 4000; RETURN NEW; END$$;
			CREATE TRIGGER kill BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION kill()`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, "", sql[0], sql[1])
			plan := load.Plan{ReadBack: true}
			if _, err := plan.Copy(t.Context(), p.dst, p.src, "t", "t"); !errors.Is(err, source.ErrUnavailable) {
				t.Error(err)
			}
			if rows := p.is.Query(t, "SELECT count(*) FROM t")[0][0]; rows != "0" {
				t.Errorf("there are %s rows", rows)
			}
		})
	}
}

// TestCopyBinaryUnencoded copies text from and to databases that have no encoding as CSV.
func TestCopyBinaryUnencoded(t *testing.T) {
	for _, test := range [][2]string{{"SQL_ASCII", "UTF8"}, {"UTF8", "SQL_ASCII"}} {
		var databases []*testkit.PostgresDatabase
		for _, encoding := range test {
			one := testkit.Postgres(t).NewDatabase(t, "ENCODING "+encoding+" TEMPLATE template0 LOCALE 'C'")
			one.Exec(t, "CREATE TABLE t AS SELECT 'text' AS v")
			databases = append(databases, one)
		}
		dst, err := postgres.OpenSink(t.Context(), databases[1].ConnString())
		if err != nil {
			t.Fatal(err)
		}
		plan := load.Plan{ReadBack: true, Filling: sink.Filling{Existing: sink.Truncate}}
		stats, err := plan.Copy(t.Context(), dst, openPostgres(t, databases[0]), "t", "t")
		if err != nil || isBinary(stats) {
			t.Errorf("%v: %+v, %v", test, stats, err)
		}
		closing(t, dst)
	}
}
