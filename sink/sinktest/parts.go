package sinktest

import (
	"errors"
	"fmt"
	"testing"

	"culvert/sink"
	"culvert/source"
)

func testTruncate(t *testing.T, f *Fixture) {
	f.create(t, "truncate_t", "id", "bigint")
	f.Exec(t, "INSERT INTO "+f.Quote("truncate_t")+" VALUES (1)")
	db := f.open(t)
	filled := table(t, db, "truncate_t", sink.Filling{Existing: sink.Truncate})
	load(t, filled, []string{"2"})
	discard(t, filled)
	expect(t, f.read(t, "truncate_t"), "1\n")

	filled = table(t, db, "truncate_t", sink.Filling{Existing: sink.Truncate})
	loader := filled.Loaders()[0]
	for _, id := range []string{"3", "4"} {
		if err := loader.Load(batch([]string{id})); err != nil {
			t.Fatal(err)
		}
		if _, err := loader.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	expectSum(t, loader, "3\n", "4\n")
	closeLoader(t, loader, 2)
	commit(t, filled)
	expect(t, f.read(t, "truncate_t"), "3\n", "4\n")
}

func testConflict(t *testing.T, f *Fixture) {
	f.create(t, "conflict_t", "id", "bigint NOT NULL PRIMARY KEY", "a", f.Text, "b", f.Text+" DEFAULT ('d')")
	f.Exec(t, "INSERT INTO "+f.Quote("conflict_t")+" VALUES (1, 'old', 'old'), (2, 'old', 'old')")
	db := f.open(t)
	columns := []string{"a", "id"}
	filled := table(t, db, "conflict_t", sink.Filling{
		Columns: columns, Existing: sink.Append, Conflict: sink.Ignore,
	})
	load(t, filled, []string{"new", "2"}, []string{"new", "3"})
	commit(t, filled)
	expect(t, f.read(t, "conflict_t"), "1,old,old\n", "2,old,old\n", "3,new,d\n")

	filled = table(t, db, "conflict_t", sink.Filling{
		Columns: columns, Existing: sink.Append, Conflict: sink.Update, Key: []string{"id"},
	})
	load(t, filled, []string{"newer", "2"}, []string{null, "4"})
	commit(t, filled)
	expect(t, f.read(t, "conflict_t"), "1,old,old\n", "2,newer,old\n", "3,new,d\n", "4,,d\n")

	for _, filling := range []sink.Filling{
		{Conflict: sink.Update}, // without a key
		{Key: []string{"id"}},   // without an update
		{Conflict: sink.Update, Key: []string{"id", "id"}},
		{Conflict: sink.Update, Key: []string{"a"}, Columns: columns},          // no key of the table
		{Conflict: sink.Update, Key: []string{"id"}, Columns: []string{"a"}},   // not in the rows
		{Conflict: sink.Update, Key: []string{"none"}, Columns: []string{"a"}}, // not in the table
	} {
		filling.Existing = sink.Append
		if _, err := db.Table(t.Context(), "conflict_t", filling); err == nil {
			t.Errorf("%+v is accepted", filling)
		}
	}
	for _, key := range []string{"id", "none"} {
		filling := sink.Filling{
			Existing: sink.Append, Conflict: sink.Update, Key: []string{key}, Columns: []string{"a"},
		}
		_, err := db.Plan(t.Context(), "conflict_t", filling)
		expectUnknown(t, err, "column", key)
	}
}

// testConflictLoses has a trigger leave a row out that is in conflict with none.
func testConflictLoses(t *testing.T, f *Fixture) {
	f.create(t, "loses_t", "id", "bigint NOT NULL PRIMARY KEY", "a", f.Text)
	f.Exec(t, "INSERT INTO "+f.Quote("loses_t")+" VALUES (1, 'old')")
	f.Exec(t, f.Loses("loses_t"))
	db := f.open(t)
	for name, filling := range map[string]sink.Filling{
		"ignore": {Existing: sink.Append, Conflict: sink.Ignore},
		"update": {Existing: sink.Append, Conflict: sink.Update, Key: []string{"id"}},
	} {
		filled := table(t, db, "loses_t", filling)
		loader := filled.Loaders()[0]
		err := loader.Load(batch([]string{"1", "new"}, []string{"13", "new"}, []string{"14", "new"}))
		if err == nil {
			_, err = loader.Close()
		}
		if err == nil {
			err = filled.Commit()
		}
		if err == nil {
			t.Errorf("%s: a row that a trigger leaves out is lost without an error", name)
		}
		discard(t, filled)
		if err != nil {
			expect(t, f.read(t, "loses_t"), "1,old\n")
		}
	}
}

// ledger is the ledger of a test.
func (f *Fixture) ledger(t *testing.T, load string) *sink.Ledger {
	t.Helper()
	t.Cleanup(func() { f.Exec(t, "DROP TABLE IF EXISTS "+f.Quote("culvert_test_ledger")) })
	return &sink.Ledger{Table: "culvert_test_ledger", Load: load}
}

func endPart(t *testing.T, loader sink.Loader, name string, rows ...[]string) {
	t.Helper()
	if err := loader.Load(batch(rows...)); err != nil {
		t.Fatal(err)
	}
	if err := loader.EndPart(sink.Part{Name: name, Rows: int64(len(rows)), Sum: "sum of " + name}); err != nil {
		t.Fatal(err)
	}
}

func expectLoaded(t *testing.T, filled sink.Table, names ...string) {
	t.Helper()
	parts := filled.Loaded()
	if len(parts) != len(names) {
		t.Fatalf("loaded are %v, want %q", parts, names)
	}
	for i, p := range parts {
		if p.Name != names[i] || p.Sum != "sum of "+p.Name || p.Rows < 1 {
			t.Errorf("loaded is %+v, want %q", p, names[i])
		}
	}
}

func testLedger(t *testing.T, f *Fixture) {
	f.create(t, "ledger_t", "id", "bigint")
	db, ledger := f.open(t), f.ledger(t, "one")
	filled := table(t, db, "ledger_t", sink.Filling{Ledger: ledger})
	expectLoaded(t, filled)
	endPart(t, filled.Loaders()[0], "a", []string{"1"}, []string{"2"})
	discard(t, filled)

	filled = table(t, db, "ledger_t", sink.Filling{Ledger: ledger})
	expectLoaded(t, filled) // what was discarded is not recorded
	endPart(t, filled.Loaders()[0], "a", []string{"1"}, []string{"2"})
	closeLoader(t, filled.Loaders()[0], 0)
	commit(t, filled)

	filled = table(t, db, "ledger_t", sink.Filling{Ledger: ledger}) // though it is not empty
	expectLoaded(t, filled, "a")
	endPart(t, filled.Loaders()[0], "b", []string{"3"})
	if f.Sums {
		expectSum(t, filled.Loaders()[0], "3\n")
	}
	closeLoader(t, filled.Loaders()[0], 0)
	commit(t, filled)
	expect(t, f.read(t, "ledger_t"), "1\n", "2\n", "3\n")

	other := *ledger
	other.Load = "two"
	if _, err := db.Table(t.Context(), "ledger_t", sink.Filling{Ledger: &other}); !errors.Is(err, sink.ErrNotEmpty) {
		t.Errorf("another load of the table: %v", err)
	}
	if f.Truncates {
		again := sink.Filling{Ledger: ledger, Existing: sink.Truncate}
		removing := sink.Filling{Ledger: &other, Existing: sink.Truncate}
		goesOn, err := db.Plan(t.Context(), "ledger_t", again)
		if err != nil {
			t.Fatal(err)
		}
		if anew, err := db.Plan(t.Context(), "ledger_t", removing); err != nil || len(anew.Steps) <= len(goesOn.Steps) {
			t.Errorf("what removes the rows has the steps %q, and what goes on %q, %v", anew.Steps, goesOn.Steps, err)
		}
		filled = table(t, db, "ledger_t", again)
		expectLoaded(t, filled, "a", "b")
		closeLoader(t, filled.Loaders()[0], 0)
		commit(t, filled)
		expect(t, f.read(t, "ledger_t"), "1\n", "2\n", "3\n")
	}
	for _, step := range []struct {
		change string
		want   error
	}{
		{"INSERT INTO %s VALUES (4)", sink.ErrNotEmpty},
		{"DELETE FROM %s WHERE id <> 1", sink.ErrGone},
		{"DELETE FROM %s", sink.ErrGone},
	} {
		f.Exec(t, fmt.Sprintf(step.change, f.Quote("ledger_t")))
		filling := sink.Filling{Ledger: ledger}
		if _, err := db.Plan(t.Context(), "ledger_t", filling); !errors.Is(err, step.want) {
			t.Errorf("the plan of a table with other rows than the ledger, after %q: %v", step.change, err)
		}
		if _, err := db.Table(t.Context(), "ledger_t", filling); !errors.Is(err, step.want) {
			t.Errorf("a table with other rows than the ledger, after %q: %v", step.change, err)
		}
	}
	f.Exec(t, fmt.Sprintf("INSERT INTO %s VALUES (6), (7), (8), (9)", f.Quote("ledger_t")))
	filled = table(t, db, "ledger_t", sink.Filling{Ledger: ledger, Existing: sink.Append})
	if err := filled.Loaders()[0].Load(batch([]string{"5"})); err != nil {
		t.Fatal(err)
	}
	err := filled.Loaders()[0].EndPart(sink.Part{Name: "c", Rows: 2})
	if counted, ok := errors.AsType[*sink.CountError](err); !ok || counted.Sent != 2 || counted.Counted != 1 {
		t.Errorf("a part with another number of rows: %v", err)
	}
}

func testEachPart(t *testing.T, f *Fixture) {
	f.create(t, "parts_t", "id", "bigint NOT NULL PRIMARY KEY")
	db := f.open(t)
	filling := sink.Filling{Ledger: f.ledger(t, "one"), EachPart: true, Loaders: 2}
	filled := table(t, db, "parts_t", filling)
	first := filled.Loaders()[0]
	endPart(t, first, "a", []string{"1"}, []string{"2"})
	expect(t, f.read(t, "parts_t"), "1\n", "2\n") // at once
	err := first.Load(batch([]string{"3"}, []string{"1"}))
	if err == nil {
		err = first.EndPart(sink.Part{Name: "b", Rows: 2})
	}
	if _, ok := errors.AsType[*sink.RowError](err); !ok {
		t.Errorf("a part with a repeated key: %v", err)
	}
	discard(t, filled)
	expect(t, f.read(t, "parts_t"), "1\n", "2\n")

	filled = table(t, db, "parts_t", filling)
	first = filled.Loaders()[0]
	if err := first.Load(batch([]string{"9"})); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Close(); err == nil {
		t.Error("a loader is closed whose rows are in no part")
	}
	discard(t, filled)
	expect(t, f.read(t, "parts_t"), "1\n", "2\n")

	filled = table(t, db, "parts_t", filling)
	expectLoaded(t, filled, "a")
	for i, loader := range filled.Loaders() {
		name := string(rune('b' + i))
		endPart(t, loader, name, []string{string(rune('3' + i))})
		closeLoader(t, loader, 0)
	}
	commit(t, filled)
	if got := f.read(t, "parts_t"); len(got) != 2+len(filled.Loaders()) {
		t.Errorf("the table has %q", got)
	}
	if _, err := db.Table(t.Context(), "parts_t", sink.Filling{EachPart: true}); err == nil {
		t.Error("parts can be committed without a ledger")
	}
}

// testLedgerDisagrees changes rows that the ledger records: what replaces the rows begins anew, and what adds to them
// is refused if some are gone.
func testLedgerDisagrees(t *testing.T, f *Fixture) {
	f.create(t, "disagrees_t", "id", "bigint")
	db, ledger := f.open(t), f.ledger(t, "one")
	all := func(existing sink.Existing) sink.Filling {
		return sink.Filling{Ledger: ledger, EachPart: true, Existing: existing}
	}
	for _, existing := range []sink.Existing{sink.Truncate, sink.Swap} {
		for _, change := range []string{
			"DELETE FROM %s", "DELETE FROM %s WHERE id = 1", "INSERT INTO %s VALUES (3)",
		} {
			filled := table(t, db, "disagrees_t", all(sink.Truncate))
			if len(filled.Loaded()) == 0 {
				endPart(t, filled.Loaders()[0], "a", []string{"1"}, []string{"2"})
			}
			closeLoader(t, filled.Loaders()[0], 0)
			commit(t, filled)

			filled = table(t, db, "disagrees_t", all(existing))
			expectLoaded(t, filled, "a")
			closeLoader(t, filled.Loaders()[0], 0)
			commit(t, filled)
			expect(t, f.read(t, "disagrees_t"), "1\n", "2\n")

			f.Exec(t, fmt.Sprintf(change, f.Quote("disagrees_t")))
			if _, err := db.Plan(t.Context(), "disagrees_t", all(existing)); err != nil {
				t.Errorf("the plan after %q: %v", change, err)
			}
			filled = table(t, db, "disagrees_t", all(existing))
			expectLoaded(t, filled)
			endPart(t, filled.Loaders()[0], "a", []string{"1"}, []string{"2"})
			closeLoader(t, filled.Loaders()[0], 0)
			commit(t, filled)
			expect(t, f.read(t, "disagrees_t"), "1\n", "2\n")
		}
	}
	f.Exec(t, fmt.Sprintf("DELETE FROM %s WHERE id = 1", f.Quote("disagrees_t")))
	if _, err := db.Table(t.Context(), "disagrees_t", all(sink.Append)); !errors.Is(err, sink.ErrGone) {
		t.Errorf("rows that are added to a table that lacks some: %v", err)
	}
	expect(t, f.read(t, "disagrees_t"), "2\n")
}

// testLedgerKeeps records parts of several tables and loads: each finds its own, and rows that are removed take what is
// recorded of their table, and of no other.
func testLedgerKeeps(t *testing.T, f *Fixture) {
	f.create(t, "keeps_t", "id", "bigint")
	f.create(t, "keeps_other_t", "id", "bigint")
	db, one, two, three := f.open(t), f.ledger(t, "one"), f.ledger(t, "two"), f.ledger(t, "three")
	fill := func(name string, filling sink.Filling, parts ...string) {
		t.Helper()
		filled := table(t, db, name, filling)
		for _, part := range parts {
			endPart(t, filled.Loaders()[0], part, []string{"1"})
		}
		closeLoader(t, filled.Loaders()[0], 0)
		commit(t, filled)
	}
	loaded := func(name string, ledger *sink.Ledger, parts ...string) {
		t.Helper()
		filled := table(t, db, name, sink.Filling{Ledger: ledger, Existing: sink.Append})
		expectLoaded(t, filled, parts...)
		discard(t, filled)
	}
	fill("keeps_t", sink.Filling{Ledger: one})
	fill("keeps_t", sink.Filling{Ledger: one}, "a", "b")
	fill("keeps_other_t", sink.Filling{Ledger: one}, "c")
	fill("keeps_other_t", sink.Filling{Ledger: two, Existing: sink.Append}, "a")
	loaded("keeps_t", one, "a", "b")
	loaded("keeps_t", two)
	loaded("keeps_other_t", one, "c")
	loaded("keeps_other_t", two, "a")

	filled := table(t, db, "keeps_t", sink.Filling{Ledger: one, Existing: sink.Append})
	err := filled.Loaders()[0].Load(batch([]string{"1"}))
	if err == nil {
		err = filled.Loaders()[0].EndPart(sink.Part{Name: "a", Rows: 1})
	}
	if err == nil {
		t.Error("a part is recorded twice")
	}
	discard(t, filled)
	loaded("keeps_t", one, "a", "b")

	if f.Truncates {
		fill("keeps_other_t", sink.Filling{Ledger: three, Existing: sink.Truncate})
		loaded("keeps_other_t", one)
		loaded("keeps_other_t", two)
		loaded("keeps_t", one, "a", "b")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Plan(t.Context(), "keeps_t", sink.Filling{}); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Plan of a sink that is closed: %v", err)
	}
}
