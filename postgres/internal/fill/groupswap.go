package fill

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// swapsTables reports whether new tables take the places of those of the group.
func (g *group) swapsTables() bool { return g.plans[0].swap != nil }

// olds are the tables that are there, by their number in the server.
func (g *group) olds() []*target {
	var olds []*target
	for _, p := range g.plans {
		olds = append(olds, p.swap.old)
	}
	slices.SortFunc(olds, func(a, b *target) int { return compareNumbers(a.oid, b.oid) })
	return olds
}

func sqlOf(tables []*target) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.sql
	}
	return strings.Join(names, ", ")
}

// lookAtSwap looks at what earlier loads have done, and refuses what would be lost.
func (g *group) lookAtSwap() error {
	s, ledger := g.db.session, g.plans[0].Ledger
	if err := s.gatherOf(g.ctx, g.olds(), ledger); err != nil {
		return err
	}
	done := true // the ledger says that this load has swapped all of them
	for _, p := range g.plans {
		if err := s.check(g.ctx, p.swap.old); err != nil {
			return err
		}
		if err := s.hinders(g.ctx, p.swap.old, true); err != nil {
			return err
		}
		if err := s.look(g.ctx, p, p.swap.old); err != nil {
			return err
		}
		done = done && len(p.loaded) > 0
	}
	for _, p := range g.plans {
		if p.swap.done = done; !done {
			p.loaded, p.clear = nil, true
		}
	}
	if err := g.lookForOutside(); err != nil {
		return err
	}
	g.keys.order = nil
	for i := range g.plans {
		g.keys.order = append(g.keys.order, i) // the keys are added at the end
	}
	return nil
}

// beginSwap locks the tables, so that others can only read them, and makes the new ones.
func (g *group) beginSwap() error {
	s := g.db.session
	if err := s.exec(g.ctx, g.lockSQL()); err != nil {
		return s.failed(g.ctx, "locking tables", err)
	}
	if err := g.lookAtSwap(); err != nil {
		return err
	}
	for _, p := range g.plans {
		if p.swap.done {
			continue
		}
		t := &table{plan: p, db: g.db, ctx: g.ctx, group: g}
		left, mark, err := s.leftBy(g.ctx, p.target)
		if err == nil {
			err = t.checkLeftover(left, mark)
		}
		if err != nil {
			return err
		}
		if err := t.makeAnew(s, left != ""); err != nil {
			return err
		}
		if err := p.choose(); err != nil {
			return err
		}
	}
	return nil
}

// outsideKey is a foreign key of another table that refers to one of the group.
type outsideKey struct{ name, drop, add, comment string }

// outsideKeysSQL returns the foreign keys of other tables that refer to the tables $1, with the statements that remove
// them and add them again, and whether the user may do that. Keys that another one of a partitioned table has made go
// and come with it.
const outsideKeysSQL = `
SELECT format('%I of %I.%I', k.conname, n.nspname, c.relname),
	format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname),
	format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid)),
	coalesce(format('COMMENT ON CONSTRAINT %I ON %I.%I IS %L', k.conname, n.nspname, c.relname,
		nullif(obj_description(k.oid, 'pg_constraint'), '')), ''),
	pg_has_role(c.relowner, 'USAGE'), obj_description(k.oid, 'pg_constraint') IS NOT NULL
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0 AND k.confrelid = ANY ($1::oid[]) AND k.conrelid <> ALL ($1::oid[])
ORDER BY 1`

// lookForOutside finds the keys of other tables, which must refer to the new tables at the end.
func (g *group) lookForOutside() error {
	var oids []string
	for _, t := range g.olds() {
		oids = append(oids, t.oid)
	}
	s := g.db.session
	found, err := s.query(g.ctx, 6, outsideKeysSQL, sqltext.Array(oids))
	if err != nil {
		return s.failed(g.ctx, "looking for what refers to tables", err)
	}
	g.outside = nil
	for _, row := range found {
		if string(row[4]) != "t" {
			return fmt.Errorf("postgres: table %s: %w: the foreign key %s, since the user does not own that table",
				sqlOf(g.olds()), sink.ErrSwap, row[0])
		}
		key := outsideKey{name: string(row[0]), drop: string(row[1]), add: string(row[2])}
		if string(row[5]) == "t" {
			key.comment = string(row[3])
		}
		g.outside = append(g.outside, key)
	}
	return nil
}

// commitSwap has all new tables take their places.
func (g *group) commitSwap() error {
	if g.plans[0].swap.done {
		return nil
	}
	s := g.db.session
	statements := make([]map[string][]string, len(g.plans))
	for i, p := range g.plans {
		var err error
		statements[i], err = s.swapStatements(g.ctx, p, p.target.oid)
		if err != nil {
			return err
		}
	}
	each := func(at string) error {
		for i, p := range g.plans {
			t := &table{plan: p, db: g.db, ctx: g.ctx, group: g}
			if err := t.runSwap(statements[i], at); err != nil {
				return err
			}
		}
		return nil
	}
	for _, step := range []func() error{
		func() error { return each(swapRows) },
		func() error { return each(swapLocked) },
		func() error { return g.runOutside(func(key outsideKey) string { return key.drop }) },
		func() error { return g.runSwapped("DROP TABLE " + sqlOf(g.olds())) },
		func() error { return each(swapNamed) },
		func() error { return each(swapKeys) },
		func() error { return g.runOutside(func(key outsideKey) string { return key.add }) },
		func() error { return g.runOutside(func(key outsideKey) string { return key.comment }) },
		func() error { return each(swapDetails) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) runOutside(sql func(key outsideKey) string) error {
	for _, key := range g.outside {
		if sql := sql(key); sql != "" {
			if err := g.runSwapped(sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// runSwapped runs a statement that concerns several tables.
func (g *group) runSwapped(sql string) error {
	s := g.db.session
	err := s.params(g.ctx, sql).Err
	if err == nil {
		return nil
	}
	if refused, is := errors.AsType[*pgconn.PgError](err); is && refused.Code == codeForeignKey {
		named := &target{sql: sqltext.Quote(refused.SchemaName) + "." + sqltext.Quote(refused.TableName)}
		return s.rowFailed(g.ctx, named, err)
	}
	return s.failed(g.ctx, "swapping tables: "+sink.Shorten(sql), err)
}

// swapSteps are the statements that change the database.
func (g *group) swapSteps() [][]string {
	steps := make([][]string, len(g.plans))
	first, last := 0, len(g.plans)-1
	if ledger := g.plans[0].Ledger; ledger != nil {
		steps[first] = append(steps[first], ledgerSQL(ledger))
	}
	steps[first] = append(steps[first], g.lockSQL())
	for _, p := range g.plans {
		steps[first] = append(steps[first], p.swap.planned[swapBefore]...)
	}
	for i, p := range g.plans {
		steps[i] = append(steps[i], p.copySQL(p.form(), true))
	}
	each := func(at string) {
		for _, p := range g.plans {
			steps[last] = append(steps[last], p.swap.planned[at]...)
		}
	}
	outside := func(sql func(key outsideKey) string) {
		for _, key := range g.outside {
			if sql := sql(key); sql != "" {
				steps[last] = append(steps[last], sql)
			}
		}
	}
	each(swapRows)
	each(swapLocked)
	outside(func(key outsideKey) string { return key.drop })
	steps[last] = append(steps[last], "DROP TABLE "+sqlOf(g.olds()))
	each(swapNamed)
	each(swapKeys)
	outside(func(key outsideKey) string { return key.add })
	outside(func(key outsideKey) string { return key.comment })
	each(swapDetails)
	for _, p := range g.plans {
		steps[last] = append(steps[last], p.sequenceSteps()...)
	}
	steps[last] = append(steps[last], "COMMIT")
	return steps
}
