package export_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/export"
	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowread"
	"culvert/format/arrow/arrowtest"
	"culvert/format/parquet"
	"culvert/format/parquet/parquetread"
	"culvert/format/parquet/parquettest"
	"culvert/manifest"
	"culvert/source"
)

// columnar is a format of columns, and how another implementation counts the rows of a file.
type columnar struct {
	format.Format
	read format.Columnar
	rows func(tb testing.TB, file []byte) int64
}

// eachColumnar runs a test for each format of columns.
func eachColumnar(t *testing.T, test func(t *testing.T, c columnar)) {
	for name, c := range map[string]columnar{
		"Parquet": {parquet.Format{}, parquetread.Format{}, func(tb testing.TB, file []byte) int64 {
			return parquettest.Open(tb, file).NumRows()
		}},
		"Arrow": {arrow.Format{}, arrowread.Format{}, func(tb testing.TB, file []byte) (n int64) {
			_, records := arrowtest.Read(tb, file)
			for _, record := range records {
				n += record.NumRows()
			}
			return n
		}},
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

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

// TestColumnarReaders reads with several readers into one file, also large rows.
func TestColumnarReaders(t *testing.T) { eachColumnar(t, testColumnarReaders) }

func testColumnarReaders(t *testing.T, c columnar) {
	for _, rows := range []generated{{rows: 50_000}, {rows: 9, text: bytes.Repeat([]byte("large "), 1<<20)}} {
		var out bytes.Buffer
		plan := export.Plan{Format: c.Format, Compression: export.None, Unencrypted: true, Jobs: 3}
		stats, err := plan.Table(t.Context(), &out, &divided{generated: rows}, "")
		if err != nil || stats.Readers != 3 {
			t.Fatalf("%+v, %v", stats, err)
		}
		sum, n := naiveSum(t, &rows, ""), c.rows(t, out.Bytes())
		if n != int64(rows.rows) || stats.Sum != sum {
			t.Errorf("%d rows, %+v", n, stats)
		}
	}
}

// TestColumnarParts writes parts, of which each is a file, and which together are none.
func TestColumnarParts(t *testing.T) { eachColumnar(t, testColumnarParts) }

func testColumnarParts(t *testing.T, c columnar) {
	id := newIdentity(t)
	tables := schema{"a": {rows: 15000}, "b": {rows: 0}}
	plan := inParts(export.Plan{
		Format: c.Format, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: 2,
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
		if rows += c.rows(t, file); int64(len(file)) != table.Parts[i].TextBytes {
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

// TestColumnarFails has exports fail as those in other formats do: no file is left that looks whole.
func TestColumnarFails(t *testing.T) { eachColumnar(t, testColumnarFails) }

func testColumnarFails(t *testing.T, c columnar) {
	id := newIdentity(t)
	broken := errors.New("the server is gone")
	plan := export.Plan{
		Format: c.Format, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: 3,
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

// TestColumnarUnfit names the row, counted from the first, unless rows have no order.
func TestColumnarUnfit(t *testing.T) { eachColumnar(t, testColumnarUnfit) }

func testColumnarUnfit(t *testing.T, c columnar) {
	const rows = 100_000
	src := generated{rows: rows, change: func(row int, text []byte) []byte {
		if row == rows-2 {
			return []byte("good\xff")
		}
		return text
	}}
	plan := export.Plan{Format: c.Format, Compression: export.None, Unencrypted: true, Jobs: 3}
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

// TestColumnarLossy writes what does not fit as the plan says, counts it, and does not call it equal to the database.
func TestColumnarLossy(t *testing.T) { eachColumnar(t, testColumnarLossy) }

func testColumnarLossy(t *testing.T, c columnar) {
	src := database(t, `CREATE TABLE odd (n INTEGER NOT NULL, t TEXT, d DATE, b BLOB);
		INSERT INTO odd VALUES (1, 'a', '2026-01-02', x'01'), ('two', x'00ff', 'infinity', 'text'),
			(3, 'c', '10000-01-01', NULL)`)
	const head = "n,t,d,b\n1,a,2026-01-02,\\x01\n"
	for how, want := range map[format.Lossy]string{
		format.LossyNull:   head + ",,,\n3,c,,\n",
		format.LossyString: head + "two,\\x00ff,infinity,\\x74657874\n3,c,10000-01-01,\n",
	} {
		plan := export.Plan{Format: c.Format, Compression: export.None, Unencrypted: true, Jobs: 2, Lossy: how}
		to := newShelf()
		if _, err := plan.Tables(t.Context(), to, src, []string{"odd"}); err != nil {
			t.Fatal(err)
		}
		d, err := export.OpenDirectory(filesOf(to))
		if err != nil {
			t.Fatal(err)
		}
		data := to.files[d.Manifest.Tables[0].File()]
		file, err := c.read.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, file); got != want {
			t.Errorf("%s: %q, want %q", how, got, want)
		}
		unfit := []manifest.Unfit{
			{Column: "n", Values: 1}, {Column: "t", Values: 1}, {Column: "d", Values: 2}, {Column: "b", Values: 1},
		}
		if got := d.Manifest.Tables[0].Unfit(); !slices.Equal(got, unfit) || d.Manifest.Lossy != how.String() {
			t.Errorf("%s: the manifest has %+v, %s", how, got, d.Manifest.Lossy)
		}
		if err := d.Verify(t.Context(), nil); err != nil {
			t.Error(err)
		}
		err = d.Compare(t.Context(), src, 1, nil, nil, nil)
		if how == format.LossyNull && (err == nil || !strings.Contains(err.Error(), "cannot be proved equal")) {
			t.Errorf("compared: %v", err)
		}
	}
	plan := export.Plan{Unencrypted: true, Lossy: format.LossyNull}
	if _, err := plan.Table(t.Context(), io.Discard, src, "odd"); err == nil {
		t.Error("CSV is lossy")
	}
}

// printed returns the rows of a file, of which there are few, as CSV.
func printed(t *testing.T, file format.ColumnFile) string {
	t.Helper()
	encoder, err := format.CSV{}.Encoder(file.Columns())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := file.Rows(0, make([]format.Field, len(file.Columns())))
	if err != nil {
		t.Fatal(err)
	}
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	text, err := encoder.AppendRows(encoder.AppendHeader(nil), &b)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestColumnarLossyLarge keeps large rows, but for one value.
func TestColumnarLossyLarge(t *testing.T) { eachColumnar(t, testColumnarLossyLarge) }

func testColumnarLossyLarge(t *testing.T, c columnar) {
	large := generated{rows: 3, change: func(row int, _ []byte) []byte {
		text := bytes.Repeat([]byte("large "), 1<<20)
		if row == 1 {
			text[0] = 0xff
		}
		return text
	}}
	plan := export.Plan{Format: c.Format, Compression: export.None, Unencrypted: true, Lossy: format.LossyNull}
	var out bytes.Buffer
	stats, err := plan.Table(t.Context(), &out, &large, "")
	if err != nil || len(stats.Unfit) != 1 || stats.Unfit[0].Values != 1 || c.rows(t, out.Bytes()) != 3 {
		t.Errorf("%+v, %v", stats, err)
	}
}
