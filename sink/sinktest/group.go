package sinktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/sink"
)

// linked are the tables of a group, of which the second refers to the first, the first to itself, and the others to
// each other.
var linked = []string{"group_parent", "group_child", "group_a", "group_b"}

// createLinked makes these tables with rows.
func (f *Fixture) createLinked(t *testing.T) {
	t.Helper()
	refers := func(to, action string) string {
		return fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (id) %s", f.Quote("other"), f.Quote(to), action)
	}
	make := func(table, key string) {
		if key != "" {
			key = ", " + key
		}
		f.Exec(t, fmt.Sprintf("CREATE TABLE %s (id bigint NOT NULL PRIMARY KEY, other bigint%s)", f.Quote(table), key))
	}
	make("group_parent", refers("group_parent", ""))
	make("group_child", refers("group_parent", "ON DELETE CASCADE"))
	if f.KeysFirst {
		make("group_a", refers("group_b", ""))
	} else {
		make("group_a", "")
	}
	make("group_b", refers("group_a", ""))
	if !f.KeysFirst {
		f.Exec(t, "ALTER TABLE group_a ADD CONSTRAINT a_to_b "+refers("group_b", ""))
	}
	for _, table := range linked {
		f.Exec(t, "INSERT INTO "+table+" VALUES (1, NULL)")
	}
	for _, table := range linked {
		f.Exec(t, "UPDATE "+table+" SET other = 1")
	}
	t.Cleanup(func() {
		for _, table := range linked {
			f.Exec(t, "UPDATE "+table+" SET other = NULL")
		}
		if !f.KeysFirst {
			f.Exec(t, "ALTER TABLE group_a DROP CONSTRAINT a_to_b")
		}
		for _, table := range []string{"group_child", "group_parent", "group_b", "group_a"} {
			f.Exec(t, "DROP TABLE "+table)
		}
	})
}

// expectLinked compares the rows of these tables.
func (f *Fixture) expectLinked(t *testing.T, lines ...string) {
	t.Helper()
	for i, table := range linked {
		expect(t, f.read(t, table), slices.Collect(strings.Lines(lines[i%len(lines)]))...)
	}
}

// members are the tables of a group with the same filling.
func members(f sink.Filling, names ...string) []sink.Member {
	var tables []sink.Member
	for _, name := range names {
		tables = append(tables, sink.Member{Name: name, Filling: f})
	}
	return tables
}

// fillGroup fills a group: rows has the rows of each table. It returns the first error.
func fillGroup(t *testing.T, db sink.Sink, tables []sink.Member, rows [][][]string) (err error) {
	t.Helper()
	group, err := db.(sink.Grouper).Group(t.Context(), tables)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Discard()) }()
	for _, i := range group.Order() {
		filled, err := group.Table(i)
		if err != nil {
			return err
		}
		loader := filled.Loaders()[0]
		for _, row := range rows[i] {
			if err := loader.Load(batch(row)); err != nil {
				return err
			}
			if _, err := loader.Flush(); err != nil {
				return err
			}
		}
		if len(rows[i]) > 0 && tables[i].Filling.Ledger == nil {
			if n, _, err := loader.Sum(); err != nil || n != int64(len(rows[i])) {
				t.Errorf("%s: Sum: %d rows, %v", tables[i].Name, n, err)
			}
		}
		if tables[i].Filling.Ledger != nil && len(filled.Loaded()) == 0 {
			if err := loader.EndPart(sink.Part{Name: "all", Rows: int64(len(rows[i]))}); err != nil {
				return err
			}
		}
		if _, err := loader.Close(); err != nil {
			return err
		}
		if err := filled.Commit(); err != nil {
			return err
		}
	}
	return group.Commit()
}

// testGroup replaces the rows of tables that refer to each other, all or none.
func testGroup(t *testing.T, f *Fixture) {
	f.createLinked(t)
	db := f.open(t)
	all := members(sink.Filling{Existing: sink.Truncate}, "group_child", "group_b", "group_a", "group_parent")
	one := func(id, other string) [][]string { return [][]string{{id, other}} }
	plan, err := db.(sink.Grouper).PlanGroup(t.Context(), all)
	if err != nil || slices.Index(plan.Order, 3) > slices.Index(plan.Order, 0) ||
		len(plan.Steps) != 4 || len(plan.Steps[plan.Order[0]]) == 0 {
		t.Errorf("PlanGroup: %+v, %v", plan, err)
	}
	for _, test := range []struct {
		rows  [][][]string // of the child, b, a, and the parent
		want  string       // part of the error
		isKey bool         // a row refers to none
	}{
		{[][][]string{one("5", "4"), one("5", "4"), one("4", "5"), one("4", "4")}, "", false},
		{[][][]string{one("6", "7"), one("7", "6"), one("6", "7"), {{"6", "7"}, {"7", "6"}}}, "", false},
		{[][][]string{one("9", "4"), one("9", "9"), one("9", "9"), one("9", "9")}, "child", true},      // of no parent
		{[][][]string{one("9", "9"), one("9", "8"), one("9", "9"), one("9", "9")}, "group_b", true},    // in the circle
		{[][][]string{one("9", "9"), one("9", "9"), one("9", "9"), one("9", "8")}, "group_pare", true}, // to itself
		{[][][]string{{{"9", "9"}, {"9", "9"}}, one("9", "9"), one("9", "9"), one("9", "9")}, "child", false},
		{[][][]string{nil, nil, nil, nil}, "", false},
	} {
		if test.isKey && f.KeysUnchecked {
			test.want = ""
		}
		before := map[string][]string{}
		for _, table := range linked {
			before[table] = f.read(t, table)
		}
		err := fillGroup(t, db, all, test.rows)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Fatalf("%q: %v, want %q", test.rows, err, test.want)
		}
		if row, is := errors.AsType[*sink.RowError](err); err != nil && !is {
			t.Errorf("%q: %v is not the error of a row: %v", test.rows, err, row)
		}
		for i, one := range all {
			want := before[one.Name]
			if err == nil {
				want = nil
				for _, row := range test.rows[i] {
					want = append(want, strings.Join(row, ",")+"\n")
				}
			}
			expect(t, f.read(t, one.Name), want...)
		}
	}
	some := members(sink.Filling{}, "group_child", "group_b", "group_a", "group_parent") // which are empty now
	rows := [][][]string{one("5", "4"), one("5", "4"), one("4", "5"), one("4", "4")}
	if err := fillGroup(t, db, some, rows); err != nil {
		t.Error("tables that are empty:", err)
	}
	expect(t, f.read(t, "group_a"), "4,5\n")
}

// testGroupOutside removes rows to which a table outside the group refers: that is refused, most often before anything
// is changed.
func testGroupOutside(t *testing.T, f *Fixture) {
	f.createLinked(t)
	db := f.open(t)
	some := members(sink.Filling{Existing: sink.Truncate}, "group_parent", "group_a", "group_b")
	_, planned := db.(sink.Grouper).PlanGroup(t.Context(), some)
	filled := fillGroup(t, db, some, make([][][]string, 3))
	errs := []error{planned, filled}
	if planned == nil {
		if row, is := errors.AsType[*sink.RowError](filled); !is || !row.Dangling || row.Table != "group_child" {
			t.Errorf("rows refer to rows that were removed: %v", filled)
		}
		errs = nil
	}
	for _, err := range errs {
		refused, is := errors.AsType[*sink.ReferencedError](err)
		if !is || !strings.Contains(refused.Table, "group_parent") || strings.Contains(refused.Table, "group_a") ||
			len(refused.Keys) != 1 || len(refused.Drop) != 1 {
			t.Errorf("rows to which a table refers that stays: %v", err)
		}
	}
	f.expectLinked(t, "1,1\n")
	for _, table := range linked {
		plan, err := db.Plan(t.Context(), table, sink.Filling{Existing: sink.Truncate, Grouped: true})
		names := strings.Join(plan.Refers, ";") + " from " + strings.Join(plan.Referred, ";")
		if other := map[string]string{"group_a": "group_b", "group_b": "group_a"}[table]; err != nil || other != "" &&
			strings.Count(names, other) != 2 || table == "group_parent" && !strings.Contains(names, "group_child") {
			t.Errorf("%s is linked with %q, %v", table, names, err)
		}
		if self := slices.Contains(plan.Refers, plan.Table) && slices.Contains(plan.Referred, plan.Table); self !=
			(table == "group_parent") {
			t.Errorf("%s refers to itself: %v", table, self)
		}
		plan, err = db.Plan(t.Context(), table, sink.Filling{Existing: sink.Append, Linked: true})
		if err != nil || !f.KeysUnchecked && !slices.ContainsFunc(plan.Refers, func(name string) bool {
			return strings.Contains(name, map[string]string{"group_a": "group_b", "group_b": "group_a"}[table])
		}) {
			t.Errorf("%s refers to %q, %v", table, plan.Refers, err)
		}
	}
}

// testGroupMisuse fills groups in other ways than they can be, and fills tables alone beside and after them.
func testGroupMisuse(t *testing.T, f *Fixture) {
	f.createLinked(t)
	db := f.open(t)
	all := members(sink.Filling{Existing: sink.Truncate}, linked...)
	if _, err := db.(sink.Grouper).Group(t.Context(), append(all, all[0])); err == nil {
		t.Error("a table is in a group twice")
	}
	_, err := db.(sink.Grouper).Group(t.Context(), members(sink.Filling{}, linked...))
	if !errors.Is(err, sink.ErrNotEmpty) {
		t.Errorf("tables that must be empty: %v", err)
	}
	_, err = db.(sink.Grouper).Group(t.Context(), members(sink.Filling{}, "group_parent", "group_nobody"))
	expectUnknown(t, err, "table", "group_nobody")
	group, err := db.(sink.Grouper).Group(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Table(t.Context(), "group_a", sink.Filling{}); err == nil {
		t.Error("a table is filled beside a group")
	}
	if _, err := db.(sink.Grouper).PlanGroup(t.Context(), all); err == nil {
		t.Error("a group is planned beside another one")
	}
	filled, err := group.Table(0)
	if err != nil {
		t.Fatal(err)
	}
	load(t, filled, []string{"3", null})
	if _, err := group.Table(1); err == nil {
		t.Error("two tables of a group are filled at once")
	}
	discard(t, filled)
	if _, err := group.Table(1); err == nil || group.Commit() == nil {
		t.Error("a group is filled after one of its tables was discarded")
	}
	if err := group.Discard(); err != nil {
		t.Error(err)
	}
	f.expectLinked(t, "1,1\n")
	appending := table(t, db, "group_parent", sink.Filling{Existing: sink.Append})
	load(t, appending, []string{"2", null})
	commit(t, appending)
	expect(t, f.read(t, "group_parent"), "1,1\n", "2,\n")
	f.Exec(t, "DELETE FROM group_parent WHERE id = 2")

	other := f.Open(t) // by closing the sink
	if group, err = other.(sink.Grouper).Group(t.Context(), all); err == nil {
		_, err = group.Table(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	f.expectLinked(t, "1,1\n")
}

// testGroupLedger records the rows of a group, and begins anew if those of one table are not there.
func testGroupLedger(t *testing.T, f *Fixture) {
	f.createLinked(t)
	ledger := f.ledger(t, "one")
	db := f.open(t)
	all := members(sink.Filling{Existing: sink.Truncate, Ledger: ledger}, linked...)
	rows := [][][]string{{{"2", "2"}}, {{"2", "2"}}, {{"2", "2"}}, {{"2", "2"}}}
	if err := fillGroup(t, db, all, rows); err != nil {
		t.Fatal(err)
	}
	f.expectLinked(t, "2,2\n")
	if err := fillGroup(t, db, all, make([][][]string, 4)); err != nil { // all are loaded
		t.Fatal(err)
	}
	f.expectLinked(t, "2,2\n")
	f.Exec(t, "INSERT INTO group_child VALUES (3, 2)")
	if err := fillGroup(t, db, all, rows); err != nil {
		t.Fatal(err)
	}
	f.expectLinked(t, "2,2\n")
	f.Exec(t, "DELETE FROM group_child")
	if err := fillGroup(t, db, all, rows); err != nil {
		t.Fatal(err)
	}
	f.expectLinked(t, "2,2\n")
}

// testGroupSwap has new tables take the places of those that refer to each other. Their keys hold then, and that of a
// table outside the group, unless that is refused.
func testGroupSwap(t *testing.T, f *Fixture) {
	f.createLinked(t)
	db := f.open(t)
	swap := sink.Filling{Existing: sink.Swap}
	all := members(swap, linked...)
	one := func(id, other string) [][]string { return [][]string{{id, other}} }
	if plan, err := db.(sink.Grouper).PlanGroup(t.Context(), all); err != nil || len(plan.Steps) != 4 {
		t.Errorf("PlanGroup: %+v, %v", plan, err)
	}
	good := [][][]string{one("2", "2"), one("2", "2"), one("2", "2"), one("2", "2")}
	for range 2 { // also a table that has taken the place of another one
		if err := fillGroup(t, db, all, good); err != nil {
			t.Fatal(err)
		}
		f.expectLinked(t, "2,2\n")
	}
	for i, table := range linked {
		bad := slices.Clone(good)
		bad[i] = one("2", "3")
		err := fillGroup(t, db, all, bad)
		if f.KeysUnchecked {
			if err != nil {
				t.Errorf("a row of %s refers to none: %v", table, err)
			}
			if err := fillGroup(t, db, all, good); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if row, is := errors.AsType[*sink.RowError](err); !is || !row.Dangling || !strings.Contains(row.Table, table) {
			t.Errorf("a row of %s refers to none: %v", table, err)
		}
		f.expectLinked(t, "2,2\n")
	}

	// Only those to which the child refers.
	err := fillGroup(t, db, members(swap, "group_parent"), [][][]string{{{"1", "1"}, {"2", "2"}}})
	if _, refused := errors.AsType[*sink.ReferencedError](err); !refused && err != nil {
		t.Fatal(err)
	} else if refused {
		f.expectLinked(t, "2,2\n")
		return
	}
	expect(t, f.read(t, "group_parent"), "1,1\n", "2,2\n")
	err = fillGroup(t, db, members(swap, "group_parent"), [][][]string{one("1", "1")})
	if row, is := errors.AsType[*sink.RowError](err); !is || !row.Dangling || !strings.Contains(row.Table, "child") {
		t.Errorf("a row of another table refers to one that is gone: %v", err)
	}
	expect(t, f.read(t, "group_parent"), "1,1\n", "2,2\n")
	f.expectKey(t, db)
}

// expectKey expects that the key of the child is there, if the database enforces it.
func (f *Fixture) expectKey(t *testing.T, db sink.Sink) {
	t.Helper()
	if f.KeysUnchecked {
		return
	}
	err := fillGroup(t, db, members(sink.Filling{Existing: sink.Truncate}, "group_child"), [][][]string{{{"1", "9"}}})
	if row, is := errors.AsType[*sink.RowError](err); !is || !row.Dangling {
		t.Errorf("the key of a table outside the group: %v", err)
	}
}
