package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/export"
	"culvert/format"
	"culvert/format/parquet"
	"culvert/format/parquet/parquettest"
	"culvert/internal/testkit"
	"culvert/source"
)

// batchesOf returns all rows of a table.
func batchesOf(tb testing.TB, src source.Source, table string) (columns []source.Column, batches []*source.Batch) {
	tb.Helper()
	rows, err := src.Table(tb.Context(), table)
	if err != nil {
		tb.Fatal(err)
	}
	for {
		b := new(source.Batch)
		if err := rows.Next(b); err == io.EOF {
			if err := rows.Close(); err != nil {
				tb.Error(err)
			}
			return rows.Columns(), batches
		} else if err != nil {
			tb.Fatal(err)
		}
		batches = append(batches, b)
	}
}

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

// TestParquetReaders reads with several readers into one file, also large rows.
func TestParquetReaders(t *testing.T) {
	for _, rows := range []generated{{rows: 50_000}, {rows: 9, text: bytes.Repeat([]byte("large "), 1<<20)}} {
		var out bytes.Buffer
		plan := export.Plan{Format: parquet.Format{}, Compression: export.None, Unencrypted: true, Jobs: 3}
		stats, err := plan.Table(t.Context(), &out, &divided{generated: rows}, "")
		if err != nil || stats.Readers != 3 {
			t.Fatalf("%+v, %v", stats, err)
		}
		sum, n := naiveSum(t, &rows, ""), parquettest.Open(t, out.Bytes()).NumRows()
		if n != int64(rows.rows) || stats.Sum != sum {
			t.Errorf("%d rows, %+v", n, stats)
		}
	}
}

// TestParquetParts writes parts, of which each is a file, and which together are none.
func TestParquetParts(t *testing.T) {
	id := newIdentity(t)
	tables := schema{"a": {rows: 15000}, "b": {rows: 0}}
	plan := inParts(export.Plan{
		Format: parquet.Format{}, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: 2,
	}, 7000)
	to := newShelf()
	if _, err := plan.Tables(t.Context(), to, &cuttable{schema: tables}, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	d, err := export.OpenDirectory(filesOf(to), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	rows := int64(0)
	table := d.Table("a")
	for i := range table.Parts {
		file, err := open(to.files[table.Parts[i].File], id)
		if err != nil {
			t.Fatal(err)
		}
		if rows += parquettest.Open(t, file).NumRows(); int64(len(file)) != table.Parts[i].TextBytes {
			t.Errorf("part %d has %d bytes, want %d", i, len(file), table.Parts[i].TextBytes)
		}
	}
	if rows != 15000 || len(table.Parts) != 3 {
		t.Errorf("%d rows in %d parts", rows, len(table.Parts))
	}
	_, asText := d.Open(table)
	_, at := d.ReaderAt(table)
	for _, err := range []error{asText, at, d.CopyTable(t.Context(), table, io.Discard)} {
		if err == nil || !strings.Contains(err.Error(), "no file as a whole") {
			t.Errorf("parts read as one: %v", err)
		}
	}
	if err := d.Compare(t.Context(), tables, 2, nil, nil, nil); err != nil {
		t.Error(err)
	}
}

// TestParquetFails has exports fail as those in other formats do: no file is left that looks whole.
func TestParquetFails(t *testing.T) {
	id := newIdentity(t)
	broken := errors.New("the server is gone")
	plan := export.Plan{
		Format: parquet.Format{}, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: 3,
	}
	var file bytes.Buffer
	faulty := &generated{rows: 20_000, failAt: 15_000, fail: broken}
	if _, err := plan.Table(t.Context(), &file, faulty, ""); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the source", err)
	}
	if _, err := open(file.Bytes(), id); !errors.Is(err, agefile.ErrCorrupt) {
		t.Errorf("a failed output opens with %v", err)
	}
	for _, left := range []int{0, 1000, 60 << 10} {
		if _, err := plan.Table(t.Context(), &fullDisk{left}, &generated{rows: 100_000}, ""); !errors.Is(err, errFull) {
			t.Errorf("%d bytes: error %v", left, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	canceling := &generated{rows: 40_000, failAt: 30_000, change: func(row int, text []byte) []byte {
		if row == 20_000 {
			cancel()
		}
		return text
	}}
	if _, err := plan.Table(ctx, io.Discard, canceling, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	plan.Compression = export.Zstd
	if _, err := plan.Table(t.Context(), io.Discard, &generated{rows: 1}, ""); err == nil {
		t.Error("compressed outside")
	}
}

// TestParquetUnfit names the row, counted from the first, unless rows have no order.
func TestParquetUnfit(t *testing.T) {
	const rows = 100_000
	src := generated{rows: rows, change: func(row int, text []byte) []byte {
		if row == rows-2 {
			return []byte("good\xff")
		}
		return text
	}}
	plan := export.Plan{Format: parquet.Format{}, Compression: export.None, Unencrypted: true, Jobs: 3}
	for _, test := range []struct {
		src source.Source
		row int64
	}{{&src, rows - 1}, {&divided{generated: src}, 0}} {
		_, err := plan.Table(t.Context(), io.Discard, test.src, "")
		unfit, is := errors.AsType[*format.ValueError](err)
		if !is || unfit.Column != "text" || unfit.Row != test.row ||
			strings.Contains(err.Error(), "row") != (test.row > 0) {
			t.Errorf("error %v, want one about row %d", err, test.row)
		}
	}
	odd := database(t, `CREATE TABLE odd (n INTEGER, t TEXT);
		INSERT INTO odd VALUES (1, 'a'), ('two', 'b'), (3, x'00')`)
	for query, row := range map[string]int64{"SELECT n FROM odd": 2, "SELECT t FROM odd": 3} {
		_, err := plan.Query(t.Context(), io.Discard, odd, query)
		if unfit, is := errors.AsType[*format.ValueError](err); !is || unfit.Row != row {
			t.Errorf("%s: error %v, want one about row %d", query, err, row)
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
