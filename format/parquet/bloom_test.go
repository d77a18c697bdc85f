package parquet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"culvert/format/internal/typed/typedtest"
	"culvert/format/parquet/parquetread"
	"culvert/format/parquet/parquettest"
	"culvert/source"
)

// filterable returns the names of columns that can have a bloom filter.
func filterable(tb testing.TB, columns []source.Column) (names []string) {
	tb.Helper()
	for _, c := range columns {
		if _, err := (Format{Bloom: []string{c.Name}}).Encoder(columns); err == nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// TestBloom writes filters of all types that can have one, of blocks and of large rows, and finds each value in them.
func TestBloom(t *testing.T) {
	t.Parallel()
	columns := typedtest.Require(columnsOf(t, allTypes...), 4)
	names := filterable(t, columns)
	refused := map[string]bool{}
	for _, c := range columns {
		refused[c.Logical.String()] = !slices.Contains(names, c.Name)
	}
	for logical, want := range map[string]bool{
		"bool": true, "float32": true, "float64": true, "list(int32)": true, "list(unknown)": false, "int16": false,
		"decimal(38,10)": false, "decimal": false, "string": false, "bytes": false, "instant": false, "uuid": false,
	} {
		if refused[logical] != want {
			t.Errorf("a filter of %s is refused: %v", logical, !want)
		}
	}
	for round, f := range []Format{
		{},
		{limits: limits{groupText: 1 << 18, filter: 1 << 10}},
		{limits: limits{filters: 1}},
		{limits: limits{whole: 1}},
	} {
		f.Bloom = names
		batches := randomBatches(rand.New(rand.NewPCG(uint64(round), 5)), columns)
		file := write(t, f, columns, batches...)
		parquettest.Expect(t, file, columns, batches...)
		for _, group := range parquettest.Open(t, file).RowGroups() {
			for i, chunk := range group.ColumnChunks() {
				nulls := chunk.(*pq.FileColumnChunk).NullCount()
				want := slices.Contains(names, columns[i].Name) && nulls < chunk.NumValues()
				if has := chunk.BloomFilter() != nil; has != want {
					t.Errorf("column %s of %d values and %d NULLs has a filter: %v", columns[i].Name,
						chunk.NumValues(), nulls, has)
				}
			}
		}
	}
}

// TestBloomSize has filters of the size that their values want, which are wrong about few of the values that they do
// not have, and ends a row group when a filter is full.
func TestBloomSize(t *testing.T) {
	columns := columnsOf(t, "int64", "string")
	const most = 1 << 12 // bytes
	f := Format{Bloom: []string{columns[0].Name}, limits: limits{filter: most}}
	for values, size := range map[int]int64{1: 32, 25: 32, 26: 64, 1000: 2048, 1700: most} {
		chunk := filtered(t, f, columns, 1, values)[0]
		if got := chunk.BloomFilter().Size(); got != size {
			t.Errorf("the filter of %d values has %d bytes, want %d", values, got, size)
		}
		const probes = 100_000
		wrong := 0
		for i := range probes {
			if has, err := chunk.BloomFilter().Check(pq.Int64Value(int64(i + 1<<32))); err != nil {
				t.Fatal(err)
			} else if has {
				wrong++
			}
		}
		if wrong > probes/80 {
			t.Errorf("the filter of %d values has %d of %d others", values, wrong, probes)
		}
	}
	full := capacity(most/filterBlockSize) * 102 / 100 // a few are taken for others, and not counted
	if groups := filtered(t, f, columns, 1, full, full, 1); len(groups) != 3 {
		t.Errorf("%d row groups, want one for each full filter, and one for the rest", len(groups))
	}
	if groups := filtered(t, f, columns, 0, full, full, 1); len(groups) != 1 {
		t.Errorf("%d row groups of few values", len(groups))
	}
}

// filtered writes batches of so many rows and returns the first column of each row group. From row to row, its value
// grows by a step.
func filtered(tb testing.TB, f Format, columns []source.Column, step int, sizes ...int) (chunks []pq.ColumnChunk) {
	tb.Helper()
	var batches []*source.Batch
	row := 0
	for _, size := range sizes {
		var rows [][]cell
		for range size {
			rows = append(rows, []cell{{source.Number, fmt.Sprint(row * step)}, {source.Text, "x"}})
			row++
		}
		batches = append(batches, batchOf(rows...))
	}
	file := write(tb, f, columns, batches...)
	parquettest.Expect(tb, file, columns, batches...)
	for _, group := range parquettest.Open(tb, file).RowGroups() {
		chunks = append(chunks, group.ColumnChunks()[0])
	}
	return chunks
}

// TestBloomColumns refuses names that rows do not have, unless they need not, and says which columns have filters.
func TestBloomColumns(t *testing.T) {
	columns := columnsOf(t, "int64", "string", "float64")
	for name, want := range map[string]string{
		"nine": `no column "nine"`, columns[2].Name: "cannot have a bloom filter",
	} {
		_, err := Format{Bloom: []string{name}}.Encoder(columns)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %s", err, want)
		}
	}
	b := batchOf([]cell{{source.Number, "1"}, {source.Text, "a"}, null}, []cell{{source.Number, "2"}, null, null})
	f := Format{Bloom: []string{columns[1].Name, "nine", columns[1].Name}, BloomOptional: true}
	file := write(t, f, columns, b)
	opened, err := parquetread.Format{}.Open(strings.NewReader(string(file)), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got := opened.Groups(); !slices.Equal(got[0].Filtered, []string{columns[1].Name}) || got[0].FilterBytes < 32 {
		t.Errorf("the filters are %+v", got)
	}
}
