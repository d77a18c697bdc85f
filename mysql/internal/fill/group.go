package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"culvert/mysql/internal/catalog"
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
	locked int // so many tables are locked

	unchecked []bool         // the tables whose rows the server does not check
	keys      []foreignKeyOf // that the sink checks itself in their place
	isOff     bool           // the checks of the server are off
}

// PlanGroup says what Group would do.
func (db *DB) PlanGroup(ctx context.Context, tables []sink.Member) (sink.GroupPlan, error) {
	g, err := db.planGroup(ctx, tables)
	if err == nil {
		err = g.look()
	}
	if err != nil {
		return sink.GroupPlan{}, err
	}
	return sink.GroupPlan{Order: g.order, Steps: g.steps()}, nil
}

// Group begins to fill tables in one transaction.
func (db *DB) Group(ctx context.Context, tables []sink.Member) (sink.Group, error) {
	g, err := db.planGroup(ctx, tables)
	if err != nil {
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
		if one.Filling.Create != nil {
			return nil, fmt.Errorf("mysql: a group of tables that are made: %w", errors.ErrUnsupported)
		}
		p, err := db.plan(ctx, one.Name, one.Filling)
		if err != nil {
			return nil, err
		}
		if g.has(p.target) {
			return nil, fmt.Errorf("mysql: %s is twice in a group", p.target)
		}
		g.tables = append(g.tables, &table{plan: p, db: db, ctx: ctx})
	}
	return g, nil
}

// place returns the place of a table in the group, or -1.
func (g *group) place(t catalog.Table) int {
	return slices.IndexFunc(g.tables, func(one *table) bool { return g.db.isSame(one.target, t) })
}

func (g *group) has(t catalog.Table) bool { return g.place(t) >= 0 }

// look decides what becomes of the rows that the tables have, if they are to be replaced, and finds their keys.
func (g *group) look() error {
	isCleared := false
	for _, t := range g.tables {
		if err := g.db.readLedger(g.ctx, t.plan); err != nil {
			return err
		}
		if err := g.db.decide(g.ctx, t.plan, ""); err != nil {
			return err
		}
		isCleared = isCleared || t.clear
	}
	var keys, others []foreignKeyOf
	var links []sink.Key
	for i, t := range g.tables {
		if isCleared {
			t.clear, t.loaded = true, nil
		}
		own, err := g.db.foreignKeys(g.ctx, t.target)
		if err != nil {
			return g.db.failed(g.ctx, t.target.String(), err)
		}
		for _, key := range own {
			if keys = append(keys, key); g.has(key.to) {
				links = append(links, sink.Key{From: i, To: g.place(key.to)})
			}
		}
		outside, err := g.outside(t, isCleared)
		if err != nil {
			return err
		}
		others = append(others, outside...)
	}
	order, isCircular := sink.OrderByKeys(len(g.tables), links)
	g.order = order
	var circular []sink.Key
	for i, key := range links {
		if isCircular[i] {
			circular = append(circular, key)
		}
	}
	return g.uncheck(append(keys, others...), circular)
}

// outside returns the keys of other tables that refer to one of the group. It is an error if they keep its rows from
// being deleted.
func (g *group) outside(t *table, isCleared bool) (keys []foreignKeyOf, err error) {
	if !isCleared {
		return nil, nil
	}
	if err := g.db.checkReferences(g.ctx, t.target, g.has); err != nil {
		return nil, err
	}
	others, err := g.db.referencesTo(g.ctx, t.target)
	for _, other := range others {
		if err != nil || g.has(other.from) {
			continue
		}
		var some []foreignKeyOf
		some, err = g.db.foreignKeys(g.ctx, other.from)
		for _, key := range some {
			if key.name == other.name {
				keys = append(keys, key)
			}
		}
	}
	return keys, g.db.failed(g.ctx, t.target.String(), err)
}

// uncheck has the sink check the keys of tables itself, if no order of the tables suits them. Statements of triggers
// may need the checks of the server, which suit a table that refers to itself only if the order of its rows does.
func (g *group) uncheck(keys []foreignKeyOf, circular []sink.Key) error {
	g.unchecked, g.keys = make([]bool, len(g.tables)), nil
	for i, t := range g.tables {
		isOf := func(key sink.Key) bool { return key.From == i || key.To == i }
		if !slices.ContainsFunc(circular, isOf) {
			continue
		}
		triggers, err := g.db.hasTriggers(g.ctx, t.target)
		if err != nil {
			return err
		}
		toOther := func(key sink.Key) bool { return isOf(key) && key.From != key.To }
		if triggers && slices.ContainsFunc(circular, toOther) {
			return fmt.Errorf("mysql: %s has triggers, so the server must check foreign keys row by row, "+
				"which tables that refer to each other in a circle do not pass: drop the triggers for the load",
				t.target)
		}
		g.unchecked[i] = !triggers
	}
	isUnchecked := func(t catalog.Table) bool { return g.has(t) && g.unchecked[g.place(t)] }
	for _, key := range keys {
		if isUnchecked(key.table) || !g.has(key.table) && isUnchecked(key.to) {
			g.keys = append(g.keys, key)
		}
	}
	return nil
}

// checksFor returns the statement before those for rows of a table, or "", if the checks are off or not.
func (g *group) checksFor(i int, isOff bool) string {
	switch {
	case g.unchecked[i] == isOff:
		return ""
	case isOff:
		return checkedSQL
	}
	return uncheckedSQL
}

// setChecks has the server check rows of a table, or not.
func (g *group) setChecks(i int) error {
	sql := g.checksFor(i, g.isOff)
	if sql == "" {
		return nil
	}
	g.isOff = !g.isOff
	return g.db.failed(g.ctx, "preparing the session", g.db.conn.Exec(g.ctx, sql))
}

// steps are the statements that change the database.
func (g *group) steps() [][]string {
	steps := make([][]string, len(g.tables))
	first, last := g.order[0], g.order[len(g.order)-1]
	if ledger := g.tables[0].Ledger; ledger != nil {
		steps[first] = append(steps[first], ledgerSQL(ledger)...)
	}
	steps[first] = append(steps[first], beginSQL)
	isOff := false
	add := func(to, i int, statements ...string) {
		if sql := g.checksFor(i, isOff); sql != "" {
			steps[to], isOff = append(steps[to], sql), !isOff
		}
		steps[to] = append(steps[to], statements...)
	}
	for _, i := range slices.Backward(g.order) {
		if t := g.tables[i]; t.clear {
			add(first, i, t.clearSQL())
		}
	}
	for _, i := range g.order {
		add(i, i, g.db.addSteps(g.tables[i].plan)...)
	}
	for _, key := range g.keys {
		steps[last] = append(steps[last], key.brokenSQL(key.table.SQL()))
	}
	steps[last] = append(steps[last], commitSQL)
	return steps
}

// begin locks the tables against other loads, begins the transaction, and removes rows.
func (g *group) begin() error {
	for _, t := range g.tables {
		if err := t.lock(); err != nil {
			return err
		}
		g.locked++
	}
	if ledger := g.tables[0].Ledger; ledger != nil {
		if err := g.db.makeLedger(g.ctx, ledger); err != nil {
			return err
		}
	}
	if err := g.look(); err != nil {
		return err
	}
	if err := g.db.conn.Exec(g.ctx, beginSQL); err != nil {
		return g.db.failed(g.ctx, "beginning to fill tables", err)
	}
	for _, i := range slices.Backward(g.order) {
		t := g.tables[i]
		if t.clear {
			if err := g.setChecks(i); err != nil {
				return err
			}
		}
		if err := t.beginGrouped(); err != nil {
			return err
		}
	}
	return nil
}

// beginGrouped does with the rows of a table of a group what its filling says.
func (t *table) beginGrouped() error {
	if t.clear {
		if err := t.db.conn.Exec(t.ctx, t.clearSQL()); err != nil {
			return t.db.failed(t.ctx, "deleting the rows of "+t.target.String(), err)
		}
		t.empty = true
		return t.db.forget(t.ctx, t.plan)
	}
	if t.Existing <= sink.Append {
		lock := ""
		if t.Existing == sink.Refuse && len(t.loaded) == 0 {
			lock = " LOCK IN SHARE MODE"
		}
		if err := t.db.decide(t.ctx, t.plan, lock); err != nil {
			return err
		}
	}
	t.empty = t.rows == 0
	return nil
}

// Order returns the order in which keys find their rows.
func (g *group) Order() []int { return g.order }

// Fill begins to fill a table.
func (g *group) Fill(i int, filler *sink.Filler) (sink.Table, error) {
	t := g.tables[i]
	err := t.Begin(g.ctx, filler, t, t.Filling, func() error {
		if err := g.setChecks(i); err != nil {
			return err
		}
		return t.beginRows()
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// CommitTables checks the keys, and commits the transaction.
func (g *group) CommitTables() error {
	for _, key := range g.keys {
		if err := g.tables[0].checkKey(key, key.table.SQL()); err != nil {
			return err
		}
	}
	for _, t := range g.tables {
		if err := t.setSequences(); err != nil {
			return err
		}
	}
	for _, t := range g.tables {
		if t.last != "" { // the ledger tells what becomes of the commit
			return t.confirm()
		}
	}
	return g.tables[0].confirm()
}

// End rolls back what is not committed, and frees the locks.
func (g *group) End() error {
	first := g.tables[0]
	first.quietly(func() error { return g.db.conn.SetDeadline(time.Now().Add(undoTimeout)) })
	first.quietly(func() error { return g.db.conn.Exec(context.Background(), "ROLLBACK") })
	if g.isOff {
		first.quietly(func() error { return g.db.conn.Exec(context.Background(), checkedSQL) })
	}
	for _, t := range g.tables[:g.locked] {
		t.unlock()
	}
	first.quietly(func() error { return g.db.conn.SetDeadline(time.Time{}) })
	return nil
}
