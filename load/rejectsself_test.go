package load_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/load"
)

// TestRejectsSelfReference loads rows that refer to later rows of their table, far behind them and over several steps.
// Only those that refer to none are rejected.
func TestRejectsSelfReference(t *testing.T) {
	t.Parallel()
	const rows = 40_000 // of several blocks
	var text strings.Builder
	text.WriteString("id,boss,name\n")
	var want []string
	for i := range rows {
		boss, name := "", strings.Repeat("x", 80)
		switch {
		case i == 7 || i == rows-1:
			boss = fmt.Sprint(2 * rows) // nobody
		case i == 11:
			name += " is too long"
		case i%1000 == 0:
			boss = fmt.Sprint(min(i+1000, rows-2))
		}
		row := fmt.Sprintf("%d,%s,%s\n", i, boss, name)
		text.WriteString(row)
		if i != 7 && i != 11 && i != rows-1 {
			want = append(want, row)
		}
	}
	s, at := sides["PostgreSQL"](t), t.TempDir()
	table := "CREATE TABLE staff (id int PRIMARY KEY, boss int REFERENCES staff (id), name varchar(80))"
	if err := s.try(table); err != nil {
		t.Fatal(err)
	}
	plan := load.Plan{Rejects: rejectsIn(t, at)}
	from := strings.NewReader(strings.TrimSuffix(text.String(), "\n"))
	stats, err := plan.Text(t.Context(), s.dst, from, "staff.csv", format.CSV{}, "staff")
	if err != nil || stats.Rejected != 3 || stats.Rows != rows-3 {
		t.Fatalf("%+v, %v", stats, err)
	}
	got := csvOf(t, s.open(), "staff")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the table has %d rows that differ", len(got))
	}
}

// TestRejectsPartitions rejects rows for which a table has no partition, and reads the others back.
func TestRejectsPartitions(t *testing.T) {
	for name, sql := range map[string][]string{
		"PostgreSQL": {
			"CREATE TABLE p (id int, title text) PARTITION BY RANGE (id)",
			"CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
		},
		"MariaDB": {
			"CREATE TABLE p (id int, title text) PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (10))",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, at := sides[name](t), t.TempDir()
			for _, one := range sql {
				if err := s.try(one); err != nil {
					t.Fatal(err)
				}
			}
			plan := load.Plan{Rejects: rejectsIn(t, at), ReadBack: true}
			from := strings.NewReader("id,title\n1,a\n10,b\n9,c\n")
			stats, err := plan.Text(t.Context(), s.dst, from, "p.csv", format.CSV{}, "p")
			if err != nil || stats.Rejected != 1 || stats.Rows != 2 {
				t.Errorf("%+v, %v", stats, err)
			}
		})
	}
}
