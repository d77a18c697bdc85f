package load_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/manifest"
	"culvert/mask"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

func testKey(t *testing.T) *mask.Key {
	t.Helper()
	key, err := mask.ParseKey([]byte(testkit.MaskKey))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestCopyMasks copies tables whose values must not leave into each database. Its foreign keys and unique columns hold,
// and the values are the same in each.
func TestCopyMasks(t *testing.T) {
	from, _ := newPostgres(t, `
		CREATE TABLE people (id int PRIMARY KEY, email varchar(60) UNIQUE NOT NULL, name text, born date, gone text);
		INSERT INTO people SELECT i, 'zq'||i||'@firma.de', 'zq'||i, '1980-01-01'::date+i, 'zq' FROM generate_series(1,
			5000) i;
		CREATE TABLE orders (id int PRIMARY KEY, person bigint, mail varchar(60) REFERENCES people (email));
		INSERT INTO orders SELECT id, id, email FROM people`)
	masks := maskRules(t, map[string]string{
		"people.id": "hash", "people.email": "email", "people.name": "name", "people.born": "year",
		"people.gone":   "fixed x",
		"orders.person": "hash", "orders.mail": "email",
	})
	to, toPostgres := newPostgres(t, "")
	maria := testkit.MariaDB(t).NewDatabase(t)
	toMaria, err := mysql.OpenSink(t.Context(), maria.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, toMaria)
	path := filepath.Join(t.TempDir(), "to.sqlite")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	toSQLite, err := sqlite.OpenSink(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, toSQLite)
	first := ""
	for _, test := range []struct {
		name string
		dst  sink.Sink
		open func() (source.Source, error)
	}{
		{"postgres", toPostgres, func() (source.Source,
			error,
		) {
			return postgres.OpenSource(t.Context(), to.ConnString())
		}},
		{"mariadb", toMaria, func() (source.Source, error) { return mysql.OpenSource(t.Context(), maria.URL()) }},
		{"sqlite", toSQLite, func() (source.Source, error) { return sqlite.OpenSource(path) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			src := openPostgres(t, from)
			plan := load.Plan{Create: true, Loaders: 2, Masks: masks}
			tables := []load.Names{{From: "people", To: "people"}, {From: "orders", To: "orders"}}
			if _, err := plan.CopyTables(t.Context(), test.dst, src, tables); err != nil {
				t.Fatal(err)
			}
			copied, err := test.open()
			if err != nil {
				t.Fatal(err)
			}
			defer closing(t, copied)
			var text bytes.Buffer
			out := export.Plan{Unencrypted: true, Compression: export.None}
			if _, err := out.Query(t.Context(), &text, copied,
				`SELECT p.id, p.email, p.name, p.gone, o.mail FROM orders o
				JOIN people p ON p.id = o.person AND p.email = o.mail ORDER BY p.id`); err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = text.String()
			}
			if lines := strings.Count(text.String(), "\n"); lines != 5001 || text.String() != first {
				t.Errorf("%d lines, which the first database has too: %v", lines, text.String() == first)
			}
			if strings.Contains(text.String(), "firma") || strings.Contains(text.String(), ",zq\n") {
				t.Error("a value is not masked")
			}
		})
	}
	masks.Tables["orders"]["mail"] = mask.Rule{}
	src := openPostgres(t, from)
	plan := load.Plan{Masks: masks, Filling: sink.Filling{Existing: sink.Swap}}
	tables := []load.Names{{From: "people", To: "people"}, {From: "orders", To: "orders"}}
	if _, err := plan.CopyTables(t.Context(), toPostgres, src, tables); err == nil ||
		!strings.Contains(err.Error(), `"mail" has no rule, but it refers to the column "email"`) {
		t.Errorf("rules that differ: %v", err)
	}
}

// TestCopyMasksInErrors has a view of the source fail on a value that is masked, which the database then shows.
func TestCopyMasksInErrors(t *testing.T) {
	from, _ := newPostgres(t, `CREATE FUNCTION fail(text) RETURNS text LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'bad %', $1; END $$;
		CREATE TABLE people (id int, email text); INSERT INTO people VALUES (1, 'zq@firma.de');
		CREATE VIEW shown AS SELECT id, fail(email) AS email FROM people`)
	_, to := newPostgres(t, `CREATE TABLE shown (id int, email text)`)
	rule, err := mask.ParseRule("email")
	if err != nil {
		t.Fatal(err)
	}
	masks := &mask.Policy{Key: testKey(t), Tables: map[string]mask.Rules{"shown": {"email": rule}}}
	for name, plan := range map[string]load.Plan{
		"masks": {Masks: masks}, "redact": {Filling: sink.Filling{Redact: true}},
	} {
		src := openPostgres(t, from)
		stats, err := plan.CopyTables(t.Context(), to, src, []load.Names{{From: "shown", To: "shown"}})
		if len(stats) == 1 && err == nil {
			err = stats[0].Err
		}
		if err == nil || !strings.Contains(err.Error(), "P0001") || strings.Contains(err.Error(), "zq") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestMaskedNumbers copies and loads numbers that no database has printed, into a table of the same system and of each
// other one, which read them back: the values are equal, also those of types that only their affinity tells.
func TestMaskedNumbers(t *testing.T) {
	for name, test := range map[string]struct {
		open  func(*testing.T) side
		types []string
	}{
		"postgres": {postgresSide, []string{"numeric", "numeric(20,3)", "float8", "bigint"}},
		"mariadb":  {mariaDBSide, []string{"decimal(20,3)", "double", "bigint"}},
		"sqlite":   {sqliteSide, []string{"NUMERIC", "DECIMAL(20,3)", "MONEY", "REAL", "INTEGER", ""}},
	} {
		for _, rule := range []string{"round 10", "noise 10%"} {
			t.Run(name+"/"+rule, func(t *testing.T) {
				was := test.open(t)
				columns, masks := "id int PRIMARY KEY", map[string]string{}
				for i, typ := range test.types {
					columns += fmt.Sprintf(", c%d %s", i, typ)
					masks[fmt.Sprintf("t.c%d", i)] = rule
				}
				statements := []string{"CREATE TABLE t (" + columns + ")"}
				for i, value := range []string{"12", "12.5", "-0.5", "7.25", "9864820000000000", "-12345.625", "1e16"} {
					statements = append(statements, fmt.Sprintf("INSERT INTO t VALUES (%d%s)", i,
						strings.Repeat(", "+value, len(test.types))))
				}
				for _, sql := range statements {
					if err := was.try(sql); err != nil {
						t.Fatal(sql, err)
					}
				}
				expectMaskedNumbers(t, was, test.open(t), test.open(t), maskRules(t, masks))
			})
		}
	}
}

// expectMaskedNumbers copies the table t of a database, and loads an export of it.
func expectMaskedNumbers(t *testing.T, was, copied, loaded side, masks *mask.Policy) {
	t.Helper()
	src := was.open()
	plan := load.Plan{Create: true, ReadBack: true, Masks: masks}
	if _, err := plan.Copy(t.Context(), copied.dst, src, "t", "t"); err != nil {
		t.Errorf("a copy: %v", err)
	}
	from := newBackupOf(t, src, export.Plan{Masks: masks}, 0, "t").Directory
	from.MaskKey = masks.Key
	plan = load.Plan{Create: true, ReadBack: true}
	if _, err := plan.Directory(t.Context(), loaded.dst, from, nil); err != nil {
		t.Errorf("a load: %v", err)
	}
	expectEqual := func(src source.Source) {
		t.Helper()
		err := from.Compare(t.Context(), src, 1, nil, nil, func(_ *manifest.Table, err error) {
			if err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	expectEqual(was.open())
	if masks.Of("t")["c0"].String() == "number round 10" { // what was rounded is rounded to itself
		expectEqual(loaded.open())
	}
}

// maskRules returns rules for columns, by table.column.
func maskRules(t *testing.T, rules map[string]string) *mask.Policy {
	t.Helper()
	masks := &mask.Policy{Key: testKey(t), Tables: map[string]mask.Rules{}}
	for name, text := range rules {
		rule, err := mask.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		table, column, _ := strings.Cut(name, ".")
		if masks.Tables[table] == nil {
			masks.Tables[table] = mask.Rules{}
		}
		masks.Tables[table][column] = rule
	}
	return masks
}
