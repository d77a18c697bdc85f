package sinktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"culvert/sink"
	"culvert/source"
)

func testFill(t *testing.T, f *Fixture) {
	f.create(t, "fill_t", "id", "bigint", "a", f.Text, "b", f.Text)
	filled := table(t, f.open(t), "fill_t", sink.Filling{})
	loader := filled.Loaders()[0]
	for _, b := range []*source.Batch{
		batch([]string{"1", null, ""}, []string{"2", `a,"b"`, "x\ny\r\n"}),
		batch([]string{null, `\.`, "grüße ✓ 表 🜄"}, []string{"4", `\N`, "NULL"}),
	} {
		if err := loader.Load(b); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := loader.Flush(); err != nil || rows != 4 {
		t.Errorf("Flush: %d rows, %v", rows, err)
	}
	if err := loader.Load(batch([]string{"5", " ", "\t"})); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1,,\"\"\n", "2,\"a,\"\"b\"\"\",\"x\ny\r\n\"\n", ",\\.,grüße ✓ 表 🜄\n", "4,\\N,NULL\n", "5, ,\t\n",
	}
	expectSum(t, loader, want...)
	closeLoader(t, loader, 5)
	if f.Busy {
		expect(t, f.read(t, "fill_t")) // nothing is visible yet
	}
	commit(t, filled)
	if got := f.export(t, "fill_t"); got != strings.Join(want, "") {
		t.Errorf("the table has %q, want %q", got, want)
	}
}

func testColumns(t *testing.T, f *Fixture) {
	f.create(t, "columns_t", "id", "bigint", "Odd \"name\"", f.Text+" DEFAULT ('d')", "b", f.Text)
	filled := table(t, f.open(t), "columns_t", sink.Filling{Columns: []string{"b", "id"}})
	if got := filled.Columns(); len(got) != 2 || got[0].Name != "b" || got[1].Name != "id" {
		t.Errorf("the columns are %v", got)
	}
	load(t, filled, []string{"x", "1"}, []string{null, "2"})
	commit(t, filled)
	expect(t, f.read(t, "columns_t"), "1,d,x\n", "2,d,\n")

	f.create(t, "computed_t", "id", "bigint", "twice",
		"bigint GENERATED ALWAYS AS ("+f.Quote("id")+" * 2) STORED")
	db := f.open(t)
	_, err := db.Plan(t.Context(), "computed_t", sink.Filling{Columns: []string{"id", "twice"}})
	if _, unknown := errors.AsType[*source.UnknownError](err); err == nil || unknown {
		t.Errorf("a column that takes no values: %v", err)
	}
	filled = table(t, db, "computed_t", sink.Filling{})
	load(t, filled, []string{"1"})
	commit(t, filled)
	if got := f.read(t, "computed_t"); len(got) != 1 || !strings.HasPrefix(got[0], "1") {
		t.Errorf("the table has %q", got)
	}
}

func testDiscard(t *testing.T, f *Fixture) {
	f.create(t, "discard_t", "id", "bigint")
	db := f.open(t)
	filled := table(t, db, "discard_t", sink.Filling{})
	load(t, filled, []string{"1"})
	discard(t, filled)
	expect(t, f.read(t, "discard_t"))

	// In the middle of a loader.
	filled = table(t, db, "discard_t", sink.Filling{})
	if err := filled.Loaders()[0].Load(batch([]string{"2"})); err != nil {
		t.Fatal(err)
	}
	discard(t, filled)
	expect(t, f.read(t, "discard_t"))

	// By closing the sink.
	other := f.Open(t)
	filled, err := other.Table(t.Context(), "discard_t", sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	if err := filled.Loaders()[0].Load(batch([]string{"3"})); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, f.read(t, "discard_t"))
	if _, err := other.Table(t.Context(), "discard_t", sink.Filling{}); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table of a sink that is closed: %v", err)
	}

	filled = table(t, db, "discard_t", sink.Filling{})
	load(t, filled, []string{"4"})
	commit(t, filled)
	discard(t, filled) // does nothing
	expect(t, f.read(t, "discard_t"), "4\n")
}

// testRefused has the database refuse rows: the table is as it was, and can be filled then.
func testRefused(t *testing.T, f *Fixture) {
	f.create(t, "refused_t", "id", "bigint NOT NULL PRIMARY KEY")
	db := f.open(t)
	rows := make([][]string, 0, 3001)
	for id := range 3000 {
		rows = append(rows, []string{fmt.Sprint(id)})
	}
	filled := table(t, db, "refused_t", sink.Filling{})
	loader := filled.Loaders()[0]
	err := loader.Load(batch(append(rows, []string{"7"})...))
	if err == nil {
		_, err = loader.Close()
	}
	if refused, ok := errors.AsType[*sink.RowError](err); !ok || refused.Code == "" {
		t.Errorf("a repeated key is the error %v", err)
	}
	if again := loader.Load(batch(rows[0])); again == nil {
		t.Error("a loader that has failed takes rows")
	}
	if err := filled.Commit(); err == nil {
		t.Error("a table whose loader has failed is committed")
	}
	discard(t, filled)
	expect(t, f.read(t, "refused_t"))

	filled = table(t, db, "refused_t", sink.Filling{})
	load(t, filled, rows...)
	commit(t, filled)
	if got := f.read(t, "refused_t"); len(got) != len(rows) {
		t.Errorf("the table has %d rows", len(got))
	}
	if _, err := db.Table(t.Context(), "refused_t", sink.Filling{}); !errors.Is(err, sink.ErrNotEmpty) {
		t.Errorf("a table with rows: %v", err)
	}
}

func testUnknown(t *testing.T, f *Fixture) {
	f.create(t, "unknown_t", "id", "bigint")
	db := f.open(t)
	_, err := db.Table(t.Context(), "unknwon_t", sink.Filling{})
	expectUnknown(t, err, "table", "unknwon_t")
	_, err = db.Table(t.Context(), "unknown_t", sink.Filling{Columns: []string{"di"}})
	expectUnknown(t, err, "column", "di")
	if _, err = db.Table(t.Context(), "unknown_t", sink.Filling{Columns: []string{"id", "id"}}); err == nil {
		t.Error("a column can be named twice")
	}
	filled := table(t, db, "unknown_t", sink.Filling{})
	load(t, filled, []string{"1"})
	commit(t, filled)
}

func testAppend(t *testing.T, f *Fixture) {
	f.create(t, "append_t", "id", "bigint")
	f.Exec(t, "INSERT INTO "+f.Quote("append_t")+" VALUES (1)")
	filled := table(t, f.open(t), "append_t", sink.Filling{Existing: sink.Append})
	loader := filled.Loaders()[0]
	if err := loader.Load(batch([]string{"2"}, []string{"3"})); err != nil {
		t.Fatal(err)
	}
	if f.Sums {
		expectSum(t, loader, "2\n", "3\n")
	}
	closeLoader(t, loader, 2)
	commit(t, filled)
	expect(t, f.read(t, "append_t"), "1\n", "2\n", "3\n")
	if f.Sums {
		return
	}
	filled = table(t, f.open(t), "append_t", sink.Filling{Existing: sink.Append})
	loader = filled.Loaders()[0]
	if _, _, err := loader.Sum(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the sum of rows among others: %v", err)
	}
	if err := loader.Load(batch([]string{"4"})); err == nil {
		t.Error("a loader whose sum has failed takes rows")
	}
}

// testValues takes values through source and sink, and back. Each has a column. Whether the sink knows where they come
// from or not, it takes all that its own database prints, except for numbers with zeros before them.
func testValues(t *testing.T, f *Fixture) {
	for _, known := range []bool{true, false} {
		columns := []string{"before", "bigint"}
		first, second := "7", "8"
		for i, v := range f.Values {
			if known || !strings.HasSuffix(v.Type, " zerofill") && v.Type != "year" {
				columns = append(columns, fmt.Sprintf("v%d", i), v.Type)
				first, second = first+", "+v.SQL, second+", NULL"
			}
		}
		columns = append(columns, "after", f.Text)
		from := fmt.Sprint("values_from_", known)
		f.create(t, from, columns...)
		f.Exec(t, fmt.Sprintf("INSERT INTO %s VALUES (%s, 'z'), (%s, '')", f.Quote(from), first, second))
		for _, csv := range []bool{false, true} {
			to := fmt.Sprintf("values_to_%t_%t", known, csv)
			f.create(t, to, columns...)
			f.copy(t, f.open(t), from, to, known, csv)
			if got, want := f.export(t, to), f.export(t, from); got != want {
				t.Errorf("the table has %q, want %q", got, want)
			}
		}
	}
}

// copy fills a table with the rows of another. The sink may know of what types they are, and get them as CSV.
func (f *Fixture) copy(t *testing.T, db sink.Sink, from, to string, known, csv bool) {
	t.Helper()
	src := f.Source(t)
	defer closeSource(t, src)
	described, err := source.Describe(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := src.Table(context.Background(), from)
	if err != nil {
		t.Fatal(err)
	}
	var filling sink.Filling
	if known {
		filling.From = source.DialectOf(described.System)
		for _, c := range rows.Columns() {
			filling.Columns, filling.Types = append(filling.Columns, c.Name), append(filling.Types, c.Type)
		}
	}
	var batches []*source.Batch
	total := int64(0)
	for err == nil {
		b := new(source.Batch)
		if err = rows.Next(b); err == nil {
			batches = append(batches, b)
			total += int64(b.Rows())
		}
	}
	if err != io.EOF || rows.Close() != nil {
		t.Fatal(err)
	}
	filled := table(t, db, to, filling)
	loader := filled.Loaders()[0]
	if csv {
		loader = asCSV(t, filled, loader, rows.Columns())
	}
	for _, b := range batches {
		if err := loader.Load(b); err != nil {
			t.Fatal(err)
		}
	}
	closeLoader(t, loader, total)
	commit(t, filled)
}

// testManyRows fills a table by several loaders, some rows of which are large, and lent.
func testManyRows(t *testing.T, f *Fixture) {
	f.create(t, "many_t", "id", "bigint NOT NULL PRIMARY KEY", "fill", f.Text)
	wanted := 1
	if f.Loaders {
		wanted = 3
	}
	filled := table(t, f.open(t), "many_t", sink.Filling{Loaders: wanted})
	loaders := filled.Loaders()
	if len(loaders) != wanted {
		t.Fatalf("there are %d loaders, want %d", len(loaders), wanted)
	}
	const each = 5000
	large := []byte(strings.Repeat(`0123456"89abcde.`, 3<<20/16))
	failed := make(chan error, len(loaders))
	for i, loader := range loaders {
		go func() {
			b := new(source.Batch)
			b.SetLending(true)
			b.Reset(2)
			for id := range each {
				b.AppendInt(int64(i*each + id))
				b.Append(source.Text, []byte(strings.Repeat("x", id%100)))
				b.EndRow()
			}
			b.Lend(source.Number, fmt.Append(nil, -1-i))
			b.Lend(source.Text, large)
			b.EndRow()
			err := loader.Load(b)
			if err == nil {
				var rows int64
				if rows, _, err = loader.Sum(); err == nil && rows != each+1 {
					err = fmt.Errorf("%d rows are read back", rows)
				}
			}
			if _, closed := loader.Close(); err == nil {
				err = closed
			}
			failed <- err
		}()
	}
	for range loaders {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	commit(t, filled)
	if got, want := len(f.read(t, "many_t")), wanted*(each+1); got != want {
		t.Errorf("the table has %d rows, want %d", got, want)
	}
}

var errSource = errors.New("the source has failed")

func testText(t *testing.T, f *Fixture) {
	f.create(t, "text_t", "id", "bigint", "a", f.Text)
	db := f.open(t)
	filled, is := table(t, db, "text_t", sink.Filling{}).(sink.TextTable)
	if !is {
		t.Skip("the loaders read no text")
	}
	loader := filled.Loaders()[0].(sink.TextLoader)
	text := encode(t, filled, batch([]string{"1", "a,\"\n"}, []string{"2", null}, []string{"3", ""}))
	if err := loader.LoadText(iotest.OneByteReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := loader.Load(batch([]string{"4", "\\."})); err != nil { // in turn with batches
		t.Fatal(err)
	}
	if err := loader.LoadText(encode(t, filled, batch([]string{"5", "x"}))); err != nil {
		t.Fatal(err)
	}
	if err := loader.LoadText(strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	closeLoader(t, loader, 5)
	commit(t, filled)
	expect(t, f.read(t, "text_t"), "1,\"a,\"\"\n", "\"\n", "2,\n", "3,\"\"\n", "4,\\.\n", "5,x\n")

	f.create(t, "broken_t", "id", "bigint", "a", f.Text)
	filled = table(t, db, "broken_t", sink.Filling{}).(sink.TextTable)
	loader = filled.Loaders()[0].(sink.TextLoader)
	text = encode(t, filled, batch([]string{"1", "a"}))
	if err := loader.LoadText(io.MultiReader(text, iotest.ErrReader(errSource))); !errors.Is(err, errSource) {
		t.Errorf("a source that fails is the error %v", err)
	}
	if err := filled.Commit(); err == nil {
		t.Error("a text without its end is committed")
	}
	discard(t, filled)
	expect(t, f.read(t, "broken_t"))
}

func testPlan(t *testing.T, f *Fixture) {
	f.create(t, "plan_t", "id", "bigint")
	db := f.open(t)
	plan, err := db.Plan(t.Context(), "plan_t", sink.Filling{Loaders: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !plan.Exists || len(plan.Columns) != 1 || len(plan.Steps) == 0 || plan.Table == "" {
		t.Errorf("the plan is %+v", plan)
	}
	if want := 1; !f.Loaders && (plan.Loaders != want || plan.Alone == "") {
		t.Errorf("the plan has %d loaders because %q", plan.Loaders, plan.Alone)
	}
	f.Exec(t, "INSERT INTO "+f.Quote("plan_t")+" VALUES (1)")
	if _, err := db.Plan(t.Context(), "plan_t", sink.Filling{}); !errors.Is(err, sink.ErrNotEmpty) {
		t.Errorf("the plan of a table with rows: %v", err)
	}
	_, err = db.Plan(t.Context(), "plna_t", sink.Filling{})
	expectUnknown(t, err, "table", "plna_t")
}

func testBusy(t *testing.T, f *Fixture) {
	f.create(t, "busy_t", "id", "bigint")
	filling := sink.Filling{Existing: sink.Append}
	filled := table(t, f.open(t), "busy_t", filling)
	if _, err := f.open(t).Table(t.Context(), "busy_t", filling); !errors.Is(err, sink.ErrBusy) {
		t.Errorf("a second load of a table: %v", err)
	}
	load(t, filled, []string{"1"})
	commit(t, filled)
	expect(t, f.read(t, "busy_t"), "1\n")
}
