package sourcetest

import (
	"context"
	"io"
	"testing"

	"culvert/source"
)

// testBeside reads one state with all sources that were opened together, while others write.
func testBeside(t *testing.T, f *Fixture) {
	f.createParted(t, "beside_t")
	first := f.open(t)
	want := readTable(t, first, "beside_t")
	parts := cutInto(t, first, "beside_t", source.Selection{}, f.Parting.Size)
	if err := source.Prepare(context.Background(), first, []string{"beside_t"}); err != nil {
		t.Fatal(err)
	}
	f.Exec(t, "DELETE FROM "+f.Quote("beside_t")+" WHERE id % 2 = 1")
	grouped := first.(source.Grouped)
	if moment := grouped.Moment(); moment.Connections != f.Beside+1 || moment.Held <= 0 {
		t.Errorf("%d connections were opened together: %+v", f.Beside+1, moment)
	}
	for range 2 {
		all, fewer := grouped.Beside(f.Beside)
		if len(all) != f.Beside || fewer != nil {
			t.Fatalf("there are %d sources beside the first, and %v", len(all), fewer)
		}
		if more, _ := grouped.Beside(1); len(more) != 0 {
			t.Error("a source that is in use is there again")
		}
		for _, src := range all {
			expect(t, readTable(t, src, "beside_t"), want)
			expect(t, readParts(t, src, parts), want)
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	// One of another moment does not take them for its own.
	other := f.open(t)
	another, _ := other.(source.Grouped).Beside(1)
	if rows, err := another[0].(source.Parter).Part(context.Background(), parts[0]); err == nil {
		t.Error("a part of another moment is read")
		closeRows(t, rows)
	}
	if err := another[0].Close(); err != nil {
		t.Error(err)
	}
}

// testDivideWriters changes every row, and adds and removes some, when the rows are divided and before they are read.
func testDivideWriters(t *testing.T, f *Fixture) {
	f.createDivided(t, "busy_t")
	src := f.open(t)
	all := f.divide(context.Background(), t, src, "busy_t")
	table := f.Quote("busy_t")
	f.Exec(t, "UPDATE "+table+" SET fill = 'changed', id = id + 1000000 WHERE id % 3 = 0")
	f.Exec(t, "DELETE FROM "+table+" WHERE id % 3 = 1")
	f.Exec(t, "INSERT INTO "+table+" SELECT id - 5000000, fill FROM "+table)
	ids, errs := readTogether(t, all, func(int) {})
	for i, err := range errs {
		if err != io.EOF {
			t.Errorf("reader %d: %v, want io.EOF", i, err)
		}
	}
	if len(ids) != manyRows || ids["0"] != 1 || ids["-5000000"] != 0 || ids["1000000"] != 0 {
		t.Errorf("%d rows, want the %d from before", len(ids), manyRows)
	}
}

// testDivideKeys divides tables whose keys are traps, and those of a plain condition.
func testDivideKeys(t *testing.T, f *Fixture) {
	for _, key := range f.Parting.Keys {
		t.Run(key.Name, func(t *testing.T) {
			f.Exec(t, "CREATE TABLE "+f.Quote("key_t")+" ("+key.Columns+")")
			t.Cleanup(func() { f.Exec(t, "DROP TABLE "+f.Quote("key_t")) })
			f.insert(t, "key_t", key.Rows...)
			f.analyze(t, "key_t")
			src := f.open(t)
			want := readTable(t, src, "key_t")
			rows := f.rows(t, src, "key_t")
			all, err := rows.(source.Divider).Divide(dividedInto)
			if err != nil || len(all) < 2 {
				t.Fatalf("%d readers, %v", len(all), err)
			}
			var got [][]value
			for _, one := range all {
				got = append(got, readAll(t, one)...)
			}
			expect(t, sorted(got), want)
		})
	}
}

// besides reports whether sources can be opened together.
func besides(f *Fixture) bool { return cuts(f) && f.Beside > 0 }
