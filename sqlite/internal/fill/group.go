package fill

import (
	"context"
	"fmt"
	"slices"

	"culvert/sink"
)

var _ sink.Grouper = (*DB)(nil)

// group are tables that are filled in one transaction.
type group struct {
	sink.GroupState
	db     *DB
	ctx    context.Context
	tables []*table
	order  []int
}

// PlanGroup says what Group would do.
func (db *DB) PlanGroup(ctx context.Context, tables []sink.Member) (_ sink.GroupPlan, err error) {
	defer db.catch(&err)
	g, err := db.planGroup(ctx, tables)
	if err == nil {
		err = g.look()
	}
	if err != nil {
		return sink.GroupPlan{}, err
	}
	return sink.GroupPlan{Order: g.order, Steps: g.steps()}, nil
}

// Group begins to fill tables in one transaction, and takes the lock of the database for writing.
func (db *DB) Group(ctx context.Context, tables []sink.Member) (_ sink.Group, err error) {
	defer db.catch(&err)
	g, err := db.planGroup(ctx, tables)
	if err != nil {
		return nil, err
	}
	if err := db.exec(ctx, beginSQL); err != nil {
		return nil, err
	}
	if err := g.Begin(ctx, &db.filler, g, len(g.tables), g.begin); err != nil {
		return nil, err
	}
	return g, nil
}

// planGroup resolves the names.
func (db *DB) planGroup(ctx context.Context, tables []sink.Member) (*group, error) {
	tables, err := sink.CheckGroup(tables)
	if err != nil {
		return nil, err
	}
	g := &group{db: db, ctx: ctx}
	for _, one := range tables {
		t, err := db.plan(ctx, one.Name, one.Filling)
		if err != nil {
			return nil, err
		}
		if g.place(t.name) >= 0 {
			return nil, fmt.Errorf("sqlite: %s: table %q is twice in a group", db.path, t.name)
		}
		g.tables = append(g.tables, t)
	}
	return g, nil
}

// place returns the place of a table in the group, or -1.
func (g *group) place(name string) int {
	return slices.IndexFunc(g.tables, func(t *table) bool { return t.name == name })
}

// look decides what becomes of the rows that the tables have, and in which order they are filled.
func (g *group) look() error {
	isCleared := false
	for _, t := range g.tables {
		if err := t.decide(); err != nil {
			return err
		}
		isCleared = isCleared || t.clear && t.filling.Create == nil
	}
	var links []sink.Key
	for i, t := range g.tables {
		if isCleared {
			t.clear, t.loaded = true, nil
		}
		t.prepare()
		refers, _, err := t.links()
		if err != nil {
			return err
		}
		for _, name := range refers {
			if to := g.place(name); to >= 0 {
				links = append(links, sink.Key{From: i, To: to})
			}
		}
	}
	g.order, _ = sink.OrderByKeys(len(g.tables), links) // SQLite would take any
	return nil
}

// steps are the statements that change the database.
func (g *group) steps() [][]string {
	steps := make([][]string, len(g.tables))
	first, last := g.order[0], g.order[len(g.order)-1]
	steps[first] = []string{beginSQL}
	for _, i := range g.order {
		steps[first] = append(steps[first], g.tables[i].before...)
	}
	for i, t := range g.tables {
		steps[i] = append(append(steps[i], t.insert), t.after()...)
	}
	steps[last] = append(steps[last], commitSQL)
	return steps
}

// begin does in the transaction what precedes the rows.
func (g *group) begin() error {
	if err := g.look(); err != nil {
		return err
	}
	if err := g.tables[0].forgetLost(); err != nil {
		return err
	}
	for _, t := range g.tables {
		if err := t.noteLost(func(other string) bool { return g.place(other) < 0 }); err != nil {
			return err
		}
	}
	for _, i := range g.order {
		if err := g.tables[i].runAll(g.tables[i].before); err != nil {
			return err
		}
	}
	return nil
}

// Order returns the order of the tables.
func (g *group) Order() []int { return g.order }

// Fill begins to fill a table.
func (g *group) Fill(i int, filler *sink.Filler) (_ sink.Table, err error) {
	defer g.db.catch(&err)
	t := g.tables[i]
	if err := t.Begin(g.ctx, filler, t, t.filling, t.beginRows); err != nil {
		return nil, err
	}
	return t, nil
}

// CommitTables checks that no table outside the group loses what it refers to, and commits the transaction.
func (g *group) CommitTables() (err error) {
	defer g.db.catch(&err)
	if err := g.tables[0].ended(); err != nil {
		return err
	}
	for _, t := range g.tables {
		if err := t.checkLost(); err != nil {
			return err
		}
	}
	return g.db.exec(g.ctx, commitSQL)
}

// End undoes the transaction.
func (g *group) End() (err error) {
	defer g.db.catch(&err)
	return g.db.rollback()
}
