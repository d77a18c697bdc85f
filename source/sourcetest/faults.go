package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"culvert/source"
)

func testBadQuery(t *testing.T, f *Fixture) {
	f.create(t, "bad_t", "id", "bigint")
	f.insert(t, "bad_t", "1", "2")
	src := f.open(t)
	for _, sql := range []string{
		"SELEC 1",
		"SELECT no_such_column FROM " + f.Quote("bad_t"),
		"SELECT id FROM " + f.Quote("no such table"),
		"SELECT 1; SELECT 2",
		"",
	} {
		rows, err := src.Query(context.Background(), sql)
		if err == nil {
			err = drain(rows)
			if err != io.EOF {
				expectSticky(t, rows, err)
			}
			closeRows(t, rows)
		}
		if err == io.EOF {
			t.Errorf("Query(%q) returned rows, want an error", sql)
		}
		expectUsable(t, src, "bad_t", 2)
	}
}

func testFailingQuery(t *testing.T, f *Fixture) {
	f.create(t, "failing_t", "id", "bigint")
	f.insert(t, "failing_t", "1", "2")
	src := f.open(t)
	rows := f.query(t, src, f.FailingQuery)
	var b source.Batch
	err := rows.Next(&b)
	for err == nil {
		err = rows.Next(&b)
	}
	if b.Rows() != 0 {
		t.Errorf("Next failed with %d rows in the batch", b.Rows())
	}
	expectSticky(t, rows, err)
	closeRows(t, rows)
	expectUsable(t, src, "failing_t", 2)
}

// testShowingQuery has a message of the database hidden that shows a value.
func testShowingQuery(t *testing.T, f *Fixture) {
	rows, err := f.open(t).Query(context.Background(), f.ShowingQuery)
	if err == nil {
		err = drain(rows)
		closeRows(t, rows)
	}
	const value = "secret-4711"
	if !strings.Contains(err.Error(), value) {
		t.Fatalf("%v does not show %s", err, value)
	}
	redacted := source.Redacted(fmt.Errorf("table x: %w", err))
	if strings.Contains(fmt.Sprintf("%+v", redacted), value) {
		t.Errorf("%v shows %s", redacted, value)
	}
}

// testOneAtATime asks for other rows while rows are open, before and after their first batch.
func testOneAtATime(t *testing.T, f *Fixture) {
	f.createMany(t, "open_t")
	src := f.open(t)
	for _, batches := range []int{0, 1} {
		rows := f.rows(t, src, "open_t")
		count := readBatches(t, rows, batches)
		if _, err := src.Table(context.Background(), "open_t"); err == nil {
			t.Errorf("Table while rows are open, after %d batches, did not fail", batches)
		}
		if _, err := src.Query(context.Background(), "SELECT id FROM "+f.Quote("open_t")); err == nil {
			t.Errorf("Query while rows are open, after %d batches, did not fail", batches)
		}
		if count += len(readAll(t, rows)); count != manyRows {
			t.Errorf("the rows that were open are %d, want %d", count, manyRows)
		}
		closeRows(t, rows)
	}
}

func testCloseInTheMiddle(t *testing.T, f *Fixture) {
	f.createMany(t, "middle_t")
	src := f.open(t)
	for _, batches := range []int{0, 1} {
		rows := f.rows(t, src, "middle_t")
		readBatches(t, rows, batches)
		closeRows(t, rows)
		closeRows(t, rows)
		var b source.Batch
		if err := rows.Next(&b); err == nil || err == io.EOF {
			t.Errorf("Next after Close: %v, want an error other than io.EOF", err)
		}
		expectUsable(t, src, "middle_t", manyRows)
	}
}

func testCancelBefore(t *testing.T, f *Fixture) {
	f.create(t, "before_t", "id", "bigint")
	f.insert(t, "before_t", "1")
	src := f.open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, open := range []func() (source.Rows, error){
		func() (source.Rows, error) { return src.Table(ctx, "before_t") },
		func() (source.Rows, error) { return src.Query(ctx, "SELECT id FROM "+f.Quote("before_t")) },
	} {
		rows, err := open()
		if err == nil {
			err = drain(rows)
			closeRows(t, rows)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with a canceled context: %v, want context.Canceled", err)
		}
	}
	expectUsable(t, src, "before_t", 1)
}

func testCancelInTheMiddle(t *testing.T, f *Fixture) {
	f.createMany(t, "cancel_t")
	src := f.open(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rows, err := src.Table(ctx, "cancel_t")
	if err != nil {
		t.Fatal(err)
	}
	defer closeRows(t, rows)
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	cancel()
	err = rows.Next(&b)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Next after the context was canceled: %v, want context.Canceled", err)
	}
	expectSticky(t, rows, err)
	closeRows(t, rows)
	expectUsable(t, src, "cancel_t", manyRows)
}

func testCancelWhileWaiting(t *testing.T, f *Fixture) {
	f.create(t, "waiting_t", "id", "bigint")
	f.insert(t, "waiting_t", "1")
	src := f.open(t)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	rows, err := src.Query(ctx, f.EndlessQuery)
	if err == nil {
		err = drain(rows)
		closeRows(t, rows)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a query without end: %v, want context.DeadlineExceeded", err)
	}
	expectUsable(t, src, "waiting_t", 1)
}

func testCSVWriter(t *testing.T, f *Fixture) {
	f.createMany(t, "csv_t")
	src := f.open(t)
	rows := f.rows(t, src, "csv_t")
	csv, ok := rows.(source.CSVWriter)
	if !ok {
		return // the database does not print CSV
	}
	var w rowWriter
	n, err := csv.WriteCSV(&w)
	if n != manyRows || err != nil {
		t.Errorf("WriteCSV: %d rows and the error %v, want %d rows", n, err, manyRows)
	}
	if w.rows != manyRows {
		t.Errorf("WriteCSV wrote %d times, want once for each of %d rows", w.rows, manyRows)
	}
	if w.broken > 0 {
		t.Errorf("WriteCSV wrote %d times something other than one row", w.broken)
	}
	closeRows(t, rows)

	rows = f.rows(t, src, "csv_t")
	w = rowWriter{limit: manyRows / 2}
	if _, err := rows.(source.CSVWriter).WriteCSV(&w); !errors.Is(err, errLimit) {
		t.Errorf("WriteCSV to a writer that fails: %v, want its error", err)
	}
	closeRows(t, rows)
	expectUsable(t, src, "csv_t", manyRows)
}

func testBinaryWriter(t *testing.T, f *Fixture) {
	f.createMany(t, "binary_t")
	src := f.open(t)
	rows := f.rows(t, src, "binary_t")
	binary, ok := rows.(source.BinaryWriter)
	if !ok || !binary.HasBinary() {
		return // the database has no such form
	}
	w := sizesWriter{sizes: map[int]int{}}
	n, err := binary.WriteBinary(&w)
	if n != manyRows || w.rows != manyRows || err != nil {
		t.Errorf("WriteBinary: %d rows in %d writes and the error %v, want %d rows", n, w.rows, err, manyRows)
	}
	want := map[int]int{}
	for id := range manyRows {
		want[len(fill(id))]++
	}
	if len(w.sizes) != len(want) {
		t.Errorf("WriteBinary wrote rows of %d sizes, want %d", len(w.sizes), len(want))
	}
	if n, err := binary.WriteBinary(&w); n != 0 || err == nil {
		t.Errorf("WriteBinary twice: %d rows and the error %v", n, err)
	}
	closeRows(t, rows)

	rows = f.rows(t, src, "binary_t")
	w = sizesWriter{limit: manyRows / 2, sizes: map[int]int{}}
	if _, err := rows.(source.BinaryWriter).WriteBinary(&w); !errors.Is(err, errLimit) {
		t.Errorf("WriteBinary to a writer that fails: %v, want its error", err)
	}
	closeRows(t, rows)
	expectUsable(t, src, "binary_t", manyRows)
}

// sizesWriter counts rows and their sizes, and fails after limit rows unless limit is 0.
type sizesWriter struct {
	rows, limit int
	sizes       map[int]int
}

func (w *sizesWriter) Write(p []byte) (int, error) {
	if w.limit > 0 && w.rows == w.limit {
		return 0, errLimit
	}
	w.rows++
	w.sizes[len(p)]++
	return len(p), nil
}

var errLimit = errors.New("sourcetest: limit of the writer")

// rowWriter counts rows, and fails after limit rows unless limit is 0.
type rowWriter struct {
	rows, limit, broken int
}

func (w *rowWriter) Write(p []byte) (int, error) {
	if w.limit > 0 && w.rows == w.limit {
		return 0, errLimit
	}
	var id int
	if _, err := fmt.Sscanf(string(p), "%d,", &id); err != nil || string(p) != fmt.Sprintf("%d,%s\n", id, fill(id)) {
		w.broken++
	}
	w.rows++
	return len(p), nil
}

func testAllocations(t *testing.T, f *Fixture) {
	f.createMany(t, "allocations_t")
	rows := f.rows(t, f.open(t), "allocations_t")
	var b source.Batch
	next := func() {
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	next()
	// Two batches; the first one is not counted.
	allocs := testing.AllocsPerRun(1, next)
	if perRow := allocs / float64(b.Rows()); perRow > 0.01 {
		t.Errorf("%.0f allocations for %d rows, want none for a row", allocs, b.Rows())
	}
}
