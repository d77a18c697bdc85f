package load_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/load"
	"culvert/place/dir"
	"culvert/sink"
	"culvert/source"
)

// exported exports a database of MySQL, MariaDB or SQLite, with its rows or without them.
func exported(t *testing.T, src source.Source, withRows bool) *export.Directory {
	t.Helper()
	to, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, to) })
	schema, err := source.SchemaOf(t.Context(), src, source.SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	plan := export.Plan{Unencrypted: true, Schema: schema}
	names := tablesOf(t, src)
	if withRows {
		_, err = plan.Tables(t.Context(), to, src, names)
	} else {
		err = plan.SchemaOnly(t.Context(), to, src, names)
	}
	if err != nil {
		t.Fatal(err)
	}
	from, err := export.OpenDirectory(to)
	if err != nil {
		t.Fatal(err)
	}
	return from
}

func tablesOf(t *testing.T, src source.Source) []string {
	t.Helper()
	names, err := src.(source.Lister).Tables(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestSchemaOnly makes databases of other systems than PostgreSQL without their rows: of an export with rows, of one
// without, and as a copy.
func TestSchemaOnly(t *testing.T) {
	const sql = "CREATE TABLE a (id int PRIMARY KEY, b int REFERENCES b (id), t text); " +
		"CREATE TABLE b (id int PRIMARY KEY, a int, FOREIGN KEY (a) REFERENCES a (id)); CREATE INDEX i ON a (b, id); " +
		"CREATE VIEW v AS SELECT id FROM b; INSERT INTO b VALUES (1, NULL); INSERT INTO a VALUES (1, 1, 'x')"
	for name, open := range map[string]func(*testing.T, string) system{
		"SQLite": sqliteSystem, "MariaDB": mariaDBSystem,
	} {
		for _, way := range []string{"of rows", "alone", "copied"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				statements := sql
				if name == "MariaDB" { // where the key of a column must have its table
					statements = strings.Replace(sql, "b int REFERENCES b (id)", "b int", 1) +
						"; ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id)"
				}
				s := open(t, statements)
				defer closing(t, s.src)
				defer closing(t, s.dst)
				plan := load.Plan{SchemaOnly: true}
				var all []load.Stats
				var err error
				if way == "copied" {
					var names []load.Names
					for _, name := range tablesOf(t, s.src) {
						names = append(names, load.Names{From: name, To: name})
					}
					schema, e := source.SchemaOf(t.Context(), s.src, source.SchemaConfig{})
					if e != nil {
						t.Fatal(e)
					}
					all, err = plan.CopyDatabase(t.Context(), s.dst, s.src, schema, names)
				} else {
					from := exported(t, s.src, way == "of rows")
					if e := from.Verify(t.Context(), nil); e != nil {
						t.Error(e)
					}
					all, err = plan.Database(t.Context(), s.dst, from, "a load")
				}
				if err != nil || len(all) != 2 || all[0].Rows+all[1].Rows != 0 {
					t.Fatalf("%v: %+v", err, all)
				}
				was, is := s.dumps()
				withoutRows := func(text string) string {
					lines := strings.Split(text, "\n")
					return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
						return strings.HasPrefix(line, "INSERT INTO ") || strings.HasPrefix(line, "row of ")
					}), "\n")
				}
				expectLines(t, way, withoutRows(was), withoutRows(is))
				if got := s.rows("SELECT (SELECT count(*) FROM a) + (SELECT count(*) FROM b)"); got != "0" {
					t.Errorf("there are %s rows", got)
				}
			})
		}
	}
}

// TestDefinedOnly loads rows of an export that has none: nothing may happen to those that a table has.
func TestDefinedOnly(t *testing.T) {
	s := sqliteSystem(t, "CREATE TABLE a (id int); INSERT INTO a VALUES (1)")
	defer closing(t, s.src)
	defer closing(t, s.dst)
	from := exported(t, s.src, false)
	s.exec("CREATE TABLE a (id int); INSERT INTO a VALUES (7)")
	plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
	_, err := plan.Directory(t.Context(), s.dst, from, nil)
	if err == nil || !strings.Contains(err.Error(), `only the definition of table "a", and not its rows`) {
		t.Error(err)
	}
	if got := s.rows("SELECT id FROM a"); got != "7" {
		t.Errorf("the rows are %s", got)
	}
	if err := from.Compare(t.Context(), s.src, 1, nil, nil, nil); err == nil {
		t.Error("rows that were not exported are compared")
	}
}
