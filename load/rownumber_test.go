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
