package parquet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	pqformat "github.com/parquet-go/parquet-go/format"

	"culvert/format/parquet/parquettest"
	"culvert/source"
)

// TestDeltas writes numbers as differences where these are smaller, also such as 64 or 32 bits only hold modulo 2^64 or
// 2^32, and other numbers as they are.
func TestDeltas(t *testing.T) {
	const rows = 1000
	random := rand.New(rand.NewPCG(1, 2))
	for name, test := range map[string]struct {
		logical string
		value   func(row int) int64
		deltas  bool
	}{
		"in order":         {"int64", func(row int) int64 { return int64(row) * 7 }, true},
		"backwards":        {"int32", func(row int) int64 { return -int64(row) }, true},
		"small":            {"int64", func(int) int64 { return random.Int64N(1 << 20) }, true},
		"in 48 bits":       {"int64", func(int) int64 { return random.Int64N(1 << 48) }, true},
		"extremes":         {"int64", extremes(math.MinInt64, math.MaxInt64), true},
		"extremes, int32":  {"int32", extremes(math.MinInt32, math.MaxInt32), true},
		"large, in order":  {"int64", func(row int) int64 { return math.MaxInt64 - rows + int64(row) }, true},
		"random":           {"int64", func(int) int64 { return int64(random.Uint64()) }, false},
		"random, int32":    {"int32", func(int) int64 { return int64(int32(random.Uint32())) }, false},
		"decimals":         {"decimal(12,0)", func(row int) int64 { return int64(row) }, true},
		"too many digits":  {"decimal(20,0)", func(row int) int64 { return int64(row) }, false},
		"none but doubles": {"float64", func(row int) int64 { return int64(row) }, false},
	} {
		for _, n := range []int{leastDeltas - 1, leastDeltas, leastDeltas + 1, 2*deltaBlock + 1, rows} {
			columns := columnsOf(t, test.logical)
			var cells [][]cell
			for row := range n {
				cells = append(cells, []cell{{source.Number, fmt.Sprint(test.value(row))}})
				if row%3 == 0 {
					cells = append(cells, []cell{{}})
				}
			}
			b := batchOf(cells...)
			file := write(t, Format{}, columns, b)
			parquettest.Expect(t, file, columns, b)
			meta := parquettest.Open(t, file).Metadata().RowGroups[0].Columns[0].MetaData
			got := slices.Contains(meta.Encoding, pqformat.DeltaBinaryPacked)
			if want := test.deltas && n >= leastDeltas; got != want && (n == rows || !test.deltas || n < leastDeltas) {
				t.Errorf("%s, %d rows: as differences: %v, want %v", name, n, got, want)
			}
		}
	}
}

// extremes returns small numbers, and two between them of which the difference is larger than any number.
func extremes(least, most int64) func(row int) int64 {
	return func(row int) int64 {
		switch row {
		case 500:
			return least
		case 501:
			return most
		}
		return int64(row)
	}
}
