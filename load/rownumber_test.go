package load_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/format"
	"culvert/load"
	"culvert/sink"
)

// TestRowNumber has a file or the database refuse the row of a file with blank lines. Both count only rows, wherever
// blocks and batches begin.
func TestRowNumber(t *testing.T) {
	t.Parallel()
	const rows = 6000 // of 1 KiB
	for _, bad := range []int{1, 100, 3000, rows} {
		for _, refused := range []bool{false, true} {
			var text strings.Builder
			for i := 1; i <= rows; i++ {
				line := fmt.Sprintf(`{"id":%d,"title":%q}`, i, strings.Repeat("x", 1000))
				if i == bad && !refused {
					line = "[]"
				}
				text.WriteString(" \n" + line + "\n\n")
			}
			db := newMemory("t")
			db.refuse = func(line string) error {
				if refused && strings.HasPrefix(line, fmt.Sprint(bad, ",")) {
					return errors.New("refused")
				}
				return nil
			}
			var plan load.Plan
			_, err := plan.Text(t.Context(), db, strings.NewReader(text.String()), "t.jsonl", format.JSONL{}, "t")
			row := int64(0)
			if unread, is := errors.AsType[*format.RowError](err); is {
				row = unread.Row
			} else if stored, is := errors.AsType[*sink.RowError](err); is {
				row = stored.Row
			}
			if row != int64(bad) {
				t.Errorf("row %d, refused by the database: %v; it is said to be row %d: %v", bad, refused, row, err)
			}
		}
	}
}

// TestRowNumberAfterLines has each database refuse the row after one of several lines.
func TestRowNumberAfterLines(t *testing.T) {
	const text = "id,t,n\n1,\"two\nlines\",1\n1,,1\n"
	for name, to := range map[string]func(*testing.T) side{
		"PostgreSQL": postgresSide, "MariaDB": mariaDBSide, "SQLite": sqliteSide,
	} {
		t.Run(name, func(t *testing.T) {
			s := to(t)
			if err := s.try("CREATE TABLE t (id int PRIMARY KEY, t text, n int)"); err != nil {
				t.Fatal(err)
			}
			var plan load.Plan
			_, err := plan.Text(t.Context(), s.dst, strings.NewReader(text), "t.csv", format.CSV{}, "t")
			refused, is := errors.AsType[*sink.RowError](err)
			if !is || refused.Row != 2 {
				t.Errorf("row 2 is refused as %v", err)
			}
		})
	}
}
