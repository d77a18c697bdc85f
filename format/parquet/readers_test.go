package parquet

import (
	"math/rand/v2"
	"slices"
	"strings"
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

// TestReadersSpark has Spark read a random file of all types, and compares each cell. It needs a schema for UUIDs.
func TestReadersSpark(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	spark := typedtest.NewReaders(t, "testdata/spark.py")
	isUUID := func(name string) bool { return strings.Contains(name, "uuid") }
	for _, types := range [][]string{slices.DeleteFunc(slices.Clone(allTypes), isUUID), {"uuid", "list(uuid)"}} {
		columns := columnsOf(t, types...)
		batches := randomBatches(rand.New(rand.NewPCG(1, 3)), columns)
		file := write(t, Format{limits: limits{groupText: 1 << 14}}, columns, batches...)
		spark.Expect(t, ".parquet", file, types, columns, batches)
	}
}
