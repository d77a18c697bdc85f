package load_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/source"
)

// crossing is a row of the table of README.md that says what crosses from one system to another.
type crossing struct {
	tables []string
	make   map[string]string // statements, by the system from which it comes, if that has it

	refused  []string // if it crosses; otherwise they are allowed
	allowed  []string // in this order, after them
	expected []string // conditions of the last table, which has a row 1 then

	shows func(d *source.Definition) bool // whether the definition of the last table there has it, or nil
	named []string                        // what is named if it does not cross
}

const (
	pgName, myName, liName = "PostgreSQL", "MariaDB", "SQLite"

	both = "CREATE TABLE parents (id int PRIMARY KEY);" +
		"CREATE TABLE children (id int PRIMARY KEY, parent int, elder int," +
		" FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE," +
		" FOREIGN KEY (elder) REFERENCES children (id));" +
		"INSERT INTO parents VALUES (1), (2); INSERT INTO children VALUES (1, 1, NULL), (2, 1, 1), (3, 2, NULL)"
	computed = "CREATE TABLE computed (id int PRIMARY KEY, n int, g int GENERATED ALWAYS AS (n + 1) STORED," +
		" CHECK (n % 2 = 0)); INSERT INTO computed (id, n) VALUES (1, 2);"
	checked = "CREATE TABLE checked (id int PRIMARY KEY, n int NOT NULL, CHECK (n > 0 AND n <> 7));" +
		"INSERT INTO checked VALUES (1, 1)"
)

// crossings are the rows of that table.
var crossings = map[string]crossing{
	"values of types that both have": {
		tables: []string{"vals"},
		make: map[string]string{
			pgName: "CREATE TABLE vals (id int PRIMARY KEY, d numeric(9,2), f double precision, s text, b bytea," +
				" day date, at timestamp(3), ok boolean, j jsonb);" +
				`INSERT INTO vals VALUES (1, 1.50, 0.1, 'é 😀', '\x00ff', '2026-01-02', '2026-01-02 03:04:05.12',` +
				" true, '[1.0]')",
			myName: "CREATE TABLE vals (id int PRIMARY KEY, d decimal(9,2), f double, s text, b blob, day date," +
				" at datetime(3), ok tinyint(1));" +
				"INSERT INTO vals VALUES (1, 1.50, 0.1, 'é 😀', x'00ff', '2026-01-02', '2026-01-02 03:04:05.12'," +
				" true)",
			liName: "CREATE TABLE vals (id int PRIMARY KEY, d decimal(9,2), f double, s text, b blob, day date," +
				" at datetime, ok boolean, j json);" +
				"INSERT INTO vals VALUES (1, 1.5, 0.1, 'é 😀', x'00ff', '2026-01-02', '2026-01-02 03:04:05.12'," +
				" 1, '[1.0]')",
		},
		expected: []string{
			"d = 1.5", "f = 0.1", "s = 'é 😀'", "day = '2026-01-02'", "octet_length(b) = 2",
			"at BETWEEN '2026-01-02 03:04:05.12' AND '2026-01-02 03:04:05.1201'", "CAST(ok AS char(1)) IN ('1', 't')",
		},
	},
	"`NOT NULL`, keys, indexes": {
		tables: []string{"keyed"},
		make: all("CREATE TABLE keyed (id int PRIMARY KEY, code int NOT NULL UNIQUE, note varchar(20));" +
			"CREATE INDEX by_note ON keyed (note); INSERT INTO keyed VALUES (1, 7, 'x')"),
		refused: []string{
			"INSERT INTO keyed VALUES (1, 8, 'x')", "INSERT INTO keyed VALUES (2, 7, 'x')",
			"INSERT INTO keyed VALUES (2, NULL, 'x')",
		},
		allowed: []string{"INSERT INTO keyed VALUES (2, 8, 'x')"},
		shows: func(d *source.Definition) bool {
			return slices.ContainsFunc(d.Indexes, func(i source.Index) bool {
				return slices.Equal(i.Columns, []string{"note"})
			})
		},
	},
	"foreign keys, also in a circle": {
		tables: []string{"children", "parents"}, make: all(both),
		refused: []string{
			"INSERT INTO children VALUES (4, 9, NULL)", "INSERT INTO children VALUES (4, 1, 9)",
			"DELETE FROM children WHERE id = 1",
		},
		allowed:  []string{"DELETE FROM parents WHERE id = 2"},
		expected: []string{"(SELECT count(*) FROM children) = 2"},
	},
	"numbering of new rows": {
		tables: []string{"numbered"},
		make: map[string]string{
			pgName: "CREATE TABLE numbered (id bigserial PRIMARY KEY, s varchar(9));" +
				"INSERT INTO numbered (s) VALUES ('a'), ('b')",
			myName: "CREATE TABLE numbered (id bigint AUTO_INCREMENT PRIMARY KEY, s varchar(9));" +
				"INSERT INTO numbered (s) VALUES ('a'), ('b')",
			liName: "CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, s varchar(9));" +
				"INSERT INTO numbered (s) VALUES ('a'), ('b')",
		},
		allowed:  []string{"INSERT INTO numbered (s) VALUES ('c')"},
		expected: []string{"(SELECT id FROM numbered WHERE s = 'c') = 3"},
	},
	"defaults: values, the time": {
		tables: []string{"defaulted"},
		make: all("CREATE TABLE defaulted (id int PRIMARY KEY, n int DEFAULT 7, s varchar(9) DEFAULT 'it''s'," +
			" at timestamp NULL DEFAULT CURRENT_TIMESTAMP);" +
			"INSERT INTO defaulted VALUES (2, 1, 'x', '2026-01-01 00:00:00')"),
		allowed:  []string{"INSERT INTO defaulted (id) VALUES (1)"},
		expected: []string{"n = 7", "s = 'it''s'", "at > '2026-01-02 00:00:00'"},
	},
	"checks that compare": {
		tables: []string{"checked"}, make: all(checked),
		refused: []string{"INSERT INTO checked VALUES (2, 0)", "INSERT INTO checked VALUES (2, 7)"},
		allowed: []string{"INSERT INTO checked VALUES (2, 8)"},
	},
	"`UNSIGNED`, `ENUM`, `SET`": {
		tables: []string{"limited"},
		make: map[string]string{
			pgName: "CREATE TYPE mood AS ENUM ('new', 'paid');" +
				"CREATE TABLE limited (id int PRIMARY KEY, n int CHECK (n >= 0), s mood);" +
				"INSERT INTO limited VALUES (1, 1, 'new')",
			myName: "CREATE TABLE limited (id int PRIMARY KEY, n int unsigned, s enum('new','paid')," +
				" more set('a','b'));" +
				"INSERT INTO limited VALUES (1, 1, 'new', 'a,b')",
		},
		refused: []string{
			"INSERT INTO limited (id, n) VALUES (2, -1)", "INSERT INTO limited (id, s) VALUES (2, 'old')",
		},
		allowed: []string{"INSERT INTO limited (id, n, s) VALUES (2, 2, 'paid')"},
	},
	"`ON UPDATE CURRENT_TIMESTAMP`": {
		tables: []string{"touched"},
		make: map[string]string{
			myName: "CREATE TABLE touched (id int PRIMARY KEY, n int, at datetime ON UPDATE current_timestamp());" +
				"INSERT INTO touched VALUES (1, 1, '2020-01-01 00:00:00')",
		},
		allowed:  []string{"UPDATE touched SET n = 2 WHERE id = 1"},
		expected: []string{"at > '2026-01-01 00:00:00'"},
	},
	"letter case is ignored": {
		tables: []string{"folded"},
		make: map[string]string{
			pgName: "CREATE EXTENSION IF NOT EXISTS citext;" +
				"CREATE TABLE folded (id int PRIMARY KEY, email citext UNIQUE); INSERT INTO folded VALUES (1, 'bob@x')",
			myName: "CREATE TABLE folded (id int PRIMARY KEY, email varchar(40) UNIQUE) COLLATE utf8mb4_general_ci;" +
				"INSERT INTO folded VALUES (1, 'bob@x')",
			liName: "CREATE TABLE folded (id int PRIMARY KEY, email varchar(40) COLLATE NOCASE UNIQUE);" +
				"INSERT INTO folded VALUES (1, 'bob@x')",
		},
		refused: []string{"INSERT INTO folded VALUES (2, 'Bob@X')"},
		allowed: []string{"INSERT INTO folded VALUES (2, 'bo@x')"},
	},
	"comments": {
		tables: []string{"noted"},
		make: map[string]string{
			pgName: "CREATE TABLE noted (id int PRIMARY KEY); COMMENT ON TABLE noted IS 'it''s';" +
				"INSERT INTO noted VALUES (1)",
			myName: "CREATE TABLE noted (id int PRIMARY KEY) COMMENT 'it''s'; INSERT INTO noted VALUES (1)",
		},
		shows: func(d *source.Definition) bool { return d.Comment == "it's" },
		named: []string{"comment"},
	},
	"generated columns, other checks, triggers": {
		tables: []string{"computed"},
		make: map[string]string{
			pgName: computed + "CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql" +
				" AS 'BEGIN RAISE EXCEPTION ''no''; END';" +
				"CREATE TRIGGER stops BEFORE DELETE ON computed FOR EACH ROW EXECUTE FUNCTION stop()",
			myName: computed + "CREATE TRIGGER stops BEFORE DELETE ON computed FOR EACH ROW SIGNAL SQLSTATE '45000'",
			liName: computed + "CREATE TRIGGER stops BEFORE DELETE ON computed BEGIN SELECT RAISE(ABORT, 'no'); END",
		},
		refused: []string{"INSERT INTO computed (id, n) VALUES (2, 3)", "DELETE FROM computed WHERE id = 1"},
		named:   []string{"check", `"g"`, "stops"},
	},
}

// all is what all systems read.
func all(sql string) map[string]string {
	return map[string]string{pgName: sql, myName: sql, liName: sql}
}

// TestPairsOfReadme shows each cell of the table in README.md that says what crosses between each pair of systems.
func TestPairsOfReadme(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	sides := map[string]func(*testing.T) side{"Pg": postgresSide, "My": mariaDBSide, "Li": sqliteSide}
	names := map[string]string{"Pg": pgName, "My": myName, "Li": liName}
	head, rows := pairsOfReadme(t)
	if len(head) != 6 || len(rows) != len(crossings) {
		t.Errorf("there are %d pairs and %d rows, want 6 and %d", len(head), len(rows), len(crossings))
	}
	for i, pair := range head {
		t.Run(pair, func(t *testing.T) {
			from, to, is := strings.Cut(pair, " → ")
			if !is || sides[from] == nil || sides[to] == nil || from == to {
				t.Fatalf("%q is no pair of systems", pair)
			}
			side := func(system string) func(*testing.T) side {
				if system == "Li" {
					return sqliteSide // while a source reads the file, nobody writes to it
				}
				one := sides[system](t)
				return func(*testing.T) side { return one }
			}
			was, there := side(from), side(to)
			for row, cells := range rows {
				one, known := crossings[row]
				if !known {
					t.Errorf("no test shows the row %q", row)
					continue
				}
				t.Run(row, func(t *testing.T) { one.cross(t, was(t), there(t), names[from], cells[i]) })
			}
		})
	}
}

// pairsOfReadme returns the pairs of the table, and the cells of its rows.
func pairsOfReadme(t *testing.T) (head []string, rows map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) != 7 || strings.HasPrefix(cells[0], "--"):
		case head == nil:
			head = cells[1:]
		default:
			rows[cells[0]] = cells[1:]
		}
	}
	return head, rows
}

// cross takes it from one system to another one, and looks whether it is there as the cell says.
func (c *crossing) cross(t *testing.T, was, there side, from, cell string) {
	sql, has := c.make[from]
	if (cell == "–") != !has {
		t.Fatalf("the cell is %q, but %s has it: %v", cell, from, has)
	}
	if !has {
		return
	}
	if err := was.try(sql); err != nil {
		t.Fatal(err)
	}
	var tables []load.Names
	for _, name := range c.tables {
		tables = append(tables, load.Names{From: name, To: name})
	}
	plan := load.Plan{Create: true, ReadBack: true}
	done, err := plan.CopyTables(t.Context(), there.dst, was.open(), tables)
	if err != nil {
		t.Fatalf("%v: %+v", err, done)
	}
	omitted := ""
	for _, one := range done {
		for _, left := range one.Omitted {
			if !isCollation(left) {
				omitted += left + "\n"
			}
		}
	}
	crosses := cell != "no"
	if crosses != (omitted == "") {
		t.Errorf("the cell is %q, and left out is %q", cell, omitted)
	}
	for _, name := range c.named {
		if !crosses && !strings.Contains(omitted, name) {
			t.Errorf("%s is not named in %q", name, omitted)
		}
	}
	last := c.tables[len(c.tables)-1]
	for _, sql := range c.refused {
		if err := there.try(sql); (err == nil) == crosses {
			t.Errorf("the cell is %q, but of %s: %v", cell, sql, err)
		}
	}
	for _, sql := range c.allowed {
		if err := there.try(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, condition := range c.expected { // the row exists already, so a condition that does not hold is an error
		sql := "INSERT INTO " + last + " (id) SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM " + last + " WHERE id = 1 AND " +
			condition + ")"
		if err := there.try(sql); err != nil {
			t.Errorf("it does not hold that %s: %v", condition, err)
		}
	}
	if c.shows == nil {
		return
	}
	d, err := source.Define(t.Context(), there.open(), last)
	if err != nil {
		t.Fatal(err)
	}
	if c.shows(d) != crosses {
		t.Errorf("the cell is %q, but it is made as %+v", cell, d)
	}
}
