package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"culvert/source"
)

// dividedInto is the number of readers.
const dividedInto = 3

// createDivided is createMany of a table that several readers can share.
func (f *Fixture) createDivided(t *testing.T, table string) {
	t.Helper()
	id := "bigint"
	if f.Parting != nil {
		id += f.Parting.Column
	}
	f.createRows(t, table, id, manyRows)
	if f.Parting != nil {
		f.analyze(t, table)
	}
}

// divide divides the rows of a table, and closes them at the end of the test.
func (f *Fixture) divide(ctx context.Context, t *testing.T, src source.Source, table string) []source.Rows {
	t.Helper()
	rows, err := src.Table(ctx, table)
	if err != nil {
		t.Fatalf("Table(%q): %v", table, err)
	}
	t.Cleanup(func() { closeRows(t, rows) })
	divider := rows.(source.Divider)
	ranges, err := divider.Ranges(dividedInto)
	if err != nil {
		t.Fatal("Ranges:", err)
	}
	if one, err := divider.Ranges(1); one != 1 || err != nil {
		t.Errorf("Ranges(1) = %d, %v", one, err)
	}
	all, err := divider.Divide(dividedInto)
	if err != nil {
		t.Fatal("Divide:", err)
	}
	if len(all) < 2 || len(all) > dividedInto || ranges < len(all) {
		t.Fatalf("Divide(%d) returns %d Rows, and Ranges %d", dividedInto, len(all), ranges)
	}
	return all
}

// readTogether reads all rows concurrently, each to its first error. It returns the number of rows of each id, and the
// errors.
func readTogether(t *testing.T, all []source.Rows, each func(reader int)) (ids map[string]int, errs []error) {
	t.Helper()
	ids, errs = map[string]int{}, make([]error, len(all))
	var mu sync.Mutex
	var reading sync.WaitGroup
	for i, rows := range all {
		reading.Go(func() {
			var b source.Batch
			for {
				if errs[i] = rows.Next(&b); errs[i] != nil {
					return
				}
				each(i)
				mu.Lock()
				for row := range b.Rows() {
					_, id := b.Value(row, 0)
					ids[string(id)]++
				}
				mu.Unlock()
			}
		})
	}
	reading.Wait()
	return ids, errs
}

// testDivide checks that the readers return every row once, and that their progress ends at 1.
func testDivide(t *testing.T, f *Fixture) {
	f.createDivided(t, "divide_t")
	src := f.open(t)
	for range 2 {
		all := f.divide(context.Background(), t, src, "divide_t")
		meter, measured := all[0].(source.Meter)
		ids, errs := readTogether(t, all, func(reader int) {
			if !measured {
				return
			}
			if done := meter.Done(); done > 1 {
				t.Errorf("reader %d: %v is done", reader, done)
			}
		})
		for i, err := range errs {
			if err != io.EOF {
				t.Errorf("reader %d: %v, want io.EOF", i, err)
			}
		}
		for id := range manyRows {
			if n := ids[fmt.Sprint(id)]; n != 1 {
				t.Fatalf("row %d was returned %d times", id, n)
			}
		}
		if len(ids) != manyRows {
			t.Errorf("%d rows were returned, want %d", len(ids), manyRows)
		}
		if measured && meter.Done() != 1 {
			t.Errorf("at the end, %v is done", meter.Done())
		}
	}
}

// testDivideRefused checks that Divide at the wrong time fails, and that the rows can still be read.
func testDivideRefused(t *testing.T, f *Fixture) {
	f.createDivided(t, "refused_t")
	src := f.open(t)
	rows := f.rows(t, src, "refused_t")
	count := readBatches(t, rows, 1)
	if _, err := rows.(source.Divider).Divide(dividedInto); err == nil {
		t.Error("Divide of rows that have been read did not fail")
	}
	if n := count + len(readAll(t, rows)); n != manyRows {
		t.Errorf("after that there are %d rows, want %d", n, manyRows)
	}

	all := f.divide(context.Background(), t, src, "refused_t")
	if _, err := all[0].(source.Divider).Divide(dividedInto); err == nil {
		t.Error("Divide of rows that were divided did not fail")
	}
	// All but the last are read to their end.
	last := len(all) - 1
	if _, errs := readTogether(t, all[:last], func(int) {}); errors.Join(errs...) == nil {
		t.Fatal("no reader came to an end")
	}
	if _, err := src.Table(context.Background(), "refused_t"); err == nil {
		t.Error("Table while one of several readers is not at its end did not fail")
	}
	if err := drain(all[last]); err != io.EOF {
		t.Errorf("the last reader: %v, want io.EOF", err)
	}
	expectUsable(t, src, "refused_t", manyRows)
}

// testDivideClosed closes divided rows before they are read and in the middle.
func testDivideClosed(t *testing.T, f *Fixture) {
	f.createDivided(t, "closed_t")
	src := f.open(t)
	for batches := range 2 {
		all := f.divide(context.Background(), t, src, "closed_t")
		for _, rows := range all {
			readBatches(t, rows, batches)
		}
		closeRows(t, all[0])
		var b source.Batch
		for i, rows := range all {
			if err := rows.Next(&b); err == nil || batches == 0 && err == io.EOF {
				t.Errorf("reader %d after Close: %v, want an error", i, err)
			}
		}
		expectUsable(t, src, "closed_t", manyRows)
	}
}

// testDivideCanceled cancels the context of all readers at the first batch.
func testDivideCanceled(t *testing.T, f *Fixture) {
	f.createDivided(t, "canceled_t")
	src := f.open(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := f.divide(ctx, t, src, "canceled_t")
	ids, errs := readTogether(t, all, func(int) { cancel() })
	canceled := 0
	for i, err := range errs {
		if errors.Is(err, context.Canceled) {
			canceled++
			expectSticky(t, all[i], err)
		} else if err != io.EOF {
			t.Errorf("reader %d: %v, want context.Canceled", i, err)
		}
	}
	if canceled == 0 {
		t.Errorf("no reader was canceled, after %d rows", len(ids))
	}
	closeRows(t, all[0])
	expectUsable(t, src, "canceled_t", manyRows)
}

// testDivideFailing closes one reader, which must not affect the others.
func testDivideFailing(t *testing.T, f *Fixture) {
	f.createDivided(t, "failing_t")
	src := f.open(t)
	all := f.divide(context.Background(), t, src, "failing_t")
	last := len(all) - 1
	closeRows(t, all[last])
	_, errs := readTogether(t, all, func(int) {})
	for i, err := range errs {
		if i != last && err != io.EOF || i == last && (err == nil || err == io.EOF) {
			t.Errorf("reader %d, after reader %d has failed: %v", i, last, err)
		}
	}
	closeRows(t, all[0])
	expectUsable(t, src, "failing_t", manyRows)
}
