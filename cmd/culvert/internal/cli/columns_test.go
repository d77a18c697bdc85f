package cli

import (
	"fmt"
	"strings"
	"testing"

	"culvert/format"
)

// TestFiltered names each column that has a bloom filter in one of the row groups.
func TestFiltered(t *testing.T) {
	c := &columnsInspection{Groups: []format.RowGroup{
		{Filtered: []string{"a"}, FilterBytes: 40}, {}, {Filtered: []string{"b", "a"}, FilterBytes: 1000},
	}}
	var said []string
	c.write(new(strings.Builder), func(label, format string, args ...any) {
		said = append(said, label+": "+fmt.Sprintf(format, args...))
	})
	if want := "bloom filters: of a, b, 1,040 bytes"; !strings.Contains(strings.Join(said, "\n"), want) {
		t.Errorf("%q, want %s", said, want)
	}
}
