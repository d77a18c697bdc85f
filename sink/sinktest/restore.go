package sinktest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"culvert/sink"
	"culvert/source"
)

// Restoring is a database that is made again, and how others are made for that.
type Restoring struct {
	// Source opens the database, which has everything that a schema of its system can have. The suite closes it.
	Source func(t *testing.T) source.Source

	// New makes an empty database of the same system.
	New func(t *testing.T) Restored

	// Dump is what a tool of the database prints of its schema.
	Dump string

	// Fails is a statement that fails in a database with the same schema, until the statements of Mends have run there.
	// Those of Undo undo all this.
	Fails       string
	Mends, Undo []string

	// Refused are statements that no schema of this system has.
	Refused []string
}

// Restored is a database that was empty.
type Restored struct {
	// Open opens its sink, and Source a source. The suite closes them.
	Open   func(t *testing.T) sink.Sink
	Source func(t *testing.T) source.Source

	// Exec runs and commits one SQL statement.
	Exec func(t *testing.T, sql string)

	// Dump returns what a tool of the database prints of its schema.
	Dump func(t *testing.T) string
}

// Restore is the suite of sinks that are a [sink.Restorer], and of sources that are a [source.Schemer]. Each part is a
// subtest.
func Restore(t *testing.T, f Restoring) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, *Restoring)
	}{
		{"Whole", testRestoreWhole},
		{"Interrupted", testRestoreInterrupted},
		{"OtherLoad", testRestoreOtherLoad},
		{"Abandoned", testRestoreAbandoned},
		{"Unended", testRestoreUnended},
		{"Fails", testRestoreFails},
		{"FailsBefore", testRestoreFailsBefore},
		{"Refused", testRestoreRefused},
	} {
		t.Run(part.name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
			part.run(t, &f)
		})
	}
}

// schema returns the schema of the database.
func (f *Restoring) schema(t *testing.T) *source.Schema {
	t.Helper()
	src := f.Source(t)
	defer closeSource(t, src)
	schemer, is := src.(source.Schemer)
	if !is {
		t.Fatalf("%T is no source.Schemer", src)
	}
	s, err := schemer.Schema(t.Context(), source.SchemaConfig{})
	if err != nil {
		t.Fatal("Schema:", err)
	}
	if len(s.Statements) == 0 {
		t.Fatal("the schema has no statements")
	}
	return s
}

// fill makes the tables, unless the schema has, and copies their rows, unless the ledger has them.
func (f *Restoring) fill(t *testing.T, db sink.Sink, s *source.Schema, ledger *sink.Ledger) {
	t.Helper()
	src := f.Source(t)
	defer closeSource(t, src)
	if s.OwnRows {
		source.Separate(src)
	}
	names, err := src.(source.Lister).Tables(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	fillings := map[string]sink.Filling{}
	for _, name := range names {
		d, err := source.Define(t.Context(), src, name)
		if err != nil {
			t.Fatal(err)
		}
		filling := sink.Filling{Ledger: ledger}
		if !s.Tables {
			filling.Create = d
		}
		for _, c := range d.Columns {
			if c.Generated == "" {
				filling.Columns = append(filling.Columns, c.Name)
			}
		}
		fillings[name] = filling
		fillTable(t, src, db, name, filling)
	}
	if s.Tables {
		return
	}
	for name, filling := range fillings {
		if err := db.(sink.Creator).Finish(t.Context(), name, filling); err != nil {
			t.Fatalf("the foreign keys of %q: %v", name, err)
		}
	}
}

func fillTable(t *testing.T, src source.Source, db sink.Sink, name string, filling sink.Filling) {
	t.Helper()
	rows, err := src.(source.Selector).Select(t.Context(), name, source.Selection{Columns: filling.Columns})
	if err != nil {
		t.Fatal(err)
	}
	defer closeSource(t, rows)
	filled := table(t, db, name, filling)
	defer discard(t, filled)
	if len(filled.Loaded()) > 0 {
		return
	}
	loader := filled.Loaders()[0]
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = loader.Load(&b)
		}
		if err != nil {
			t.Fatalf("the rows of %q: %v", name, err)
		}
	}
	count, err := loader.Flush()
	if err == nil {
		err = loader.EndPart(sink.Part{Name: "all", Rows: count})
	}
	if err == nil {
		_, err = loader.Close()
	}
	if err == nil {
		err = filled.Commit()
	}
	if err != nil {
		t.Fatalf("the rows of %q: %v", name, err)
	}
}

// restore makes a database, and returns the first error of Restore or Finish.
func (f *Restoring) restore(
	ctx context.Context, t *testing.T, to Restored, load string, s *source.Schema,
) error {
	t.Helper()
	db := to.Open(t)
	defer closeSource(t, db)
	restoration, err := db.(sink.Restorer).Restore(ctx, load, s, sink.Filling{})
	if err != nil {
		return err
	}
	if ledger := restoration.Ledger(); ledger == nil || ledger.Load != load {
		t.Fatalf("the ledger is %+v", ledger)
	}
	if !restoration.Filled() {
		f.fill(t, db, s, restoration.Ledger())
	}
	return restoration.Finish(ctx, 2)
}

// expect compares a database with the one that was made again, by its schema and its rows.
func (f *Restoring) expect(t *testing.T, restored Restored) {
	t.Helper()
	if got := restored.Dump(t); got != f.Dump {
		t.Errorf("the schemas differ:\n%s", difference(f.Dump, got))
	}
	src := f.Source(t)
	names, err := src.(source.Lister).Tables(t.Context(), "")
	closeSource(t, src)
	if err != nil {
		t.Fatal(err)
	}
	was, is := &Fixture{Source: f.Source}, &Fixture{Source: restored.Source}
	for _, name := range names {
		if want, got := was.read(t, name), is.read(t, name); !slices.Equal(got, want) {
			t.Errorf("the table %q has %q, want %q", name, got, want)
		}
	}
}

// difference returns the lines that two texts do not have in common.
func difference(want, got string) string {
	var b strings.Builder
	for _, of := range []struct{ sign, text, other string }{{"- ", want, got}, {"+ ", got, want}} {
		lines := strings.Split(of.other, "\n")
		for line := range strings.Lines(of.text) {
			if !slices.Contains(lines, strings.TrimSuffix(line, "\n")) {
				b.WriteString(of.sign + line)
			}
		}
	}
	if b.Len() == 0 {
		return "the same lines in another order:\n" + got
	}
	return b.String()
}

func testRestoreWhole(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	if err := f.restore(t.Context(), t, to, "whole", s); err != nil {
		t.Fatal(err)
	}
	f.expect(t, to)
}

// testRestoreInterrupted ends the context at every place where it is looked at, and goes on each time.
func testRestoreInterrupted(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	for asked := int64(1); ; asked++ {
		ctx, cancel := context.WithCancel(t.Context())
		cut := &cutContext{Context: ctx, cancel: cancel}
		cut.left.Store(asked)
		err := f.restore(cut, t, to, "interrupted", s)
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("when the context ends as it is looked at %d times: %v", asked, err)
		}
	}
	f.expect(t, to)
}

// cutContext ends when it was looked at a number of times.
type cutContext struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *cutContext) count() {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
}

func (c *cutContext) Done() <-chan struct{} {
	c.count()
	return c.Context.Done()
}

func (c *cutContext) Err() error {
	c.count()
	return c.Context.Err()
}

// expectFailed expects the error of the statement that fails, and of no other.
func (f *Restoring) expectFailed(t *testing.T, err error, before bool) {
	t.Helper()
	refused, is := errors.AsType[*sink.StatementsError](err)
	if !is || refused.Before != before || len(refused.Failed) != 1 || refused.Failed[0].SQL != f.Fails {
		t.Fatalf("got the error %v", err)
	}
}

func testRestoreFails(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	first := slices.IndexFunc(s.Statements, func(s source.Statement) bool { return s.After })
	s.Statements = slices.Insert(s.Statements, first, source.Statement{After: true, SQL: f.Fails})
	for range 2 {
		f.expectFailed(t, f.restore(t.Context(), t, to, "fails", s), false)
	}
	for _, sql := range f.Mends {
		to.Exec(t, sql)
	}
	if err := f.restore(t.Context(), t, to, "fails", s); err != nil {
		t.Fatal(err)
	}
	for _, sql := range f.Undo {
		to.Exec(t, sql)
	}
	f.expect(t, to)
}

func testRestoreFailsBefore(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	whole := s.Statements
	first := slices.IndexFunc(whole, func(s source.Statement) bool { return s.After })
	s.Statements = slices.Insert(slices.Clone(whole), first, source.Statement{SQL: f.Fails})
	f.expectFailed(t, f.restore(t.Context(), t, to, "fails", s), true)
	s.Statements = whole
	if err := f.restore(t.Context(), t, to, "another", s); err != nil {
		t.Fatal(err)
	}
	f.expect(t, to)
}

func testRestoreRefused(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	db := to.Open(t)
	defer closeSource(t, db)
	whole, dialect := s.Statements, s.Dialect
	for _, sql := range f.Refused {
		s.Statements = append(slices.Clone(whole), source.Statement{After: true, SQL: sql})
		if _, err := db.(sink.Restorer).Restore(t.Context(), "refused", s, sink.Filling{}); err == nil {
			t.Errorf("a schema may have %s", sql)
		}
	}
	if !db.(sink.Restorer).Restores(s.Dialect) || db.(sink.Restorer).Restores("another") {
		t.Error("Restores does not say what can be restored")
	}
	s.Statements, s.Dialect = whole, "another"
	if _, err := db.(sink.Restorer).Restore(t.Context(), "refused", s, sink.Filling{}); err == nil {
		t.Error("a schema may be of another system")
	}
	s.Dialect = dialect
	if err := f.restore(t.Context(), t, to, "refused", s); err != nil {
		t.Error("after that:", err)
	}
}
