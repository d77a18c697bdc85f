package sinktest

import (
	"errors"
	"testing"

	"culvert/sink"
)

// testMark undoes rows, also those of which the database refuses one, and goes on with others.
func testMark(t *testing.T, f *Fixture) {
	f.create(t, "mark_t", "id", "bigint NOT NULL PRIMARY KEY", "a", f.Text)
	for _, existing := range []sink.Existing{sink.Refuse, sink.Truncate} {
		if existing == sink.Truncate && !f.Truncates {
			continue
		}
		filled := table(t, f.open(t), "mark_t", sink.Filling{Existing: existing})
		m := filled.Loaders()[0].(sink.Marker)
		adds(t, m, []string{"1", "a"})
		marks(t, m)
		adds(t, m, []string{"2", "bc"}, []string{"3", null})
		marks(t, m) // in place of the other
		adds(t, m, []string{"4", "d"})
		if rows, err := m.Flush(); err != nil || rows != 4 {
			t.Errorf("Flush: %d rows, %v", rows, err)
		}
		adds(t, m, []string{"5", "e"}) // not sent yet
		undoes(t, m)
		for range 2 {
			refusesRow(t, m, []string{"4", "d"}, []string{"6", "f"}, []string{"1", "again"})
			undoes(t, m)
		}
		adds(t, m, []string{"6", "g"})
		expectSum(t, m, "1,a\n", "2,bc\n", "3,\n", "6,g\n")
		closeLoader(t, m, 4)
		commit(t, filled)
		expect(t, f.read(t, "mark_t"), "1,a\n", "2,bc\n", "3,\n", "6,g\n")
	}
}

// testMarkParts has rows of a part undone, but none of a part that has ended.
func testMarkParts(t *testing.T, f *Fixture) {
	f.create(t, "mark_parts_t", "id", "bigint NOT NULL PRIMARY KEY")
	filling := sink.Filling{Ledger: f.ledger(t, "marks"), EachPart: f.EachPart}
	filled := table(t, f.open(t), "mark_parts_t", filling)
	m := filled.Loaders()[0].(sink.Marker)
	marks(t, m)
	endPart(t, m, "first", []string{"1"})
	marks(t, m)
	refusesRow(t, m, []string{"2"}, []string{"1"})
	undoes(t, m)
	endPart(t, m, "second", []string{"3"})
	closeLoader(t, m, 0)
	commit(t, filled)
	expect(t, f.read(t, "mark_parts_t"), "1\n", "3\n")

	filled = table(t, f.open(t), "mark_parts_t", filling)
	m = filled.Loaders()[0].(sink.Marker)
	marks(t, m)
	endPart(t, m, "third", []string{"4"})
	if err := m.Undo(); err == nil {
		t.Error("a part that has ended can be undone")
	}
	discard(t, filled)
}

func marks(t *testing.T, m sink.Marker) {
	t.Helper()
	if err := m.Mark(); err != nil {
		t.Fatal("Mark:", err)
	}
}

func undoes(t *testing.T, m sink.Marker) {
	t.Helper()
	if err := m.Undo(); err != nil {
		t.Fatal("Undo:", err)
	}
}

func adds(t *testing.T, m sink.Marker, rows ...[]string) {
	t.Helper()
	if err := m.Load(batch(rows...)); err != nil {
		t.Fatal("Load:", err)
	}
}

// refusesRow adds rows of which the database refuses one.
func refusesRow(t *testing.T, m sink.Marker, rows ...[]string) {
	t.Helper()
	err := m.Load(batch(rows...))
	if err == nil {
		_, err = m.Flush()
	}
	if _, is := errors.AsType[*sink.RowError](err); !is {
		t.Fatalf("a repeated key is the error %v", err)
	}
}
