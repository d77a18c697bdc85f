// Package sourcetest is a test suite for any [source.Source].
//
// The test of a source describes its database by a [Fixture] and runs the suite on it:
//
//	func TestSource(t *testing.T) {
//		sourcetest.Run(t, sourcetest.Fixture{
//			Open: func(t *testing.T) source.Source { … },
//			Exec: func(t *testing.T, sql string) { … },
//			Values: []sourcetest.Value{
//				{Type: "bigint", SQL: "-1", Kind: source.Number, Text: "-1"},
//			},
//		})
//	}
//
// The suite creates its own tables, fills them by plain SQL, and drops them. It checks what the interface promises, the
// optional interfaces that the source implements, and the abilities that the fixture declares. It requires more than
// the interface in two points: a table is found by its exact name, whatever characters it contains, and Next fails at
// once when the context has ended.
package sourcetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culvert/source"
)

// Fixture is a database to test a source with.
type Fixture struct {
	// Open opens the source to be tested. The suite closes it. Cleanups of the test may close what else belongs to it.
	// After that, no goroutine may be left.
	Open func(t *testing.T) source.Source

	// Exec runs and commits one SQL statement on the same database without the source. It fails the test on an error.
	Exec func(t *testing.T, sql string)

	// Quote writes a name as an SQL identifier. The default uses double quotes.
	Quote func(name string) string

	// Text is the SQL type of text of any length. The default is text.
	Text string

	// Values are values that the database can store, and as which the source must return them.
	Values []Value

	// FailingQuery returns at least one row and then fails. "" if there is no such query.
	FailingQuery string

	// EndlessQuery runs until it is stopped, and returns no row. "" if there is no such query.
	EndlessQuery string

	// ShowingQuery fails with a message that shows the text secret-4711. "" if the errors of the source cannot be
	// redacted.
	ShowingQuery string

	// FailingWhere is a condition that fails for one of the rows with the id 1, 2 and 3. "" if there is none.
	FailingWhere string

	// RefusedNames are names with odd characters that no table can have.
	RefusedNames []string

	// NoColumns is set if CREATE TABLE t () makes a table without columns.
	NoColumns bool

	// Divides is set if several readers can share a table of a few megabytes.
	Divides bool

	// Beside is the number of sources that were opened together with each, if the source is a [source.Grouped] that
	// divides tables by their keys.
	Beside int

	// Parting is set if the source is a [source.Parter].
	Parting *Parting

	// AllocationFree is set if reading text and numbers does not allocate once the batch has grown.
	AllocationFree bool

	filled bool // the table of fillCopied is there
}

// Value is a value in a column of its own.
type Value struct {
	Type string      // the type of the column for CREATE TABLE
	SQL  string      // the value for INSERT
	Kind source.Kind // the expected kind
	Text string      // the expected bytes

	Column string // the expected Column.Type; not checked if ""

	Logical string // the expected text of Column.Logical, or "" for unknown
	Queried string // the same of a query, or "" if that is not different
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
	if f.filled {
		f.Exec(t, "DROP TABLE "+f.Quote(copied))
	}
}

var parts = []struct {
	name    string
	run     func(*testing.T, *Fixture)
	applies func(*Fixture) bool // nil for every source
}{
	{"Columns", testColumns, nil},
	{"NullAndEmpty", testNullAndEmpty, nil},
	{"Values", testValues, nil},
	{"Types", testTypes, nil},
	{"ManyRows", testManyRows, nil},
	{"EmptyTable", testEmptyTable, nil},
	{"NoColumns", testNoColumns, func(f *Fixture) bool { return f.NoColumns }},
	{"HugeValue", testHugeValue, nil},
	{"View", testView, nil},
	{"Names", testNames, nil},
	{"UnknownTable", testUnknownTable, nil},
	{"Query", testQuery, nil},
	{"BadQuery", testBadQuery, nil},
	{"FailingQuery", testFailingQuery, func(f *Fixture) bool { return f.FailingQuery != "" }},
	{"OneAtATime", testOneAtATime, nil},
	{"CloseInTheMiddle", testCloseInTheMiddle, nil},
	{"CancelBefore", testCancelBefore, nil},
	{"CancelInTheMiddle", testCancelInTheMiddle, nil},
	{"CancelWhileWaiting", testCancelWhileWaiting, func(f *Fixture) bool { return f.EndlessQuery != "" }},
	{"CSVWriter", testCSVWriter, nil},
	{"BinaryWriter", testBinaryWriter, nil},
	{"Select", testSelect, nil},
	{"SelectLimit", testSelectLimit, nil},
	{"BadSelect", testBadSelect, nil},
	{"ShowingQuery", testShowingQuery, func(f *Fixture) bool { return f.ShowingQuery != "" }},
	{"FailingWhere", testFailingWhere, func(f *Fixture) bool { return f.FailingWhere != "" }},
	{"Tables", testTables, nil},
	{"Describe", testDescribe, nil},
	{"NotNull", testNotNull, nil},
	{"Define", testDefine, nil},
	{"DefineRefused", testDefineRefused, nil},
	{"DefineOpen", testDefineOpen, nil},
	{"Prepare", testPrepare, nil},
	{"PrepareOpen", testPrepareOpen, nil},
	{"Schema", testSchema, nil},
	{"SchemaBeside", testSchemaBeside, nil},
	{"Size", testSize, nil},
	{"Divide", testDivide, divides},
	{"DivideRefused", testDivideRefused, divides},
	{"DivideClosed", testDivideClosed, divides},
	{"DivideCanceled", testDivideCanceled, divides},
	{"DivideFailing", testDivideFailing, divides},
	{"DivideWriters", testDivideWriters, func(f *Fixture) bool { return divides(f) && cuts(f) && f.Parting.Writers }},
	{"DivideKeys", testDivideKeys, func(f *Fixture) bool { return divides(f) && besides(f) }},
	{"Beside", testBeside, besides},
	{"Parts", testParts, cuts},
	{"PartsEmpty", testPartsEmpty, cuts},
	{"PartsView", testPartsView, cuts},
	{"PartsSelection", testPartsSelection, cuts},
	{"PartsRefused", testPartsRefused, cuts},
	{"PartsNames", testPartsNames, cuts},
	{"PartsKeys", testPartsKeys, cuts},
	{"PartsWriters", testPartsWriters, func(f *Fixture) bool { return cuts(f) && f.Parting.Writers }},
	{"Share", testShare, shares},
	{"ShareRefused", testShareRefused, shares},
	{"Unchanged", testUnchanged, shares},
	{"Allocations", testAllocations, func(f *Fixture) bool { return f.AllocationFree }},
}

func cuts(f *Fixture) bool { return f.Parting != nil }

func shares(f *Fixture) bool { return cuts(f) && f.Parting.Shares }

func divides(f *Fixture) bool { return f.Divides }

// open opens the source and closes it at the end of the test.
func (f *Fixture) open(t *testing.T) source.Source {
	t.Helper()
	src := f.Open(t)
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Errorf("closing the source: %v", err)
		}
	})
	return src
}

// create makes a table, and drops it at the end of the test. Its columns are alternating names and types.
func (f *Fixture) create(t *testing.T, table string, columns ...string) {
	t.Helper()
	var list []string
	for i := 0; i < len(columns); i += 2 {
		list = append(list, f.Quote(columns[i])+" "+columns[i+1])
	}
	f.Exec(t, fmt.Sprintf("CREATE TABLE %s (%s)", f.Quote(table), strings.Join(list, ", ")))
	t.Cleanup(func() { f.Exec(t, "DROP TABLE "+f.Quote(table)) })
}

// insert adds rows, each a comma-separated list of SQL values.
func (f *Fixture) insert(t *testing.T, table string, rows ...string) {
	t.Helper()
	f.Exec(t, fmt.Sprintf("INSERT INTO %s VALUES (%s)", f.Quote(table), strings.Join(rows, "), (")))
}

// rows opens a table and closes it at the end of the test.
func (f *Fixture) rows(t *testing.T, src source.Source, table string) source.Rows {
	t.Helper()
	rows, err := src.Table(context.Background(), table)
	if err != nil {
		t.Fatalf("Table(%q): %v", table, err)
	}
	t.Cleanup(func() { closeRows(t, rows) })
	return rows
}

// query runs a query and closes its rows at the end of the test.
func (f *Fixture) query(t *testing.T, src source.Source, sql string) source.Rows {
	t.Helper()
	rows, err := src.Query(context.Background(), sql)
	if err != nil {
		t.Fatalf("Query(%q): %v", sql, err)
	}
	t.Cleanup(func() { closeRows(t, rows) })
	return rows
}

func closeRows(t *testing.T, rows source.Rows) {
	t.Helper()
	if err := rows.Close(); err != nil {
		t.Errorf("closing rows: %v", err)
	}
}
