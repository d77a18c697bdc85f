package sinktest

import (
	"fmt"
	"reflect"
	"testing"

	"culvert/sink"
)

// testPlans looks up tables together, and each alone.
func testPlans(t *testing.T, f *Fixture) {
	const odd = `plans "odd"`
	f.create(t, "plans_empty", "id", "bigint NOT NULL PRIMARY KEY", "note", f.Text)
	f.create(t, "plans_filled", "id", "bigint")
	f.Exec(t, "INSERT INTO "+f.Quote("plans_filled")+" VALUES (7)")
	f.create(t, odd, "id", "bigint", `odd "column"`, f.Text)
	f.create(t, "plans_narrow", "note", f.Text)
	f.Exec(t, "CREATE VIEW plans_view AS SELECT id FROM "+f.Quote("plans_filled"))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW plans_view") })
	names := []string{"plans_empty", "plans_filled", "no_such_table", odd, "plans_view", "plans_narrow", "plans_empty"}
	db := f.open(t)
	planner, is := db.(sink.Planner)
	if !is {
		t.Fatal("the sink is no Planner")
	}
	fillings := []sink.Filling{{}, {Columns: []string{"id"}}, {Existing: sink.Append}}
	if f.Truncates {
		fillings = append(fillings, sink.Filling{Existing: sink.Truncate})
	}
	if f.Ledger {
		fillings = append(fillings, sink.Filling{Ledger: &sink.Ledger{Table: "plans_ledger", Load: "none"}})
	}
	for _, filling := range fillings {
		plans, errs := planner.Plans(t.Context(), members(filling, names...))
		for i, name := range names {
			plan, err := db.Plan(t.Context(), name, filling)
			if !reflect.DeepEqual(plans[i], plan) || fmt.Sprint(errs[i]) != fmt.Sprint(err) {
				t.Errorf("%s with others: %+v, %v; alone: %+v, %v", name, plans[i], errs[i], plan, err)
			}
		}
	}
}

// testDatabase finds that plans with a ledger name the database: each sink the same, also of a table that is made.
func testDatabase(t *testing.T, f *Fixture) {
	f.Exec(t, "CREATE TABLE "+f.Quote("database_t")+" (id bigint)")
	filling := sink.Filling{Ledger: &sink.Ledger{Table: "database_ledger", Load: "none"}}
	there, err := f.open(t).Plan(t.Context(), "database_t", filling)
	if err != nil || there.Database == "" {
		t.Errorf("the database is %q, %v", there.Database, err)
	}
	filling.Create = f.define(t, "database_t")
	f.Exec(t, "DROP TABLE "+f.Quote("database_t"))
	made, err := f.open(t).Plan(t.Context(), "database_t", filling)
	if err != nil || made.Exists || made.Database != there.Database || made.Table != there.Table {
		t.Errorf("a table that is made: %+v, %v; one that is there: %+v", made, err, there)
	}
}
