package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// circles are tables of which two refer to each other, three others in a circle, one to itself, and one to these. The
// names of the tables are in an order that does not suit their keys.
var circles = []string{
	"CREATE TABLE b (id int PRIMARY KEY, a int NOT NULL)",
	"CREATE TABLE a (id int PRIMARY KEY, b int NOT NULL, boss int)",
	"CREATE TABLE x (id int PRIMARY KEY, y int NOT NULL)",
	"CREATE TABLE y (id int PRIMARY KEY, z int NOT NULL)",
	"CREATE TABLE z (id int PRIMARY KEY, x int NOT NULL, d int)",
	"CREATE TABLE d (id int PRIMARY KEY, self int)",
}

var circleKeys = []string{
	"ALTER TABLE b ADD CONSTRAINT b_a FOREIGN KEY (a) REFERENCES a (id)",
	"ALTER TABLE a ADD CONSTRAINT a_b FOREIGN KEY (b) REFERENCES b (id)",
	"ALTER TABLE a ADD CONSTRAINT a_a FOREIGN KEY (boss) REFERENCES a (id)",
	"ALTER TABLE x ADD CONSTRAINT x_y FOREIGN KEY (y) REFERENCES y (id)",
	"ALTER TABLE y ADD CONSTRAINT y_z FOREIGN KEY (z) REFERENCES z (id)",
	"ALTER TABLE z ADD CONSTRAINT z_x FOREIGN KEY (x) REFERENCES x (id)",
	"ALTER TABLE z ADD CONSTRAINT z_d FOREIGN KEY (d) REFERENCES d (id)",
	"ALTER TABLE d ADD CONSTRAINT d_d FOREIGN KEY (self) REFERENCES d (id)",
}

var circleRows = []string{
	"INSERT INTO b VALUES (1, 2), (2, 1)", "INSERT INTO a VALUES (1, 2, 2), (2, 1, NULL)",
	"INSERT INTO x VALUES (1, 1)", "INSERT INTO y VALUES (1, 1)", "INSERT INTO z VALUES (1, 1, 1)",
	"INSERT INTO d VALUES (1, 3), (2, 1), (3, 2)",
}

var circleNames = []string{"a", "b", "d", "x", "y", "z"}

// withCircles makes these tables in a database. SQLite has keys only in the definitions of its tables.
func withCircles(t *testing.T, open func(*testing.T) side) side {
	t.Helper()
	s := open(t)
	statements := slices.Concat(circles, circleKeys)
	if s.try("SELECT * FROM sqlite_schema") == nil {
		statements = slices.Clone(circles)
		for _, key := range circleKeys {
			table, clause, _ := strings.Cut(strings.TrimPrefix(key, "ALTER TABLE "), " ADD ")
			at := slices.IndexFunc(statements, func(sql string) bool {
				return strings.HasPrefix(sql, "CREATE TABLE "+table+" ")
			})
			statements[at] = strings.TrimSuffix(statements[at], ")") + ", " + clause + ")"
		}
	}
	for _, sql := range statements {
		if err := s.try(sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	return s
}

func circleSides() map[string]func(*testing.T) side {
	return map[string]func(*testing.T) side{"PostgreSQL": postgresSide, "MariaDB": mariaDBSide, "SQLite": sqliteSide}
}

// sourceOfCircles returns a source of these tables with rows. More are run after them.
func sourceOfCircles(t *testing.T, more ...string) source.Source {
	t.Helper()
	return newLite(t, slices.Concat(circles, circleRows, more)...)
}

// TestCircles loads only rows into empty tables that refer to each other in circles, and to themselves. In the short
// form, tables that are read back have one file each, and the others several.
func TestCircles(t *testing.T) {
	testkit.Long(t)
	ledger := &sink.Ledger{Table: "ledger", Load: "x"}
	for _, size := range []int64{0, 2} {
		backup := newBackupOf(t, sourceOfCircles(t), export.Plan{}, size, circleNames...)
		for name, open := range circleSides() {
			for _, plan := range []load.Plan{
				{},
				{ReadBack: true, Loaders: 3},
				{Filling: sink.Filling{Ledger: ledger, EachPart: true}},
				{Filling: sink.Filling{Existing: sink.Append}},
				{Filling: sink.Filling{Existing: sink.Append, Ledger: ledger, EachPart: true}},
			} {
				if !testkit.Soak() && plan.ReadBack == (size > 0) {
					continue
				}
				for _, way := range []string{"Directory", "CopyTables"} {
					if way == "CopyTables" && (plan.Filling.Ledger != nil || size > 0) {
						continue
					}
					s, deferrable := withCircles(t, open), "0"
					if name == "PostgreSQL" && plan.ReadBack {
						deferrable = "1"
						err := s.try("ALTER TABLE a ALTER CONSTRAINT a_b DEFERRABLE INITIALLY DEFERRED")
						if err != nil {
							t.Fatal(err)
						}
					}
					expectCircles(t, name, way, s, plan, backup)
					const deferrableSQL = "SELECT count(*) FROM pg_catalog.pg_constraint WHERE condeferrable"
					if name == "PostgreSQL" && fieldsOf(t, s.open(), deferrableSQL)[0] != deferrable {
						t.Error("a key is deferrable, and was not")
					}
				}
			}
		}
	}
}

// expectCircles fills these tables in one of four ways, and expects their rows.
func expectCircles(t *testing.T, name, way string, s side, plan load.Plan, backup *backup) {
	t.Helper()
	src := func() source.Source { return sourceOfCircles(t) }
	all := fourWays(t, plan, s.dst, src, backup, circleNames...)
	preview := "Preview"
	if way == "CopyTables" {
		preview = "PreviewTables"
	}
	planned, _, err := all[preview]()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, one := range planned {
		if (name != "SQLite") != (one.Together != nil) {
			t.Errorf("%s: table %s is filled with %q", name, one.Name, one.Together)
		}
	}
	for range 2 { // the ledger has the rows the second time
		if _, stats, err := all[way](); err != nil {
			t.Errorf("%s, %s, %+v: %v, %+v", name, way, plan, err, stats)
		}
		if plan.Filling.Ledger == nil {
			break
		}
	}
	if s.try("INSERT INTO z VALUES (9, 9, NULL)") == nil {
		t.Errorf("%s: the keys are checked no more", name)
	}
	for _, table := range circleNames {
		if got, want := csvOf(t, s.open(), table), csvOf(t, src(), table); !slices.Equal(got, want) {
			t.Errorf("%s: table %s has %q, want %q", name, table, got, want)
		}
	}
}

// TestCirclesAppended adds rows to those that such tables have, to which some of them refer. If one refers to none, the
// rows of its circle are as they were.
func TestCirclesAppended(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // where no option file is
	before := []string{"INSERT INTO d VALUES (7, NULL)", "INSERT INTO d VALUES (8, 7)"}
	for what, more := range map[string]string{
		"whole":  "UPDATE d SET self = 8 WHERE id = 1",
		"broken": "UPDATE d SET self = 9 WHERE id = 1",
	} {
		backup := newBackupOf(t, sourceOfCircles(t, more), export.Plan{}, 0, circleNames...)
		for name, open := range circleSides() {
			s := withCircles(t, open)
			for _, sql := range before {
				if err := s.try(sql); err != nil {
					t.Fatal(sql, err)
				}
			}
			plan := load.Plan{Filling: sink.Filling{Existing: sink.Append}}
			plan.ReadBack = name == "PostgreSQL" // the others cannot tell rows that were there
			_, err := plan.Directory(t.Context(), s.dst, backup.Directory, nil)
			wanted := "5"
			if what == "broken" && name != "SQLite" {
				wanted = "2"
				if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed == 0 {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			} else if err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if got := fieldsOf(t, s.open(), "SELECT count(*) FROM d")[0]; got != wanted {
				t.Errorf("%s, %s: the table has %s rows, want %s", name, what, got, wanted)
			}
		}
	}
}

// TestCirclesBroken loads rows of which one in a circle refers to none: its tables stay empty, and the others are
// filled.
func TestCirclesBroken(t *testing.T) {
	src := sourceOfCircles(t, "UPDATE a SET b = 7 WHERE id = 1")
	backup := newBackupOf(t, src, export.Plan{}, 0, circleNames...)
	for name, open := range circleSides() {
		if name == "SQLite" {
			continue // it takes them, as the source had them
		}
		s := withCircles(t, open)
		all, err := new(load.Plan).Directory(t.Context(), s.dst, backup.Directory, nil)
		if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, one := range all {
			row, isRow := errors.AsType[*sink.RowError](one.Err)
			switch _, together := errors.AsType[*load.TogetherError](one.Err); {
			case one.Name == "a" && (!isRow || !row.Dangling || together):
				t.Errorf("%s: the error of the table is %v", name, one.Err)
			case together != (one.Name == "b"), (one.Err == nil) != (one.Rows > 0):
				t.Errorf("%s: table %s has %d rows, %v", name, one.Name, one.Rows, one.Err)
			}
		}
	}
}

// TestCirclesRefused has triggers whose statements may need the checks of MariaDB: nothing of the circle is touched.
func TestCirclesRefused(t *testing.T) {
	backup := newBackupOf(t, sourceOfCircles(t), export.Plan{}, 0, circleNames...)
	s := withCircles(t, mariaDBSide)
	if err := s.try("CREATE TRIGGER t BEFORE INSERT ON b FOR EACH ROW SET @x = 1"); err != nil {
		t.Fatal(err)
	}
	planned, err := new(load.Plan).Preview(t.Context(), s.dst, backup.Directory, nil)
	if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 2 {
		t.Fatalf("%v, %+v", err, planned)
	}
	for _, one := range planned {
		if circular := one.Name == "a" || one.Name == "b"; circular != (one.Err != nil) {
			t.Errorf("table %s: %v", one.Name, one.Err)
		}
	}
}
