package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// testPartsRefused checks errors, after which the source must still be usable.
func testPartsRefused(t *testing.T, f *Fixture) {
	f.createParted(t, "parts_t")
	src := f.open(t)
	parter := src.(source.Parter)
	ctx := context.Background()
	good := cutInto(t, src, "parts_t", source.Selection{}, f.Parting.Size)
	for _, test := range []struct {
		table string
		s     source.Selection
		what  string
	}{
		{"absent_t", source.Selection{}, "table"},
		{"parts_t", source.Selection{Columns: []string{"absent"}}, "column"},
	} {
		_, err := parter.Parts(ctx, test.table, test.s, 1<<20)
		if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.What != test.what {
			t.Errorf("Parts(%q, %v): %v", test.table, test.s, err)
		}
	}
	for _, size := range []int64{0, -1} {
		if _, err := parter.Parts(ctx, "parts_t", source.Selection{}, size); err == nil {
			t.Errorf("parts of %d bytes are accepted", size)
		}
	}
	if _, err := parter.Parts(ctx, "parts_t", source.Selection{Where: "id) OR (1 = 1"}, 1<<20); err == nil {
		t.Error("a condition that is more than one expression is accepted")
	}
	for _, change := range []func(*source.Part){
		func(p *source.Part) { p.Range.From = "0) OR (1=1" },
		func(p *source.Part) { p.Range.To = "'; SELECT 1 --" },
		func(p *source.Part) { p.Range.From = `["1 OR 1=1", "2", "3"]` },
		func(p *source.Part) { p.Range.By = "1=1 OR id" },
		func(p *source.Part) { p.Range.By = `["fill"]` },
		func(p *source.Part) { p.Range.By = "" },
		func(p *source.Part) { p.Object += "1" },
		func(p *source.Part) { p.Object = "1 OR 1=1" },
		func(p *source.Part) { p.Object = "" },
		func(p *source.Part) { p.Columns = slices.Clone(p.Columns); p.Columns[0].Name = "other" },
		func(p *source.Part) { p.Columns = p.Columns[:1] },
		func(p *source.Part) { p.Selection.Where = "id) OR (1 = 1" },
		func(p *source.Part) { p.Snapshot.State += "1" },
		func(p *source.Part) { p.Snapshot.Server += "1" },
		func(p *source.Part) { p.Snapshot.Database += "1" },
		func(p *source.Part) { p.Snapshot.State = "" },
	} {
		bad := good[1]
		change(&bad)
		rows, err := parter.Part(ctx, bad)
		if err == nil {
			// A database may find out only when it compares the value.
			var b source.Batch
			for err == nil {
				err = rows.Next(&b)
			}
			closeRows(t, rows)
		}
		if err == nil || strings.Contains(err.Error(), "EOF") {
			t.Errorf("the altered part %+v is read: %v", bad, err)
		}
		if bad.Snapshot != good[1].Snapshot && !errors.Is(err, source.ErrOtherSnapshot) {
			t.Errorf("a part of another snapshot: %v", err)
		}
	}
	if !f.Parting.Shares {
		if _, err := f.open(t).(source.Parter).Part(ctx, good[0]); !errors.Is(err, source.ErrOtherSnapshot) {
			t.Errorf("a part of another source: %v", err)
		}
	}
	rows, err := parter.Part(ctx, good[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parter.Part(ctx, good[1]); err == nil {
		t.Error("two parts are open at a time")
	}
	if _, err := parter.Parts(ctx, "parts_t", source.Selection{}, 1); err == nil {
		t.Error("a table is cut while rows are open")
	}
	closeRows(t, rows)
	expectUsable(t, src, "parts_t", partedRows)
}

// testPartsWriters changes every row, and adds and removes some, while the parts are read.
func testPartsWriters(t *testing.T, f *Fixture) {
	f.createParted(t, "busy_t")
	src := f.open(t)
	want := readTable(t, src, "busy_t")
	parts := cutInto(t, src, "busy_t", source.Selection{}, f.Parting.Size)
	var got [][]value
	table := f.Quote("busy_t")
	for i, part := range parts {
		switch i % 3 {
		case 0:
			f.Exec(t, "UPDATE "+table+" SET fill = 'changed', id = id + 1000000 WHERE id < 500000")
		case 1:
			f.Exec(t, fmt.Sprintf("INSERT INTO %s SELECT id - %d, fill FROM %[1]s", table, 5_000_000*(i+1)))
		case 2:
			f.Exec(t, "DELETE FROM "+table)
		}
		got = append(got, readPart(t, src, part)...)
	}
	expect(t, sorted(got), want)

	other := f.open(t)
	if _, err := other.(source.Parter).Part(context.Background(), parts[0]); !errors.Is(err, source.ErrOtherSnapshot) {
		t.Errorf("a part of a snapshot from before the changes: %v", err)
	}
}
