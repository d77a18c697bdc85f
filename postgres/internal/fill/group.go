package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

var _ sink.Grouper = (*DB)(nil)

// group are tables that are filled in one transaction, over one connection.
type group struct {
	sink.GroupState
	db    *DB
	ctx   context.Context // of the caller
	plans []*plan
	keys  groupKeys

	records []record     // of the ledger, which gets them at the end
	outside []outsideKey // of other tables, if new tables take the places of those of the group
}

// PlanGroup says what Group would do.
func (db *DB) PlanGroup(ctx context.Context, tables []sink.Member) (sink.GroupPlan, error) {
	if err := db.filler.Idle(); err != nil {
		return sink.GroupPlan{}, err
	}
	defer func() { db.session.rollback() }() // of the session that there is then
	g, err := db.lookAtGroup(ctx, tables)
	if err != nil {
		return sink.GroupPlan{}, err
	}
	if g.swapsTables() {
		if err := g.lookAtSwap(); err != nil {
			return sink.GroupPlan{}, err
		}
		return sink.GroupPlan{Order: g.keys.order, Steps: g.swapSteps()}, nil
	}
	if err := g.look(); err != nil {
		return sink.GroupPlan{}, err
	}
	if err := g.agree(); err != nil {
		return sink.GroupPlan{}, err
	}
	return sink.GroupPlan{Order: g.keys.order, Steps: g.steps()}, nil
}

// steps are the statements that change the database.
func (g *group) steps() [][]string {
	steps := make([][]string, len(g.plans))
	first, last := g.keys.order[0], g.keys.order[len(g.plans)-1]
	if ledger := g.plans[0].Ledger; ledger != nil {
		steps[first] = append(steps[first], ledgerSQL(ledger))
	}
	for _, sql := range []string{g.lockSQL(), g.truncateSQL()} {
		if sql != "" {
			steps[first] = append(steps[first], sql)
		}
	}
	steps[first] = append(steps[first], g.keys.deferSQL()...)
	for i, p := range g.plans {
		steps[i] = append(steps[i], p.steps()...)
	}
	steps[last] = append(steps[last], g.keys.restoreSQL()...)
	steps[last] = append(steps[last], "COMMIT")
	return steps
}

// Group begins to fill tables in one transaction.
func (db *DB) Group(ctx context.Context, tables []sink.Member) (sink.Group, error) {
	if err := db.filler.Idle(); err != nil { // whose transaction goes on
		return nil, err
	}
	g, err := db.lookAtGroup(ctx, tables)
	if err == nil {
		err = g.reserve()
	}
	if err != nil {
		db.session.rollback()
		return nil, err
	}
	if err := g.Begin(ctx, &db.filler, g, len(g.plans), g.begin); err != nil {
		return nil, err
	}
	return g, nil
}

// lookAtGroup finds the tables, and decides how they are filled. They are not yet locked.
func (db *DB) lookAtGroup(ctx context.Context, tables []sink.Member) (*group, error) {
	g := &group{db: db, ctx: ctx}
	tables, err := sink.CheckGroup(tables)
	if err != nil {
		return nil, err
	}
	if err := db.begin(ctx, tables[0].Filling); err != nil {
		return nil, err
	}
	if err := db.session.gather(ctx, memberNames(tables), nil); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, one := range tables {
		p, err := db.session.lookAt(ctx, one.Name, one.Filling)
		if err != nil {
			return nil, err
		}
		if names[p.target.sql] {
			return nil, fmt.Errorf("postgres: table %s is twice in a group", p.target.sql)
		}
		names[p.target.sql] = true
		g.plans = append(g.plans, p)
	}
	return g, nil
}

// reserve makes what the tables need in transactions of their own, and keeps other loads out.
func (g *group) reserve() error {
	if g.plans[0].Ledger != nil {
		if err := g.db.makeLedger(g.ctx, g.plans[0].Filling); err != nil {
			return err
		}
	}
	for _, p := range g.plans {
		if p.Create != nil {
			if err := g.db.makeSchema(g.ctx, p.Filling); err != nil {
				return err
			}
		}
	}
	return g.db.session.reserve(g.ctx, targetsOf(g.plans)...)
}

// existing are the tables that are not to be made, by their number in the server, in which order all groups lock them.
func (g *group) existing() []*plan {
	existing := slices.DeleteFunc(slices.Clone(g.plans), func(p *plan) bool { return p.Create != nil })
	slices.SortFunc(existing, func(a, b *plan) int { return compareNumbers(a.target.oid, b.target.oid) })
	return existing
}

// compareNumbers compares two numbers without leading zeros.
func compareNumbers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func memberNames(tables []sink.Member) []string {
	names := make([]string, len(tables))
	for i, one := range tables {
		names[i] = one.Name
	}
	return names
}

func targetsOf(plans []*plan) []*target {
	targets := make([]*target, len(plans))
	for i, p := range plans {
		targets[i] = p.target
	}
	return targets
}

// namesOf returns the tables for a statement.
func namesOf(plans []*plan, name func(t *target) string) string {
	names := make([]string, len(plans))
	for i, p := range plans {
		names[i] = name(p.target)
	}
	return strings.Join(names, ", ")
}

func (g *group) lockSQL() string {
	if g.swapsTables() {
		return "LOCK TABLE " + sqlOf(g.olds()) + " IN " + g.plans[0].lockMode() + " MODE"
	}
	existing := g.existing()
	if len(existing) == 0 {
		return ""
	}
	return "LOCK TABLE " + namesOf(existing, func(t *target) string { return t.sql }) + " IN " +
		existing[0].lockMode() + " MODE"
}

// truncateSQL empties the tables whose rows are removed, in one statement, since they may refer to each other. It is ""
// if there are none.
func (g *group) truncateSQL() string {
	cleared := slices.DeleteFunc(g.existing(), func(p *plan) bool { return !p.truncates() })
	if len(cleared) == 0 {
		return ""
	}
	return "TRUNCATE TABLE " + namesOf(cleared, (*target).only)
}

// begin locks the tables and makes them ready for their rows.
func (g *group) begin() error {
	if g.swapsTables() {
		return g.beginSwap()
	}
	s := g.db.session
	if sql := g.lockSQL(); sql != "" {
		if err := s.exec(g.ctx, sql); err != nil {
			return s.failed(g.ctx, "locking tables", err)
		}
	}
	if err := g.look(); err != nil {
		return err
	}
	if err := g.agree(); err != nil {
		return err
	}
	if err := g.switchOff(); err != nil {
		return err
	}
	if g.plans[0].truncates() {
		if err := g.truncate(); err != nil {
			return err
		}
	}
	return g.runAll(g.keys.deferSQL())
}

// switchOff disables the triggers of the tables that are there, if they are to be off.
func (g *group) switchOff() error {
	s := g.db.session
	for _, p := range g.existing() {
		if err := s.findTriggers(g.ctx, p); err != nil {
			return err
		}
		if err := s.switchTriggers(g.ctx, p.target, p.disable); err != nil {
			return err
		}
	}
	return nil
}

// truncate removes the rows of all tables, and what the ledger has of them. To truncate a table that has none takes as
// long as to make it.
func (g *group) truncate() error {
	s := g.db.session
	for _, p := range g.plans {
		p.clear = !s.facts.knowsEmpty(p.target)
	}
	if sql := g.truncateSQL(); sql != "" {
		if err := s.exec(g.ctx, sql); err != nil {
			return s.failed(g.ctx, "truncating tables", err)
		}
	}
	return s.forget(g.ctx, g.plans[0].Ledger, targetsOf(g.plans)...)
}

// look reads the columns of the tables that exist, and decides what becomes of their rows.
func (g *group) look() error {
	s, existing := g.db.session, g.existing()
	if len(existing) == 0 {
		return nil
	}
	if err := s.gatherOf(g.ctx, targetsOf(existing), g.plans[0].Ledger); err != nil {
		return err
	}
	for _, p := range existing {
		if err := s.check(g.ctx, p.target); err != nil {
			return err
		}
		if err := p.choose(); err != nil {
			return err
		}
		if err := s.look(g.ctx, p, p.target); err != nil {
			return err
		}
	}
	return nil
}

// agree has the rows of all tables be removed, if those of any are, and finds the keys of the tables. It is an error if
// other tables refer to rows that are removed.
func (g *group) agree() error {
	if slices.ContainsFunc(g.plans, (*plan).truncates) {
		for _, p := range g.plans {
			p.clear, p.loaded = true, nil
		}
		if err := g.db.session.references(g.ctx, targetsOf(g.plans)...); err != nil {
			return err
		}
	}
	return g.lookForKeys()
}

// Order returns the order in which keys find their rows.
func (g *group) Order() []int { return g.keys.order }

// Fill begins to fill a table.
func (g *group) Fill(i int, filler *sink.Filler) (sink.Table, error) {
	p := g.plans[i]
	t := &table{plan: p, db: g.db, ctx: g.ctx, group: g, printed: csvForm}
	err := t.Begin(g.ctx, filler, t, p.Filling, func() error {
		t.addLoader(g.db.session)
		if p.Create != nil {
			if err := t.create(g.db.session); err != nil {
				return err
			}
		} else {
			t.whole = p.swap != nil || len(p.loaded) == 0 && p.Existing != sink.Append
		}
		return t.setForms()
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// CommitTables has the server check what is deferred, and commits.
func (g *group) CommitTables() error {
	s := g.db.session
	if err := g.runAll(append([]string{"SET CONSTRAINTS ALL IMMEDIATE"}, g.keys.restoreSQL()...)); err != nil {
		return err
	}
	if g.swapsTables() {
		if err := g.commitSwap(); err != nil {
			return err
		}
	}
	for _, p := range g.plans {
		if err := s.switchTriggers(g.ctx, p.target, p.enable); err != nil {
			return err
		}
		if err := s.setSequences(g.ctx, p); err != nil {
			return err
		}
	}
	if len(g.records) > 0 {
		if err := s.record(g.ctx, g.plans[0].Ledger, g.records...); err != nil {
			return err
		}
		for _, p := range g.plans {
			if p.swap != nil {
				if err := s.moveLedger(g.ctx, p); err != nil {
					return err
				}
			}
		}
	}
	if err := s.writes(g.ctx); err != nil {
		return err
	}
	return s.commit(g.ctx, g.db.config)
}

// End rolls back what is not committed.
func (g *group) End() error {
	g.db.session.rollback()
	return nil
}

func (g *group) runAll(statements []string) error {
	s := g.db.session
	for _, sql := range statements {
		if err := s.exec(g.ctx, sql); err != nil {
			return s.rowFailed(g.ctx, g.tableOf(err), err)
		}
	}
	return nil
}

// tableOf returns the table that an error of the server is about, or else what stands for all of them.
func (g *group) tableOf(err error) *target {
	if refused, is := errors.AsType[*pgconn.PgError](err); is {
		named := sqltext.Quote(refused.SchemaName) + "." + sqltext.Quote(refused.TableName)
		for _, p := range g.plans {
			if p.target.sql == named || p.swap != nil && p.swap.old.sql == named {
				return p.target
			}
		}
	}
	all := *g.plans[0].target
	all.shown = namesOf(g.plans, (*target).name)
	return &all
}
