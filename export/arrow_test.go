package export_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/export"
	"culvert/format"
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

// TestArrowReaders reads with several readers into one file, also large rows.
func TestArrowReaders(t *testing.T) {
	for _, rows := range []generated{{rows: 50_000}, {rows: 9, text: bytes.Repeat([]byte("large "), 1<<20)}} {
		var out bytes.Buffer
		plan := export.Plan{Format: arrow.Format{}, Compression: export.None, Unencrypted: true, Jobs: 3}
		stats, err := plan.Table(t.Context(), &out, &divided{generated: rows}, "")
		if err != nil || stats.Readers != 3 {
			t.Fatalf("%+v, %v", stats, err)
		}
		n := int64(0)
		_, records := arrowtest.Read(t, out.Bytes())
		for _, record := range records {
			n += record.NumRows()
		}
		if n != int64(rows.rows) || stats.Sum != naiveSum(t, &rows, "") {
			t.Errorf("%d rows, %+v", n, stats)
		}
	}
}

// TestArrowParts writes parts, of which each is a file.
func TestArrowParts(t *testing.T) {
	id := newIdentity(t)
	plan := inParts(export.Plan{
		Format: arrow.Format{}, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: 2,
	}, 7000)
	to := newShelf()
	tables := schema{"a": {rows: 15000}, "b": {rows: 0}}
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
	if err := d.CopyTable(t.Context(), d.Table("a"), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no file as a whole") {
		t.Errorf("parts read as one: %v", err)
	}
}

// TestArrowFails has exports fail as those in other formats do: no file is left that looks whole.
func TestArrowFails(t *testing.T) {
	id := newIdentity(t)
	plan := export.Plan{
		Format: arrow.Format{}, Compression: export.None, Recipients: []age.Recipient{id.Recipient()}, Jobs: 3,
	}
	broken := errors.New("the server is gone")
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
	change := func(row int, text []byte) []byte {
		if row == 20_000 {
			cancel()
		}
		return text
	}
	canceling := &generated{rows: 40_000, failAt: 30_000, change: change}
	if _, err := plan.Table(ctx, io.Discard, canceling, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	odd := &generated{rows: 30_000, change: func(row int, text []byte) []byte {
		if row == 29_000 {
			return []byte("good\xff")
		}
		return text
	}}
	_, err := plan.Table(t.Context(), io.Discard, odd, "")
	if unfit, is := errors.AsType[*format.ValueError](err); !is || unfit.Row != 29_001 || unfit.Column != "text" {
		t.Errorf("error %v, want one about row 29001", err)
	}
	plan.Compression = export.Zstd
	if _, err := plan.Table(t.Context(), io.Discard, &generated{rows: 1}, ""); err == nil {
		t.Error("compressed outside")
	}
}
