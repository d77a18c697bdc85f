package read_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// TestHostileSearchPath reads, as the superuser, a database whose owner has put operators, functions, types and
// relations of the names of the system's before them. None of them may be used unless a query of the user asks for it.
func TestHostileSearchPath(t *testing.T) {
	db, database := openNew(t, "")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	owner := database.NewRole(t, "owner", "")
	database.Exec(t, "ALTER DATABASE "+database.Name+" OWNER TO "+owner)
	database.Exec(t, "SET SESSION AUTHORIZATION "+owner+`;
		CREATE SCHEMA mine;
		CREATE TYPE mine.mood AS ENUM ('well');
		CREATE TABLE mine.t (id int PRIMARY KEY, name text, moods mine.mood[]);
		INSERT INTO mine.t VALUES (1, 'one', '{well}');
		CREATE TABLE mine."T x" AS TABLE mine.t;
		CREATE TABLE mine.pg_class AS SELECT 'mine' AS whose;
		CREATE TABLE mine.parts (id int) PARTITION BY LIST (id);
		CREATE TABLE mine.part PARTITION OF mine.parts FOR VALUES IN (1);
		INSERT INTO mine.parts VALUES (1);`+hijackers()+`
		ALTER DATABASE `+database.Name+" SET search_path = mine, evil, pg_catalog")

	db = openAgain(t, database.ConnString())
	for name, want := range map[string]string{
		"t":               "id,name,moods\n1,one,{well}\n",
		"mine.t":          "id,name,moods\n1,one,{well}\n",
		"mine . T":        "id,name,moods\n1,one,{well}\n",
		"T x":             "id,name,moods\n1,one,{well}\n",
		`"T x"`:           "id,name,moods\n1,one,{well}\n",
		"pg_class":        "whose\nmine\n",
		"parts":           "id\n1\n",
		"evil.pg_inherit": "",
	} {
		if want == "" {
			_, err := db.Table(context.Background(), name)
			if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || len(unknown.Known) == 0 {
				t.Errorf("table %s: %v", name, err)
			}
			continue
		}
		expectCSV(t, func() source.Rows { return table(t, db, name) }, want)
	}
	expectCSV(t, func() source.Rows { return query(t, db, "SELECT id AS n FROM t") }, "n\n1\n")

	list := []string{`mine.T x`, "mine.parts", "mine.pg_class", "mine.t"}
	if got := tables(t, db, "mine"); !slices.Equal(got, list) {
		t.Errorf("tables are %q, want %q", got, list)
	}
	for _, name := range list {
		rows := selection(t, db, name, source.Selection{Columns: []string{columnsOfHostile[name]}, Limit: 1})
		if got := size(t, rows); got.Rows != 1 {
			t.Errorf("size of %s: %+v", name, got)
		}
		if n, err := drain(rows); n != 1 || err != io.EOF {
			t.Errorf("%s has %d rows and the error %v", name, n, err)
		}
	}
	if got := describe(t, db); got.Database != database.Name || got.Position == "" {
		t.Errorf("description is %+v", got)
	}
	if _, err := drain(selection(t, db, "t", source.Selection{Where: "id = 1"})); err == io.EOF {
		t.Error("a condition has another search path than that of the user")
	}

	// What the user asks for has the search path of the user, or the test would show nothing.
	for _, sql := range []string{
		"SELECT id FROM t WHERE oid(id) = oid(1)", "SELECT current_database()", "SELECT 'x'::text", "TABLE pg_inherits",
	} {
		rows, err := db.Query(context.Background(), sql)
		if err == nil {
			_, err = drain(rows)
		}
		if err == io.EOF || !strings.Contains(err.Error(), "hijacked") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	expectCSV(t, func() source.Rows { return table(t, db, "t") }, "id,name,moods\n1,one,{well}\n")
}

var columnsOfHostile = map[string]string{
	"mine.T x": "name", "mine.parts": "id", "mine.pg_class": "whose", "mine.t": "moods",
}

// hijackers makes a schema of what fails when it is used.
func hijackers() string {
	var sql strings.Builder
	sql.WriteString("CREATE SCHEMA evil;")
	harm := func(name, parameters, result string) {
		fmt.Fprintf(&sql, "CREATE FUNCTION evil.%s(%s) RETURNS pg_catalog.%s LANGUAGE plpgsql IMMUTABLE AS "+
			"$$BEGIN RAISE EXCEPTION 'hijacked'; END$$;\n", name, parameters, result)
	}
	types := []string{
		"oid", "name", "text", `"char"`, "int2", "int4", "int8", "bool", "name[]", "text[]", "regclass",
	}
	for _, left := range types {
		for _, right := range types {
			left, right := "pg_catalog."+left, "pg_catalog."+right
			for result, operators := range map[string]string{
				"bool": "= <> < > <= >= ~~ !~~", "text": "||", "int4": "- +",
			} {
				harm("harm_"+result, left+", "+right, result)
				for operator := range strings.FieldsSeq(operators) {
					fmt.Fprintf(&sql,
						"CREATE OPERATOR evil.%s (FUNCTION = evil.harm_%s, LEFTARG = %s, RIGHTARG = %s);\n",
						operator, result, left, right)
				}
			}
		}
	}
	for _, function := range []struct{ name, parameters, result string }{
		{"abs", "pg_catalog.int4", "int4"},
		{"array_position", "pg_catalog.name[], pg_catalog.name", "int4"},
		{"current_database", "", "name"},
		{"current_schemas", "pg_catalog.bool", "name[]"},
		{"current_setting", "pg_catalog.text", "text"},
		{"format_type", "pg_catalog.oid, pg_catalog.int4", "text"},
		{"length", "pg_catalog.text", "int4"},
		{"lpad", "pg_catalog.text, pg_catalog.int4", "text"},
		{"parse_ident", "pg_catalog.text", "text[]"},
		{"pg_current_wal_lsn", "", "pg_lsn"},
		{"pg_is_in_recovery", "", "bool"},
		{"pg_partition_tree", "pg_catalog.oid", "oid"},
		{"pg_relation_filenode", "pg_catalog.oid", "oid"},
		{"pg_relation_size", "pg_catalog.oid", "int8"},
		{"pg_table_is_visible", "pg_catalog.oid", "bool"},
		{"replace", "pg_catalog.text, pg_catalog.text, pg_catalog.text", "text"},
		{"set_config", "pg_catalog.text, pg_catalog.text, pg_catalog.bool", "text"},
		{"to_jsonb", "pg_catalog.pg_inherits", "jsonb"},
		{"to_regclass", "pg_catalog.text", "regclass"},
		{"txid_current_snapshot", "", "txid_snapshot"},
		{"unnest", "pg_catalog.oid[], pg_catalog.int4[]", "oid"},
	} {
		harm(function.name, function.parameters, function.result)
	}
	harm("harm", "", "bool")
	for _, name := range []string{"text", "oid", "name", "int4", "regclass"} {
		fmt.Fprintf(&sql, "CREATE DOMAIN evil.%[1]s AS pg_catalog.%[1]s CHECK (evil.harm());\n", name)
	}
	for _, name := range []string{"pg_attribute", "pg_inherits", "pg_namespace", "pg_settings"} {
		fmt.Fprintf(&sql, "CREATE VIEW evil.%s AS SELECT evil.harm();\n", name)
	}
	return sql.String()
}
