package read_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// TestOutsideSnapshot has a foreign table read a file, which changes.
func TestOutsideSnapshot(t *testing.T) {
	db, _ := openNew(t, `CREATE TABLE t AS SELECT 1 AS id; CREATE VIEW v AS TABLE t;
		CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
		CREATE FOREIGN TABLE f (id text) SERVER files OPTIONS (filename '/dev/null');
		CREATE VIEW seen AS TABLE f; CREATE VIEW over AS SELECT s.id FROM seen s JOIN t ON true;
		CREATE TABLE parent (id text); ALTER FOREIGN TABLE f INHERIT parent`)
	names := []string{"t", "v", "f", "seen", "over", "parent", "none"}
	outside, err := source.OutsideSnapshot(t.Context(), db, names)
	if want := []string{"f", "seen", "over", "parent"}; err != nil || !slices.Equal(outside, want) {
		t.Errorf("outside the snapshot are %q, want %q: %v", outside, want, err)
	}
	for sql, want := range map[string]bool{
		"TABLE v":                            false,
		"SELECT 'f' FROM t WHERE id = 1":     false,
		"SELECT * FROM t JOIN over USING ()": false, // it is not valid
		"TABLE f;":                           true,
		"SELECT count(*) FROM t, over":       true,
		"SELECT (SELECT min(id) FROM seen)":  true,
		"SHOW server_version":                false,
		"SELECT 1; SELECT 2":                 false,

		"WITH x AS MATERIALIZED (TABLE parent) SELECT 1 FROM x": true,
	} {
		if got, err := source.QueryOutsideSnapshot(t.Context(), db, sql); got != want || err != nil {
			t.Errorf("%s: %v, %v", sql, got, err)
		}
		expectCSV(t, func() source.Rows { return query(t, db, "SELECT 1 AS n") }, "n\n1\n")
	}
}

// TestFunctionsOutsideSnapshot has functions and operators read foreign tables, files and other servers, and others
// that read none, in views and in queries.
func TestFunctionsOutsideSnapshot(t *testing.T) {
	testkit.SincePostgres(t, 14, "functions with a body of the standard")
	outside := map[string]bool{
		"near()": false, "plain(1)": false, "digest('x', 'md5')": false, "lower('texts')": false, "now()": false,

		"standard()": true, "texts()": true, "quoted()": true, "behind()": true, "made('far')": true, `"File"()`: true,
		"1 === 1": true, "(SELECT adds(id) FROM t)": true, "pg_read_file('PG_VERSION')": true,
		"(SELECT x FROM dblink('', '') AS d(x int))": true,
	}
	expressions := slices.Sorted(maps.Keys(outside))
	var names, want []string
	var views strings.Builder
	for i, expression := range expressions {
		name := fmt.Sprintf("v%02d", i)
		fmt.Fprintf(&views, "CREATE VIEW %s AS SELECT %s AS v;", name, expression)
		fmt.Fprintf(&views, "CREATE VIEW over_%s AS TABLE %[1]s;", name)
		names = append(names, name, "over_"+name)
		if outside[expression] {
			want = append(want, name, "over_"+name)
		}
	}
	db, _ := openNew(t, functionsOutside+views.String())
	if got, err := source.OutsideSnapshot(t.Context(), db, names); err != nil || !slices.Equal(got, want) {
		t.Errorf("of %q, outside the snapshot are %q, want %q: %v", expressions, got, want, err)
	}
	for expression, want := range outside {
		got, err := source.QueryOutsideSnapshot(t.Context(), db, "SELECT id FROM t WHERE ("+expression+") IS NULL")
		if got != want || err != nil {
			t.Errorf("a query of %s: %v, %v", expression, got, err)
		}
	}
	expectCSV(t, func() source.Rows { return query(t, db, "SELECT 1 AS n") }, "n\n1\n")
}

// functionsOutside makes functions; those whose names say so read nothing outside the snapshot.
const functionsOutside = `CREATE TABLE t AS SELECT 1 AS id; CREATE EXTENSION pgcrypto; CREATE EXTENSION dblink;
	CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
	CREATE FOREIGN TABLE far (id text) SERVER files OPTIONS (filename '/dev/null');
	CREATE FOREIGN TABLE "far off" (id text) SERVER files OPTIONS (filename '/dev/null');
	CREATE VIEW seen AS TABLE far;
	CREATE FUNCTION near() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM t';
	CREATE FUNCTION plain(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i + 1; END';
	CREATE FUNCTION standard() RETURNS bigint LANGUAGE sql STABLE BEGIN ATOMIC SELECT count(*) FROM seen; END;
	CREATE FUNCTION texts() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM Far); END';
	CREATE FUNCTION quoted() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM "far off"';
	CREATE FUNCTION behind() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT texts() + 1';
	CREATE FUNCTION made(name text) RETURNS bigint LANGUAGE plpgsql AS
		'DECLARE n bigint; BEGIN EXECUTE ''SELECT count(*) FROM '' || name INTO n; RETURN n; END';
	CREATE FUNCTION "File"() RETURNS text LANGUAGE sql AS $$SELECT pg_read_file('PG_VERSION')$$;
	CREATE FUNCTION same(int, int) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT texts() = $1 - $2';
	CREATE OPERATOR === (FUNCTION = same, LEFTARG = int, RIGHTARG = int);
	CREATE FUNCTION added(bigint, int) RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1 + texts(); END';
	CREATE AGGREGATE adds(int) (SFUNC = added, STYPE = bigint, INITCOND = 0);`
