package sinktest

import (
	"errors"
	"testing"

	"culvert/sink"
)

// testTriggersOff fills a table whose trigger leaves a row out, alone and in a group, without the trigger. It is there
// again afterwards.
func testTriggersOff(t *testing.T, f *Fixture) {
	f.create(t, "triggers_t", "id", "bigint")
	f.Exec(t, f.Loses(f.Quote("triggers_t")))
	db := f.open(t)
	off := sink.Filling{Existing: sink.Truncate, TriggersOff: true}
	_, planned := db.Plan(t.Context(), "triggers_t", off)
	filled, err := db.Table(t.Context(), "triggers_t", off)
	if errors.Is(err, errors.ErrUnsupported) && errors.Is(planned, errors.ErrUnsupported) {
		return
	}
	if err != nil || planned != nil {
		t.Fatal(err, planned)
	}
	load(t, filled, []string{"13"})
	commit(t, filled)
	expect(t, f.read(t, "triggers_t"), "13\n")
	if f.Groups {
		rows := [][][]string{{{"12"}, {"13"}}}
		if err := fillGroup(t, db, members(off, "triggers_t"), rows); err != nil {
			t.Fatal(err)
		}
		expect(t, f.read(t, "triggers_t"), "12\n", "13\n")
		for _, existing := range []sink.Existing{sink.Refuse, sink.Append} { // which remove no rows
			f.Exec(t, "DELETE FROM "+f.Quote("triggers_t"))
			off.Existing = existing
			if err := fillGroup(t, db, members(off, "triggers_t"), rows); err != nil {
				t.Fatal(err)
			}
			expect(t, f.read(t, "triggers_t"), "12\n", "13\n")
		}
	}
	f.Exec(t, "DELETE FROM "+f.Quote("triggers_t"))
	f.Exec(t, "INSERT INTO "+f.Quote("triggers_t")+" VALUES (12), (13)")
	expect(t, f.read(t, "triggers_t"), "12\n")
}
