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
		whole := write(t, f, columns, 1<<20, batches...)
		inPieces := write(t, arrow.InPieces(f, 1), columns, 1000, batches...)
		readers.Expect(t, f.Extension(), whole, allTypes, columns, batches)
		readers.Expect(t, f.Extension(), inPieces, allTypes, columns, batches)
	}
}
