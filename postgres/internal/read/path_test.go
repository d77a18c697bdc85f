package read_test

import (
	"testing"

	"culvert/postgres/internal/read"
	"culvert/source"
)

const pathsSQL = `
CREATE SCHEMA mine; CREATE TABLE mine.seen (i int);
CREATE FUNCTION mine.name() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'seen'::regclass; END $$;
CREATE TABLE plain (i int, c regclass, t regtype);
INSERT INTO plain SELECT i, 'mine.seen', 'mine.seen' FROM generate_series(1, 3000) AS i;
CREATE TABLE parted (c regclass) PARTITION BY LIST (c); CREATE TABLE part PARTITION OF parted DEFAULT;
INSERT INTO parted VALUES ('mine.seen');
CREATE MATERIALIZED VIEW kept AS SELECT 'mine.seen'::regclass AS c;
CREATE VIEW shown AS SELECT 'mine.seen'::regclass AS c, mine.name() AS t`

// TestNamesOfObjects reads names of objects, whose text depends on the search path. In the rows of tables they have
// their schema, whatever path the user has. What users write, and views, whose functions look names up, have theirs.
func TestNamesOfObjects(t *testing.T) {
	read.ShrinkRanges(t)
	_, database := openNew(t, pathsSQL)
	role := database.NewRole(t, "reader", "")
	database.Exec(t, `ALTER ROLE `+role+` SET search_path = mine, public; GRANT USAGE ON SCHEMA mine TO `+role+`;
		GRANT SELECT ON ALL TABLES IN SCHEMA mine, public TO `+role)
	db := openAgain(t, database.ConnStringAs(role))
	few := source.Selection{Where: "i = 1", Columns: []string{"c", "t"}}
	for range 2 { // each way follows each other one
		for _, c := range []struct {
			want string
			open func() source.Rows
		}{
			{"c\nmine.seen\n", func() source.Rows { return table(t, db, "parted") }},
			{"c\nmine.seen\n", func() source.Rows { return table(t, db, "kept") }},
			{"c,t\nseen,seen\n", func() source.Rows { return table(t, db, "shown") }},
			{"c,t\nseen,seen\n", func() source.Rows { return selection(t, db, "plain", few) }},
			{"c,t\nmine.seen,mine.seen\n", func() source.Rows {
				return selection(t, db, "plain", source.Selection{Columns: []string{"c", "t"}, Limit: 1})
			}},
			{"name\nseen\n", func() source.Rows { return query(t, db, "SELECT mine.name()") }},
		} {
			expectCSV(t, c.open, c.want)
		}
		// COPY does not accept this one, and its refusal undoes what was set.
		if got := encoded(t, query(t, db, "SELECT mine.name(); -- the end")); got != "name\nseen\n" {
			t.Errorf("a query that COPY refuses: %q", got)
		}
		got, err := together(divide(t, db, "plain", 3), func() {})
		if err != nil {
			t.Error(err)
		}
		expectLines(t, "several connections", got, linesOf(t, database, "TABLE plain"))
	}
}
