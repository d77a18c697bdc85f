package parquet

import (
	"math/rand/v2"
	"slices"
	"testing"

	"culvert/format/internal/typed/typedtest"
	"culvert/internal/testkit"
)

// TestReaders has the programs that users have read random files, and compares each cell.
func TestReaders(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	readers := typedtest.NewReaders(t, "testdata/read.py")
	types := slices.Concat(allTypes, allTypes)
	columns := columnsOf(t, types...)
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := Format{limits: limits{groupText: 1 << (12 + r.IntN(14)), dictionary: 1 << (8 + r.IntN(12))}}
		if r.IntN(3) == 0 {
			f.limits.whole = 1
		}
		batches := randomBatches(r, columns)
		t.Logf("seed %d", seed)
		readers.Expect(t, ".parquet", write(t, f, columns, batches...), types, columns, batches)
	}
	// DuckDB also looks values up by bloom filters. It is a reader of its own, since another script asks it.
	lookups := typedtest.NewReaders(t, "testdata/bloom.py")
	for seed := range uint64(4) {
		f := Format{Bloom: filterable(t, columns), limits: limits{groupText: 1 << 12, filter: 1 << (10 + 4*(seed%2))}}
		if seed == 3 {
			f.limits.whole = 1
		}
		batches := randomBatches(rand.New(rand.NewPCG(seed, 2)), columns)
		lookups.Expect(t, ".parquet", write(t, f, columns, batches...), types, columns, batches)
	}
}
