package tablechoice_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/internal/namepattern"
	"culvert/internal/tablechoice"
	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/source"
)

// shopOfPostgres has tables of the same name in two schemas, a table from which others inherit, and partitions.
const shopOfPostgres = `
CREATE SCHEMA audit;
CREATE SCHEMA other;
CREATE TABLE orders (id int PRIMARY KEY, secret text);
CREATE TABLE audit.orders (id int PRIMARY KEY, secret text);
CREATE TABLE audit.log (id int PRIMARY KEY);
CREATE TABLE people (id int, note text);
CREATE TABLE other.staff (salary int) INHERITS (people);
CREATE TABLE bosses (car text) INHERITS (other.staff);
CREATE TABLE days (at date, note text) PARTITION BY RANGE (at);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
`

// chooseOf applies rules to tables of PostgreSQL, each of them with its own rows.
func chooseOf(t *testing.T, rules tablechoice.Rules, names ...string) (*tablechoice.Result, error) {
	t.Helper()
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, shopOfPostgres)
	return chooseIn(t, db, rules, names...)
}

func chooseIn(
	t *testing.T, db *testkit.PostgresDatabase, rules tablechoice.Rules, names ...string,
) (*tablechoice.Result, error) {
	t.Helper()
	src, err := postgres.OpenSource(t.Context(), db.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	source.Separate(src)
	if len(names) == 0 {
		if names, err = src.Tables(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	return rules.Choose(t.Context(), src, names)
}

// TestSearchPath has patterns without a schema, which mean the tables that their names alone find.
func TestSearchPath(t *testing.T) {
	result, err := chooseOf(t, tablechoice.Rules{
		NoRows: namepattern.Set{pattern(t, "days")},
		Tables: []tablechoice.Rule{{Pattern: pattern(t, "orders"), Where: "id < 9"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	visible, hidden := result.Choices["public.orders"].Selection, result.Choices["audit.orders"].Selection
	if visible.Where != "id < 9" || !hidden.IsZero() {
		t.Errorf("the choices are %+v", result.Choices)
	}
	if len(result.Hidden) != 1 || !strings.Contains(result.Hidden[0], `"orders" does not mean audit.orders`) {
		t.Errorf("hidden are %q", result.Hidden)
	}
	for text, want := range map[string][]string{
		"orders":   {"public.orders"},
		"*.orders": {"audit.orders", "public.orders"},
		"audit.*":  {"audit.log", "audit.orders"},
	} {
		result, err := chooseOf(t, tablechoice.Rules{Include: namepattern.Set{pattern(t, text)}})
		if err != nil || !slices.Equal(result.Names, want) {
			t.Errorf("%s means %+v, %v", text, result, err)
		}
	}
	_, err = chooseOf(t, tablechoice.Rules{Exclude: namepattern.Set{pattern(t, "log")}})
	none, is := errors.AsType[*tablechoice.UnmatchedError](err)
	if !is || !slices.Equal(none.Hidden, []string{"audit.log"}) {
		t.Errorf("a table that only its schema finds: %v", err)
	}
}

// TestHeirs has rules for tables, which hold for those that inherit from them, and for partitions.
func TestHeirs(t *testing.T) {
	people := tablechoice.Rule{Pattern: pattern(t, "people"), Where: "id < 9", WithoutColumns: []string{"note"}}
	days := tablechoice.Rule{Pattern: pattern(t, "days"), Where: "note IS NULL"}
	result, err := chooseOf(t, tablechoice.Rules{Tables: []tablechoice.Rule{people, days}})
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]source.Selection{
		"public.people": {Columns: []string{"id"}, Where: "id < 9"},
		"other.staff":   {Columns: []string{"id", "salary"}, Where: "id < 9"},
		"public.bosses": {Columns: []string{"id", "salary", "car"}, Where: "id < 9"},
		"public.days":   {Where: "note IS NULL"},
	} {
		got := result.Choices[table].Selection
		if got.Where != want.Where || !slices.Equal(got.Columns, want.Columns) {
			t.Errorf("of %s, %+v is meant, want %+v", table, got, want)
		}
	}
	// The nearest table with a rule counts, and a partition that is named alone has the rule of its table.
	own := tablechoice.Rule{Pattern: pattern(t, "other.staff"), Where: "salary > 0"}
	rules := tablechoice.Rules{Tables: []tablechoice.Rule{people, own, days}}
	if result, err = chooseOf(t, rules, "bosses", "people", "days_1"); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{"bosses": "salary > 0", "people": "id < 9", "days_1": "note IS NULL"} {
		if got := result.Choices[table].Selection.Where; got != want {
			t.Errorf("the condition of %s is %q, want %q", table, got, want)
		}
	}
	// So has a table of another schema, whose name alone means none.
	result, err = chooseOf(t, tablechoice.Rules{Tables: []tablechoice.Rule{people}}, "other.staff")
	if err != nil || result.Choices["other.staff"].Selection.Where != "id < 9" {
		t.Errorf("of a table of another schema, %+v is meant, %v", result, err)
	}
	// What is left out is left out with its heirs, and what is meant is meant with them.
	one := namepattern.Set{pattern(t, "people")}
	if result, err = chooseOf(t, tablechoice.Rules{Include: one}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"other.staff", "public.bosses", "public.people"}; !slices.Equal(result.Names, want) {
		t.Errorf("people means %q", result.Names)
	}
	if result, err = chooseOf(t, tablechoice.Rules{Exclude: one}); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(result.Names, "other.staff") || len(result.Excluded) != 3 {
		t.Errorf("without people, there are %q", result.Names)
	}
	if result, err = chooseOf(t, tablechoice.Rules{NoRows: one}); err != nil {
		t.Fatal(err)
	}
	if !result.Choices["public.bosses"].NoRows || result.Choices["public.orders"].NoRows {
		t.Errorf("without rows are %+v", result.Choices)
	}
}

// TestKeysInPostgres follows keys that refer to a table without the rows of its heirs, and keys to a partition, or of
// one, alone.
func TestKeysInPostgres(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, `
CREATE TABLE people (id int PRIMARY KEY, keep bool);
CREATE TABLE staff () INHERITS (people);
CREATE TABLE visits (n int, person int REFERENCES people);
CREATE TABLE days (id int, kind int, keep bool, PRIMARY KEY (id, kind)) PARTITION BY LIST (kind);
CREATE TABLE "the 'holidays'" PARTITION OF days FOR VALUES IN (1) PARTITION BY LIST (kind);
CREATE TABLE free PARTITION OF "the 'holidays'" DEFAULT;
CREATE TABLE workdays PARTITION OF days DEFAULT;
CREATE UNIQUE INDEX ON free (id);
CREATE TABLE trips (n int, day int, kind int, FOREIGN KEY (day, kind) REFERENCES "the 'holidays'");
CREATE TABLE rides (n int, day int, kind int) PARTITION BY LIST (n);
CREATE TABLE long PARTITION OF rides FOR VALUES IN (1, 2);
CREATE TABLE short PARTITION OF rides DEFAULT;
ALTER TABLE long ADD FOREIGN KEY (day, kind) REFERENCES days;
CREATE TABLE walks (n int, day int REFERENCES free (id));
INSERT INTO people VALUES (1, false), (2, true);
INSERT INTO staff VALUES (1, true);
INSERT INTO visits VALUES (1, 1), (2, 2), (3, NULL);
INSERT INTO days VALUES (1, 1, false), (2, 1, true), (1, 2, true);
INSERT INTO trips VALUES (1, 1, 1), (2, 2, 1), (3, 1, NULL);
INSERT INTO rides VALUES (1, 1, 1), (2, 2, 1), (3, 1, 1);
INSERT INTO walks VALUES (1, 1), (2, 2), (3, NULL);`)
	both := namepattern.Set{pattern(t, "people"), pattern(t, "days")}
	var rules []tablechoice.Rule
	for _, p := range both {
		rules = append(rules, tablechoice.Rule{Pattern: p, Where: "keep"})
	}
	result, err := chooseIn(t, db, tablechoice.Rules{Tables: rules})
	if err != nil || result.LeftOut != nil {
		t.Fatal(result, err)
	}
	for _, table := range []string{"visits", "trips", "rides", "walks"} {
		where := result.Choices["public."+table].Selection.Where
		got := db.Query(t, "SELECT n FROM "+table+" WHERE "+where+" ORDER BY n")
		if fmt.Sprint(got) != "[[2] [3]]" {
			t.Errorf("of %s, %v come along", table, got)
		}
	}
	for name, rules := range map[string]tablechoice.Rules{"no tables": {Exclude: both}, "no rows": {NoRows: both}} {
		if result, err = chooseIn(t, db, rules); err != nil || len(result.LeftOut) != 4 {
			t.Errorf("%s: left out are %q, %v", name, result.LeftOut, err)
		}
	}
}

// TestKeysWithoutColumns leaves out columns of keys: the rows then have NULL, or a default that may refer to no row.
func TestKeysWithoutColumns(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, `
CREATE TABLE people (id int PRIMARY KEY, code int UNIQUE, twice int GENERATED ALWAYS AS (id * 2) STORED UNIQUE);
CREATE TABLE a (a int, b int REFERENCES people (code), c int REFERENCES people, d int REFERENCES people (twice));
CREATE TABLE b (h int, e int REFERENCES people, f int DEFAULT 7 REFERENCES people,
	g int DEFAULT NULL REFERENCES people);`)
	for text, rules := range map[string][]tablechoice.Rule{
		"(b) (f)": {
			{Pattern: pattern(t, "people"), WithoutColumns: []string{"code"}},
			{Pattern: pattern(t, "b"), WithoutColumns: []string{"e", "f", "g"}},
		},
		"(b)": {
			{Pattern: pattern(t, "people"), Columns: []string{"id"}},
			{Pattern: pattern(t, "b"), Columns: []string{"f", "h"}},
		},
	} {
		result, err := chooseIn(t, db, tablechoice.Rules{Tables: rules})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, choice := range []source.Choice{result.Choices["public.a"], result.Choices["public.b"]} {
			for _, c := range choice.WithoutKeys {
				got = append(got, "("+strings.Join(c.Columns, ", ")+")")
			}
		}
		if strings.Join(got, " ") != text || len(result.LeftOut) != len(got) {
			t.Errorf("left out are %q, want %s", result.LeftOut, text)
		}
	}
}
