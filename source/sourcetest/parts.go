package sourcetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

func testParts(t *testing.T, f *Fixture) {
	f.createParted(t, "parts_t")
	src := f.open(t)
	parts := cutInto(t, src, "parts_t", source.Selection{}, f.Parting.Size)
	if len(parts) < 3 {
		t.Fatalf("there are %d parts, want several: %q", len(parts), parts[0].Whole)
	}
	total := int64(0)
	for i, part := range parts {
		if total += part.Bytes; part.Bytes <= 0 {
			t.Errorf("part %d has %d bytes", i, part.Bytes)
		}
	}
	if n := total / int64(len(parts)); n > 2*f.Parting.Size || n < f.Parting.Size/4 {
		t.Errorf("%d parts have %d bytes each, want about %d", len(parts), n, f.Parting.Size)
	}
	for range 2 {
		got := readParts(t, src, parts)
		want := readTable(t, src, "parts_t")
		if len(got) != partedRows {
			t.Fatalf("all parts have %d rows, want %d", len(got), partedRows)
		}
		expect(t, got, want)
	}
	if whole := cutInto(t, src, "parts_t", source.Selection{}, 1<<40); len(whole) != 1 || whole[0].Whole != "" {
		t.Errorf("parts of 1 TiB: %+v", whole)
	}
	expectCSVParts(t, src, parts)
}

// expectCSVParts compares what the database prints of parts, if it does, with what it prints of the table.
func expectCSVParts(t *testing.T, src source.Source, parts []source.Part) {
	t.Helper()
	var printed bytes.Buffer
	for _, part := range parts {
		rows, err := src.(source.Parter).Part(context.Background(), part)
		if err != nil {
			t.Fatal(err)
		}
		csv, ok := rows.(source.CSVWriter)
		if !ok {
			closeRows(t, rows)
			return
		}
		if _, err := csv.WriteCSV(&printed); err != nil {
			t.Fatal(err)
		}
		closeRows(t, rows)
	}
	rows, err := src.Table(context.Background(), parts[0].Table)
	if err != nil {
		t.Fatal(err)
	}
	defer closeRows(t, rows)
	var whole bytes.Buffer
	if _, err := rows.(source.CSVWriter).WriteCSV(&whole); err != nil {
		t.Fatal(err)
	}
	lines := func(b *bytes.Buffer) []string { return slices.Sorted(strings.Lines(b.String())) }
	if !slices.Equal(lines(&printed), lines(&whole)) {
		t.Errorf("the parts are printed as %d bytes, and the table as %d", printed.Len(), whole.Len())
	}
}

func testPartsEmpty(t *testing.T, f *Fixture) {
	f.create(t, "empty_t", "id", "bigint"+f.Parting.Column, "title", f.Text)
	src := f.open(t)
	parts := cutInto(t, src, "empty_t", source.Selection{}, 1)
	if rows := readParts(t, src, parts); len(rows) != 0 {
		t.Errorf("an empty table has the rows %v", rows)
	}
}

func testPartsView(t *testing.T, f *Fixture) {
	f.create(t, "base_t", "id", "bigint"+f.Parting.Column, "title", f.Text)
	f.insert(t, "base_t", "1, 'a'", "2, 'b'", "3, 'c'")
	f.Exec(t, "CREATE VIEW "+f.Quote("parts_v")+" AS SELECT * FROM "+f.Quote("base_t")+" WHERE id < 3")
	t.Cleanup(func() { f.Exec(t, "DROP VIEW "+f.Quote("parts_v")) })
	src := f.open(t)
	parts := cutInto(t, src, "parts_v", source.Selection{}, 1)
	if len(parts) == 1 && parts[0].Whole == "" {
		t.Error("a view is one part without a reason")
	}
	expect(t, readParts(t, src, parts), [][]value{
		{{source.Number, "1"}, {source.Text, "a"}}, {{source.Number, "2"}, {source.Text, "b"}},
	})
}

func testPartsSelection(t *testing.T, f *Fixture) {
	f.createParted(t, "parts_t")
	src := f.open(t)
	for _, s := range []source.Selection{
		{Columns: []string{"fill", "id"}},
		{Where: "id % 3 = 1 -- of three"},
		{Columns: []string{"id"}, Where: "id >= 100 OR id < 50"},
	} {
		parts := cutInto(t, src, "parts_t", s, f.Parting.Size)
		if len(parts) < 2 {
			t.Errorf("%+v: one part: %q", s, parts[0].Whole)
		}
		rows, err := src.(source.Selector).Select(context.Background(), "parts_t", s)
		if err != nil {
			t.Fatal(err)
		}
		want := sorted(readAll(t, rows))
		closeRows(t, rows)
		expect(t, readParts(t, src, parts), want)
	}
	limited := cutInto(t, src, "parts_t", source.Selection{Limit: 7}, f.Parting.Size)
	if len(limited) != 1 || limited[0].Whole == "" || len(readPart(t, src, limited[0])) != 7 {
		t.Errorf("with a limit: %+v", limited)
	}
}

// testPartsNames cuts tables whose names, columns and values are full of quotes.
func testPartsNames(t *testing.T, f *Fixture) {
	for _, name := range []string{`a'b`, `a"b`, "a`b", `a\'b`, `x.y"; --`, "tab\tin", "grüße", "rowid"} {
		if slices.Contains(f.RefusedNames, name) {
			continue
		}
		table := name + "_t"
		f.create(t, table, name, "bigint"+f.Parting.Column, "b", f.Text)
		var rows []string
		var want [][]value
		for id := range 40 {
			rows = append(rows, fmt.Sprintf("%d, 'x'", id+10))
			want = append(want, []value{{source.Number, fmt.Sprint(id + 10)}, {source.Text, "x"}})
		}
		f.insert(t, table, rows...)
		f.analyze(t, table)
		src := f.Open(t)
		closeNow := closing(t, src)
		parts := cutInto(t, src, table, source.Selection{}, f.Parting.OneRow)
		expect(t, readParts(t, src, parts), want)
		closeNow()
	}
}

// testPartsKeys cuts tables by keys whose order or equality is not that of their bytes.
func testPartsKeys(t *testing.T, f *Fixture) {
	for _, key := range f.Parting.Keys {
		t.Run(key.Name, func(t *testing.T) {
			f.Exec(t, "CREATE TABLE "+f.Quote("key_t")+" ("+key.Columns+")")
			t.Cleanup(func() { f.Exec(t, "DROP TABLE "+f.Quote("key_t")) })
			f.insert(t, "key_t", key.Rows...)
			f.analyze(t, "key_t")
			src := f.open(t)
			parts := cutInto(t, src, "key_t", source.Selection{}, f.Parting.OneRow)
			if len(parts) < 3 {
				t.Errorf("there are %d parts, want several: %q", len(parts), parts[0].Whole)
			}
			got := readParts(t, src, parts)
			if len(got) != len(key.Rows) {
				t.Errorf("%d parts have %d rows, want %d", len(parts), len(got), len(key.Rows))
			}
			expect(t, got, readTable(t, src, "key_t"))
		})
	}
}
