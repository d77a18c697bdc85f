package arrow_test

import (
	"testing"

	"culvert/format/arrow"
	"culvert/format/internal/typed/typedtest"
	"culvert/internal/testkit"
)

// TestReaders has the programs that users have read files and streams of all types, and compares each cell. The script
// is that of Parquet.
func TestReaders(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	readers := typedtest.NewReaders(t, "../parquet/testdata/read.py")
	columns := columnsOf(t, allTypes...)
	batches := batchesOf(columns)
	for _, f := range formats {
		for _, f := range []arrow.Format{f, arrow.InPieces(f, 1)} {
			readers.Expect(t, f.Extension(), write(t, f, columns, 1000, batches...), allTypes, columns, batches)
		}
	}
}
