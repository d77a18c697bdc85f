package sinktest

import (
	"errors"
	"testing"

	"culvert/sink"
	"culvert/source"
)

// define returns the definition of a table.
func (f *Fixture) define(t *testing.T, name string) *source.Definition {
	t.Helper()
	src := f.Source(t)
	defer closeSource(t, src)
	d, err := source.Define(t.Context(), src, name)
	if err != nil || d == nil {
		t.Fatalf("the definition of %q: %v, %v", name, d, err)
	}
	return d
}

// testCreateExisting makes tables whose names are taken: one that is empty and fits is filled as it is, others are
// refused, and stay as they are.
func testCreateExisting(t *testing.T, f *Fixture) {
	f.create(t, "existing_t", "id", "bigint NOT NULL PRIMARY KEY", "a", f.Text)
	d := f.define(t, "existing_t")
	create := sink.Filling{Create: d, Columns: []string{"id", "a"}}
	db := f.open(t)
	plan, err := db.Plan(t.Context(), "existing_t", create)
	if err != nil || !plan.Exists {
		t.Fatalf("a table that is empty: %+v, %v", plan, err)
	}
	filled := table(t, db, "existing_t", create)
	load(t, filled, []string{"1", "x"})
	commit(t, filled)
	if err := db.(sink.Creator).Finish(t.Context(), "existing_t", create); err != nil {
		t.Error("Finish:", err)
	}
	expect(t, f.read(t, "existing_t"), "1,x\n")
	refuse := func(what string, f sink.Filling, is func(error) bool) {
		t.Helper()
		if _, err := db.Plan(t.Context(), "existing_t", f); !is(err) {
			t.Errorf("Plan of %s: %v", what, err)
		}
		if _, err := db.Table(t.Context(), "existing_t", f); !is(err) {
			t.Errorf("Table of %s: %v", what, err)
		}
	}
	refuse("a table with rows", create, func(err error) bool { return errors.Is(err, sink.ErrExists) })
	expect(t, f.read(t, "existing_t"), "1,x\n")

	f.Exec(t, "DELETE FROM "+f.Quote("existing_t"))
	more, computed := *d, *d
	more.Columns = append(more.Columns[:2:2], source.ColumnDefinition{Name: "b", Type: d.Columns[1].Type})
	refuse("a table without a column", sink.Filling{Create: &more, Columns: []string{"id", "a", "b"}},
		func(err error) bool {
			unknown, is := errors.AsType[*source.UnknownError](err)
			return is && unknown.What == "column" && unknown.Name == "b" && errors.Is(err, sink.ErrExists)
		})
	computed.Columns = []source.ColumnDefinition{d.Columns[0], d.Columns[1]}
	computed.Columns[1].Generated = source.Stored
	refuse("a table that does not compute a column", sink.Filling{Create: &computed, Columns: []string{"id"}},
		func(err error) bool { return errors.Is(err, sink.ErrExists) })
}

// testReferenced replaces the rows of a table to which rows of another one refer. What would fail is refused before
// anything is changed.
func testReferenced(t *testing.T, f *Fixture) {
	f.create(t, "parent_t", "id", "bigint NOT NULL PRIMARY KEY", "up", "bigint REFERENCES "+f.Quote("parent_t"))
	f.create(t, "child_t", "id", "bigint", "parent", "bigint REFERENCES "+f.Quote("parent_t")+" ("+f.Quote("id")+")")
	f.Exec(t, "INSERT INTO "+f.Quote("parent_t")+" VALUES (1, NULL)")
	f.Exec(t, "INSERT INTO "+f.Quote("child_t")+" VALUES (7, 1)")
	db := f.open(t)
	f.expectSameRefusal(t, db)
	for _, existing := range []sink.Existing{sink.Truncate, sink.Swap} {
		replace := sink.Filling{Existing: existing, Columns: []string{"id"}}
		_, err := db.Plan(t.Context(), "parent_t", replace)
		if _, refused := errors.AsType[*sink.ReferencedError](err); refused {
			if _, err := db.Table(t.Context(), "parent_t", replace); err == nil {
				t.Fatal("Table fills what Plan has refused")
			}
		} else if err != nil {
			t.Fatal(err)
		} else {
			filled := table(t, db, "parent_t", replace)
			load(t, filled, []string{"1"})
			commit(t, filled)
		}
		expect(t, f.read(t, "parent_t"), "1,\n")
		expect(t, f.read(t, "child_t"), "7,1\n")
		filled := table(t, db, "child_t", replace)
		load(t, filled, []string{"7"})
		commit(t, filled)
		expect(t, f.read(t, "child_t"), "7,\n")
		f.Exec(t, "UPDATE "+f.Quote("child_t")+" SET "+f.Quote("parent")+" = 1")
	}
}

// expectSameRefusal has the ledger record other rows than the table has, which are to be removed then. That is refused
// as without a ledger.
func (f *Fixture) expectSameRefusal(t *testing.T, db sink.Sink) {
	t.Helper()
	ledger := f.ledger(t, "one")
	appending := table(t, db, "parent_t", sink.Filling{Existing: sink.Append, Ledger: ledger, Columns: []string{"id"}})
	endPart(t, appending.Loaders()[0], "a", []string{"2"})
	closeLoader(t, appending.Loaders()[0], 0)
	commit(t, appending)
	replace := sink.Filling{Existing: sink.Truncate, Columns: []string{"id"}}
	_, want := db.Plan(t.Context(), "parent_t", replace)
	replace.Ledger = ledger
	_, planned := db.Plan(t.Context(), "parent_t", replace)
	if (planned == nil) != (want == nil) || want != nil && planned.Error() != want.Error() {
		t.Errorf("Plan with a ledger that disagrees: %v, want %v", planned, want)
	}
	filled, err := db.Table(t.Context(), "parent_t", replace)
	if (err == nil) != (want == nil) || want != nil && err.Error() != want.Error() {
		t.Errorf("Table with a ledger that disagrees: %v, want %v", err, want)
	}
	if err == nil {
		discard(t, filled)
	}
	f.Exec(t, "DELETE FROM "+f.Quote("parent_t")+" WHERE id = 2")
}
