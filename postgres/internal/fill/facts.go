package fill

import (
	"context"
	"maps"
	"slices"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

var _ sink.Planner = (*DB)(nil)

// facts are what the server says of several tables at once. As long as the transaction lasts, they answer what is asked
// about one of these, so that many tables take as many round trips as one.
type facts struct {
	targets map[string]*target       // by the name that was looked for
	columns map[string]*tableColumns // by the number of the table
	empty   map[string]bool          // by that, the tables that certainly have no rows
	keyed   map[string]bool          // by that, those of which foreign keys are, or that they refer to
	ledger  *sink.Ledger             // that was read; nil if it was not
	parts   map[string][]sink.Part   // of it, by the name of the table for statements
}

// factsAtOnce is how many tables are asked for at once. It bounds what the server and this process hold of them.
const factsAtOnce = 500

// gather asks for the facts of the tables of some names, and of what a ledger, if there is one, has of them. Names that
// it does not find are asked for alone later.
func (s *session) gather(ctx context.Context, names []string, ledger *sink.Ledger) error {
	found, err := s.findExact(ctx, names)
	if err == nil {
		err = s.gatherOf(ctx, slices.Collect(maps.Values(found)), ledger)
	}
	if err == nil {
		s.facts.targets = found
	}
	return err
}

// gatherOf asks for the columns of tables, and for what they and the ledger have.
func (s *session) gatherOf(ctx context.Context, targets []*target, ledger *sink.Ledger) error {
	oids, tables := make([]string, len(targets)), make([]string, len(targets))
	for i, t := range targets {
		oids[i], tables[i] = t.oid, t.sql
	}
	numbers := []string{sqltext.Array(oids)}
	columns, answers, err := s.columnsOf(ctx, oids, question{emptySQL, 1, numbers}, question{keyedSQL, 1, numbers})
	if err != nil {
		return s.failed(ctx, "reading the columns of tables", err)
	}
	f := &facts{columns: columns, empty: firstOf(answers[0]), keyed: firstOf(answers[1])}
	if ledger != nil {
		f.ledger = ledger
		if f.parts, err = s.loadedOf(ctx, ledger, tables); err != nil {
			return err
		}
	}
	s.facts = f
	return nil
}

// firstOf returns the values of a first column.
func firstOf(rows [][][]byte) map[string]bool {
	found := map[string]bool{}
	for _, row := range rows {
		found[string(row[0])] = true
	}
	return found
}

// keyedSQL returns those of the tables $1 that have foreign keys, or to which some refer.
const keyedSQL = `
SELECT wanted FROM unnest($1::oid[]) AS wanted WHERE wanted IN (
	SELECT conrelid FROM pg_constraint WHERE contype = 'f'
	UNION ALL SELECT confrelid FROM pg_constraint WHERE contype = 'f')`

// emptySQL returns those of the tables $1 that have no rows, since their files have no bytes, and no triggers, so that
// nobody notices whether they are truncated. A user who may not read them is told so when their rows are counted.
const emptySQL = `
SELECT c.oid FROM unnest($1::oid[]) AS wanted JOIN pg_class c ON c.oid = wanted
WHERE c.relkind = 'r' AND NOT c.relhastriggers
	AND coalesce((SELECT amname FROM pg_am WHERE oid = c.relam), 'heap') = 'heap'
	AND has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
	AND NOT row_security_active(c.oid) AND pg_relation_size(c.oid) = 0`

// knowsParts reports whether the facts, which may be nil, have the parts of a table.
func (f *facts) knowsParts(ledger *sink.Ledger, t *target) bool {
	return f != nil && f.ledger != nil && *f.ledger == *ledger && f.columns[t.oid] != nil
}

// knowsEmpty reports whether the facts, which may be nil, say that a table has no rows itself.
func (f *facts) knowsEmpty(t *target) bool { return f != nil && f.empty[t.oid] }

// lookedSQL begins what undoLookedSQL ends: the locks and the failure of a statement about one table.
const (
	lookedSQL     = "SAVEPOINT looked"
	undoLookedSQL = "ROLLBACK TO SAVEPOINT looked"
)

// Plans does what Plan does for each of several tables, about which it asks together. If the rows of one are counted,
// its locks are released before the next one is looked at.
func (db *DB) Plans(ctx context.Context, tables []sink.Member) ([]sink.Plan, []error) {
	plans, errs := make([]sink.Plan, len(tables)), make([]error, len(tables))
	defer func() { db.session.rollback() }() // of the session that there is then
	for i, one := range tables {
		if i%factsAtOnce == 0 || db.session.conn.IsClosed() || db.session.conn.TxStatus() != 'T' {
			errs[i] = db.beginWith(ctx, tables[i:min(i-i%factsAtOnce+factsAtOnce, len(tables))])
		}
		if errs[i] != nil {
			continue
		}
		s := db.session
		plans[i], errs[i] = s.plan(ctx, one.Name, one.Filling)
		if !s.conn.IsClosed() && (s.counted || s.conn.TxStatus() == 'E') {
			s.counted = false
			if err := s.exec(ctx, undoLookedSQL); err != nil && errs[i] == nil {
				errs[i] = s.failed(ctx, "looking at tables", err)
			}
		}
	}
	return plans, errs
}

// beginWith begins a transaction for tables, and gathers the facts of those that exist. If the server refuses that, as
// it may because of one of them, each is asked about alone.
func (db *DB) beginWith(ctx context.Context, tables []sink.Member) error {
	if err := db.begin(ctx, tables[0].Filling); err != nil {
		return err
	}
	err := db.session.gather(ctx, memberNames(tables), tables[0].Filling.Ledger)
	switch {
	case err == nil:
	case ctx.Err() != nil || db.session.conn.IsClosed():
		return err
	default:
		if err := db.begin(ctx, tables[0].Filling); err != nil {
			return err
		}
	}
	return db.session.failed(ctx, "looking at tables", db.session.exec(ctx, lookedSQL))
}

// knowsUnkeyed reports whether the facts, which may be nil, say that no foreign keys are of a table or refer to it. The
// keys of a partitioned table may be those of its partitions.
func (f *facts) knowsUnkeyed(t *target) bool {
	return f != nil && f.columns[t.oid] != nil && !f.keyed[t.oid] && t.kind == "r"
}
