package read_test

import (
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// TestDivideLargeValues shares tables among readers of which nearly all is in values that are kept apart from their
// rows. The rows of a page are divided if there are few pages.
func TestDivideLargeValues(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, database := openNew(t, `
		CREATE TABLE many (id int, v text); ALTER TABLE many ALTER v SET STORAGE EXTERNAL;
		INSERT INTO many SELECT i, repeat('x', 10000) FROM generate_series(1, 150) AS i;
		CREATE TABLE few (id int, v text); ALTER TABLE few ALTER v SET STORAGE EXTERNAL;
		INSERT INTO few SELECT i, repeat('x', 50000) FROM generate_series(1, 5) AS i;
		CREATE TABLE gone (id int, v text); ALTER TABLE gone ALTER v SET STORAGE EXTERNAL;
		INSERT INTO gone SELECT i, CASE WHEN i % 50 = 0 THEN repeat('x', 50000) END FROM generate_series(1, 250) AS i;
		DELETE FROM gone WHERE id % 50 > 0;
		CREATE TABLE one (id int, v text); ALTER TABLE one ALTER v SET STORAGE EXTERNAL;
		INSERT INTO one VALUES (1, repeat('x', 500000));
		CREATE TABLE parts (id int, v text) PARTITION BY LIST (id);
		CREATE TABLE odd PARTITION OF parts FOR VALUES IN (1, 3, 5);
		CREATE TABLE even PARTITION OF parts FOR VALUES IN (2, 4, 6);
		ALTER TABLE odd ALTER v SET STORAGE EXTERNAL; ALTER TABLE even ALTER v SET STORAGE EXTERNAL;
		INSERT INTO parts SELECT 1 + i % 6, repeat('x', 10000) FROM generate_series(1, 60) AS i`)
	for _, test := range []struct {
		table   string
		readers int
	}{{"many", 4}, {"few", 4}, {"gone", 4}, {"one", 1}, {"parts", 4}} {
		rows := table(t, db, test.table)
		ranges, err := rows.(source.Divider).Ranges(4)
		if err != nil || ranges < test.readers {
			t.Errorf("%s: %d ranges, %v", test.table, ranges, err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		all := divide(t, db, test.table, 4)
		if len(all) != test.readers {
			t.Errorf("%s has %d readers, want %d", test.table, len(all), test.readers)
		}
		got, err := together(all, func() {})
		if err != nil {
			t.Error(err)
		}
		want := linesOf(t, database, "TABLE "+test.table)
		expectLines(t, test.table, shortened(got), shortened(want))
	}
}

// shortened cuts the text in lines.
func shortened(lines []string) []string {
	short := make([]string, len(lines))
	for i, line := range lines {
		short[i] = strings.ReplaceAll(line, strings.Repeat("x", 1000), "X")
	}
	return short
}
