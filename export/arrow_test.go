package export_test

import (
	"bytes"
	"testing"

	"filippo.io/age"

	"culvert/export"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowtest"
)

// TestArrow exports a table as Arrow, encrypted, and reads it with another implementation.
func TestArrow(t *testing.T) {
	src := database(t, manyTodos)
	id := newIdentity(t)
	columns, batches := batchesOf(t, src, "todos")
	sum := naiveSum(t, src, "todos")
	for _, f := range []arrow.Format{{}, {Stream: true, Uncompressed: true}} {
		plan := export.Plan{Format: f, Compression: export.None, Jobs: 3, Recipients: []age.Recipient{id.Recipient()}}
		var out bytes.Buffer
		stats, err := plan.Table(t.Context(), &out, src, "todos")
		if err != nil {
			t.Fatal(err)
		}
		file, err := open(out.Bytes(), id)
		if err != nil {
			t.Fatal(err)
		}
		arrowtest.Expect(t, file, columns, batches...)
		if stats.Text != int64(len(file)) || stats.Rows != 60000 || stats.Sum != sum {
			t.Errorf("%+v, for %d bytes with the sum %s", stats, len(file), sum)
		}
	}
}
