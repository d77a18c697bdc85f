package sinktest

import (
	"context"
	"errors"
	"testing"

	"culvert/sink"
)

func testMisuse(t *testing.T, f *Fixture) {
	f.create(t, "misuse_t", "id", "bigint")
	db := f.open(t)
	var filling sink.Filling
	if f.Truncates {
		filling.Existing = sink.Truncate // whose transaction must go on
	}
	filled := table(t, db, "misuse_t", filling)
	if _, err := db.Table(t.Context(), "misuse_t", sink.Filling{}); err == nil {
		t.Error("a second table is open")
	}
	if err := filled.Commit(); err == nil {
		t.Error("a table whose loader is not closed is committed")
	}
	load(t, filled, []string{"1"})
	if err := filled.Loaders()[0].Load(batch([]string{"2"})); err == nil {
		t.Error("a loader that is closed takes rows")
	}
	commit(t, filled)
	if err := filled.Commit(); err == nil {
		t.Error("a table is committed twice")
	}
	if err := filled.Loaders()[0].Load(batch([]string{"3"})); err == nil {
		t.Error("a loader takes rows after Commit")
	}
	expect(t, f.read(t, "misuse_t"), "1\n")
}

// testLoaderMisuse uses loaders as nobody should: each call is refused, and so are all after it.
func testLoaderMisuse(t *testing.T, f *Fixture) {
	f.create(t, "loader_t", "id", "bigint", "a", f.Text)
	db := f.open(t)
	filled := table(t, db, "loader_t", sink.Filling{})
	loader := filled.Loaders()[0]
	for _, row := range [][]string{{"1"}, {"1", "a", "more"}} {
		if err := loader.Load(batch(row)); err == nil {
			t.Errorf("a row of %d values is taken", len(row))
		}
	}
	err := loader.Load(batch([]string{"1", "a"}))
	if err == nil {
		t.Fatal("a loader that has failed takes rows")
	}
	for what, call := range map[string]func() error{
		"Flush":   func() error { _, err := loader.Flush(); return err },
		"Sum":     func() error { _, _, err := loader.Sum(); return err },
		"EndPart": func() error { return loader.EndPart(sink.Part{Name: "a"}) },
		"Close":   func() error { _, err := loader.Close(); return err },
	} {
		if again := call(); again != err {
			t.Errorf("%s after an error: %v, want %v", what, again, err)
		}
	}
	if again := filled.Commit(); !errors.Is(again, err) {
		t.Errorf("Commit after an error of a loader: %v, want %v", again, err)
	}
	discard(t, filled)

	filled = table(t, db, "loader_t", sink.Filling{})
	load(t, filled, []string{"1", "a"})
	loader = filled.Loaders()[0]
	if _, err := loader.Close(); err == nil {
		t.Error("a loader is closed twice")
	}
	if _, err := loader.Flush(); err == nil {
		t.Error("a loader is flushed after Close")
	}
	commit(t, filled)
	expect(t, f.read(t, "loader_t"), "1,a\n")
}

// testContradictions asks for what makes no sense. Every sink refuses the same, by [sink.Filling.Check].
func testContradictions(t *testing.T, f *Fixture) {
	f.create(t, "contradictions_t", "id", "bigint NOT NULL PRIMARY KEY")
	f.Exec(t, "INSERT INTO "+f.Quote("contradictions_t")+" VALUES (1)")
	made := f.define(t, "contradictions_t")
	made.Name = "contradictions_new_t"
	ledger := &sink.Ledger{Table: "contradictions_ledger", Load: "x"}
	key := []string{"id"}
	db := f.open(t)
	for what, filling := range map[string]sink.Filling{
		"existing rows":         {Existing: sink.Swap + 1},
		"conflicts":             {Existing: sink.Append, Conflict: sink.Update + 1},
		"loaders":               {Existing: sink.Append, Loaders: -1},
		"a timeout":             {Existing: sink.Append, LockTimeout: -1},
		"a swap of rows":        {Existing: sink.Swap, Conflict: sink.Ignore},
		"an update after all":   {Existing: sink.Swap, Conflict: sink.Update, Key: key},
		"a new table's rows":    {Create: made, Existing: sink.Append},
		"a new table cleared":   {Create: made, Existing: sink.Truncate},
		"a new table in parts":  {Create: made, EachPart: true, Ledger: ledger},
		"a new table's keys":    {Create: made, Conflict: sink.Ignore},
		"parts without ledger":  {Existing: sink.Append, EachPart: true},
		"a ledger, no name":     {Existing: sink.Append, Ledger: &sink.Ledger{Load: "x"}},
		"a ledger, no load":     {Existing: sink.Append, Ledger: &sink.Ledger{Table: ledger.Table}},
		"an update without key": {Existing: sink.Append, Conflict: sink.Update},
		"a key for nothing":     {Existing: sink.Append, Key: key},
		"a key to ignore":       {Existing: sink.Append, Conflict: sink.Ignore, Key: key},
		"a type too many":       {Existing: sink.Append, Columns: key, Types: []string{"bigint", "text"}},
	} {
		want := filling.Check()
		if want == nil {
			t.Errorf("%s: no contradiction", what)
			continue
		}
		name := "contradictions_t"
		if filling.Create != nil {
			name = made.Name
		}
		if _, err := db.Plan(t.Context(), name, filling); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: Plan has the error %v, want %v", what, err, want)
		}
		filled, err := db.Table(t.Context(), name, filling)
		if err == nil || err.Error() != want.Error() {
			t.Errorf("%s: Table has the error %v, want %v", what, err, want)
		}
		if err == nil {
			discard(t, filled)
		}
	}
	expect(t, f.read(t, "contradictions_t"), "1\n")
}

func testCanceled(t *testing.T, f *Fixture) {
	f.create(t, "canceled_t", "id", "bigint")
	db := f.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	filled, err := db.Table(ctx, "canceled_t", sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	loader := filled.Loaders()[0]
	if err := loader.Load(batch([]string{"1"})); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := loader.Close(); err == nil {
		err = filled.Commit()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Commit after the end of the context: %v", err)
		}
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Close after the end of the context: %v", err)
	}
	discard(t, filled)
	expect(t, f.read(t, "canceled_t"))
}
