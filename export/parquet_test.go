package export_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"filippo.io/age"

	"culvert/export"
	"culvert/format/parquet"
	"culvert/format/parquet/parquettest"
	"culvert/internal/testkit"
)

// TestParquet exports a table as Parquet, encrypted, and reads it with another implementation.
func TestParquet(t *testing.T) {
	src := database(t, manyTodos)
	id := newIdentity(t)
	columns, batches := batchesOf(t, src, "todos")
	sum := naiveSum(t, src, "todos")
	for _, jobs := range []int{1, 4} {
		progress := new(export.Progress)
		plan := export.Plan{Format: parquet.Format{}, Compression: export.None, Jobs: jobs, Progress: progress}
		plan.Recipients = []age.Recipient{id.Recipient()}
		if got := plan.Extension(); got != ".parquet.age" {
			t.Errorf("extension %s", got)
		}
		var out bytes.Buffer
		stats, err := plan.Table(t.Context(), &out, src, "todos")
		if err != nil {
			t.Fatal(err)
		}
		file, err := open(out.Bytes(), id)
		if err != nil {
			t.Fatal(err)
		}
		parquettest.Expect(t, file, columns, batches...)
		if stats.Text != int64(len(file)) || stats.Out != int64(out.Len()) || stats.Rows != 60000 || stats.Sum != sum {
			t.Errorf("%+v, for %d bytes with the sum %s", stats, len(file), sum)
		}
		if progress.Rows.Load() != stats.Rows || progress.Text.Load() != stats.Text ||
			progress.Out.Load() != stats.Out {
			t.Errorf("progress does not end at %+v", stats)
		}
	}
}

// TestParquetMemory holds an export to the formula of the package, however many rows there are.
func TestParquetMemory(t *testing.T) {
	const jobs = 4
	const formula = 32 + 16 + 16 + (jobs+2)*7/2 + jobs*5 + jobs*5/2 // pages, dictionaries, indexes; the pipeline
	rows := testkit.Fewer(1_500_000)
	if testkit.Soak() {
		rows *= 20
	}
	program := testkit.PeakMemory(t, func() {})
	id := newIdentity(t)
	plan := export.Plan{
		Format: parquet.Format{}, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: jobs,
	}
	src := &generated{rows: rows}
	testkit.MemoryCeiling(t, program+formula<<20, func() {
		if _, err := plan.Table(t.Context(), io.Discard, src, ""); err != nil {
			t.Error(err)
		}
	})
	// Of two columns, and 16 bytes for each row of a frame, of which one has about 25,000.
	const filters = 2 + (jobs+2)/2
	plan.Format = parquet.Format{Bloom: []string{"id", "text"}}
	testkit.MemoryCeiling(t, program+(formula+filters)<<20, func() {
		if _, err := plan.Table(t.Context(), io.Discard, src, ""); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkParquet exports rows that are made here, beside compressed CSV.
func BenchmarkParquet(b *testing.B) {
	for _, plan := range []export.Plan{
		{Unencrypted: true}, {Unencrypted: true, Format: parquet.Format{}, Compression: export.None},
	} {
		b.Run(fmt.Sprintf("%T", plan.Format), func(b *testing.B) {
			for b.Loop() {
				stats, err := plan.Table(b.Context(), io.Discard, &generated{rows: 300_000}, "")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(stats.Out)/float64(stats.Rows), "bytes/row")
			}
		})
	}
}
