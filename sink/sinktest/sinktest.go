// Package sinktest is a test suite for any [sink.Sink].
//
// The test of a sink describes its database by a [Fixture] and runs the suite on it:
//
//	func TestSink(t *testing.T) {
//		sinktest.Run(t, sinktest.Fixture{
//			Open:   func(t *testing.T) sink.Sink { … },
//			Source: func(t *testing.T) source.Source { … },
//			Exec:   func(t *testing.T, sql string) { … },
//		})
//	}
//
// The suite creates its own tables, fills them through the sink, reads them through the source, and drops them. It
// compares what was read as CSV, byte for byte.
package sinktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/sink"
	"culvert/source"
	"culvert/source/sourcetest"
)

// Fixture is a database to test a sink with.
type Fixture struct {
	// Open opens the sink to be tested. The suite closes it.
	Open func(t *testing.T) sink.Sink

	// Source opens a source of the same database. The suite closes it.
	Source func(t *testing.T) source.Source

	// Exec runs and commits one SQL statement on the same database. It fails the test on an error.
	Exec func(t *testing.T, sql string)

	// Quote writes a name as an SQL identifier. The default uses double quotes.
	Quote func(name string) string

	// Text is the SQL type of text of any length. The default is text.
	Text string

	// Values are values that the database can store, for round trips.
	Values []sourcetest.Value

	// Changes are values that columns would change, besides those that are the same in every database.
	Changes []Change

	// Loaders is set if several loaders can fill an empty table.
	Loaders bool

	// Truncates, Conflicts, Ledger and EachPart are set if the sink can do what the filling asks for.
	Truncates, Conflicts, Ledger, EachPart bool

	// RowsUntold is set if the database does not say which row it refuses.
	RowsUntold bool

	// Plans is set if the sink is a [sink.Planner].
	Plans bool

	// Groups is set if the sink is a [sink.Grouper].
	Groups bool

	// KeysFirst is set if a foreign key can refer to a table that does not exist yet, and cannot be added later.
	KeysFirst bool

	// KeysUnchecked is set if the database does not enforce foreign keys, so that rows may refer to none.
	KeysUnchecked bool

	// Loses is a statement that makes a trigger of a table with a column id, which leaves out the row whose id is 13
	// without an error. It is nil if the database has no such triggers.
	Loses func(table string) string

	// Sums is set if a loader can read back what it has added to a table that has other rows.
	Sums bool

	// Busy is set if a second sink can be open while a table is filled.
	Busy bool
}

// Run runs the suite. Each part is a subtest.
func Run(t *testing.T, f Fixture) {
	if f.Quote == nil {
		f.Quote = func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	}
	if f.Text == "" {
		f.Text = "text"
	}
	for _, part := range parts {
		if part.applies != nil && !part.applies(&f) {
			continue
		}
		t.Run(part.name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
			part.run(t, &f)
		})
	}
}

var parts = []struct {
	name    string
	run     func(*testing.T, *Fixture)
	applies func(*Fixture) bool // nil for every sink
}{
	{"Fill", testFill, nil},
	{"Columns", testColumns, nil},
	{"Discard", testDiscard, nil},
	{"Refused", testRefused, nil},
	{"RefusedLine", testRefusedLine, nil},
	{"Unknown", testUnknown, nil},
	{"Append", testAppend, nil},
	{"Values", testValues, nil},
	{"Kept", testKept, nil},
	{"ManyRows", testManyRows, nil},
	{"RandomTables", testRandomTables, nil},
	{"RandomTexts", testRandomTexts, nil},
	{"Text", testText, nil},
	{"Binary", testBinary, nil},
	{"Mark", testMark, nil},
	{"MarkParts", testMarkParts, func(f *Fixture) bool { return f.Ledger }},
	{"Misuse", testMisuse, nil},
	{"LoaderMisuse", testLoaderMisuse, nil},
	{"Contradictions", testContradictions, nil},
	{"Canceled", testCanceled, nil},
	{"Plan", testPlan, nil},
	{"Database", testDatabase, func(f *Fixture) bool { return f.Ledger }},
	{"Plans", testPlans, func(f *Fixture) bool { return f.Plans }},
	{"Truncate", testTruncate, func(f *Fixture) bool { return f.Truncates }},
	{"OtherTables", testOtherTables, func(f *Fixture) bool { return f.Truncates }},
	{"Conflict", testConflict, func(f *Fixture) bool { return f.Conflicts }},
	{"ConflictLoses", testConflictLoses, func(f *Fixture) bool { return f.Conflicts && f.Loses != nil }},
	{"Ledger", testLedger, func(f *Fixture) bool { return f.Ledger }},
	{"LedgerKeeps", testLedgerKeeps, func(f *Fixture) bool { return f.Ledger }},
	{"EachPart", testEachPart, func(f *Fixture) bool { return f.EachPart }},
	{"LedgerDisagrees", testLedgerDisagrees, func(f *Fixture) bool { return f.EachPart && f.Truncates }},
	{"CreateExisting", testCreateExisting, nil},
	{"SelfReferences", testSelfReferences, func(f *Fixture) bool { return f.Truncates }},
	{"Referenced", testReferenced, func(f *Fixture) bool { return f.Truncates }},
	{"Group", testGroup, func(f *Fixture) bool { return f.Groups }},
	{"GroupOutside", testGroupOutside, func(f *Fixture) bool { return f.Groups }},
	{"GroupSwap", testGroupSwap, func(f *Fixture) bool { return f.Groups }},
	{"GroupMisuse", testGroupMisuse, func(f *Fixture) bool { return f.Groups }},
	{"GroupLedger", testGroupLedger, func(f *Fixture) bool { return f.Groups && f.Ledger }},
	{"TriggersOff", testTriggersOff, func(f *Fixture) bool { return f.Truncates && f.Loses != nil }},
	{"Busy", testBusy, func(f *Fixture) bool { return f.Busy }},
}

// create makes a table, and drops it at the end of the test. Its columns are alternating names and SQL.
func (f *Fixture) create(t *testing.T, table string, columns ...string) {
	t.Helper()
	var list []string
	for i := 0; i < len(columns); i += 2 {
		list = append(list, f.Quote(columns[i])+" "+columns[i+1])
	}
	f.Exec(t, fmt.Sprintf("CREATE TABLE %s (%s)", f.Quote(table), strings.Join(list, ", ")))
	t.Cleanup(func() { f.Exec(t, "DROP TABLE "+f.Quote(table)) })
}

// open opens the sink, and closes it at the end of the test.
func (f *Fixture) open(t *testing.T) sink.Sink {
	t.Helper()
	db := f.Open(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the sink: %v", err)
		}
	})
	return db
}

// table begins to fill a table, and discards it at the end of the test.
func table(t *testing.T, db sink.Sink, name string, filling sink.Filling) sink.Table {
	t.Helper()
	filled, err := db.Table(t.Context(), name, filling)
	if err != nil {
		t.Fatalf("Table(%q, %+v): %v", name, filling, err)
	}
	t.Cleanup(func() { discard(t, filled) })
	return filled
}

func discard(t *testing.T, filled sink.Table) {
	t.Helper()
	if err := filled.Discard(); err != nil {
		t.Errorf("discarding: %v", err)
	}
}

// null is NULL in rows.
const null = "\x00null"

// batch returns rows of texts.
func batch(rows ...[]string) *source.Batch {
	b := new(source.Batch)
	b.Reset(len(rows[0]))
	for _, row := range rows {
		for _, value := range row {
			if value == null {
				b.AppendNull()
			} else {
				b.Append(source.Text, []byte(value))
			}
		}
		b.EndRow()
	}
	return b
}

// load adds rows by the only loader, and closes it.
func load(t *testing.T, filled sink.Table, rows ...[]string) {
	t.Helper()
	loader := filled.Loaders()[0]
	if err := loader.Load(batch(rows...)); err != nil {
		t.Fatal("Load:", err)
	}
	closeLoader(t, loader, int64(len(rows)))
}

func closeLoader(t *testing.T, loader sink.Loader, want int64) {
	t.Helper()
	if rows, err := loader.Close(); err != nil || rows != want {
		t.Fatalf("closing the loader: %d rows, %v, want %d", rows, err, want)
	}
}

func commit(t *testing.T, filled sink.Table) {
	t.Helper()
	if err := filled.Commit(); err != nil {
		t.Fatal("Commit:", err)
	}
}

// read returns the lines of CSV of a table, sorted.
func (f *Fixture) read(t *testing.T, name string) []string {
	t.Helper()
	return slices.Sorted(strings.Lines(f.export(t, name)))
}

// export returns the CSV of a table, without a header.
func (f *Fixture) export(t *testing.T, name string) string {
	t.Helper()
	src := f.Source(t)
	defer closeSource(t, src)
	rows, err := src.Table(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer closeSource(t, rows)
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			return string(text)
		}
		if err == nil {
			text, err = encoder.AppendRows(text, &b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("the table has %q, want %q", got, want)
	}
}

// expectSum compares the rows of a loader with lines of CSV.
func expectSum(t *testing.T, loader sink.Loader, lines ...string) {
	t.Helper()
	var want rowsum.Adder
	for _, line := range lines {
		want.Line([]byte(line))
	}
	if rows, sum, err := loader.Sum(); err != nil || rows != int64(len(lines)) || sum != want.Sum {
		t.Errorf("Sum: %d rows, %s, %v, want %d rows, %s", rows, sum, err, len(lines), want.Sum)
	}
}

func expectUnknown(t *testing.T, err error, what, name string) {
	t.Helper()
	unknown, ok := errors.AsType[*source.UnknownError](err)
	if !ok || unknown.What != what || unknown.Name != name {
		t.Errorf("got %v, want an unknown %s %q", err, what, name)
	}
}

// encode returns the text of rows for the loaders of a table.
func encode(t *testing.T, filled sink.TextTable, batches ...*source.Batch) *bytes.Reader {
	t.Helper()
	encoder, err := filled.Format().Encoder(filled.Columns())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, b := range batches {
		if text, err = encoder.AppendRows(text, b); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.NewReader(text)
}

func closeSource(t *testing.T, src io.Closer) {
	t.Helper()
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}
