package fill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"culvert/format"
	"culvert/postgres/internal/copybinary"
	"culvert/postgres/internal/sqltext"
	"culvert/sink"
	"culvert/source"
)

// table is a table that is being filled.
type table struct {
	sink.TableState
	*plan
	db      *DB
	ctx     context.Context // of the caller
	loaders []*loader
	guard   *guard // nil if one connection fills the table, or parts are committed
	fit     fit
	group   *group
	binary  *copybinary.Encoder // or nil
	whole   bool                // the loaders see no rows in the table except those that they have added
	printed string              // the form of the rows that are read back
}

var (
	_ sink.BinaryTable = (*table)(nil)
	_ sink.Limited     = (*table)(nil)
)

// Table begins to fill a table or partitioned table. It looks for the name as package read does: as it is, then as
// schema.table with both parts as they are, then as SQL reads it. It fills the table itself; tables that inherit from
// it are locked with it, and keep their rows.
func (db *DB) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	if err := db.filler.Idle(); err != nil { // whose transaction goes on
		return nil, err
	}
	p, err := db.reserve(ctx, name, f)
	if err != nil {
		db.session.rollback()
		return nil, err
	}
	t := &table{plan: p, db: db, ctx: ctx, printed: csvForm}
	if err := t.Begin(ctx, &db.filler, t, p.Filling, t.begin); err != nil {
		return nil, err
	}
	return t, nil
}

// reserve plans the filling, makes what it needs in transactions of their own, and keeps other loads out.
func (db *DB) reserve(ctx context.Context, name string, f sink.Filling) (*plan, error) {
	if err := db.begin(ctx, f); err != nil {
		return nil, err
	}
	p, err := db.session.lookAt(ctx, name, f)
	if err != nil {
		return nil, err
	}
	if f.Ledger != nil {
		if err := db.makeLedger(ctx, f); err != nil {
			return nil, err
		}
	}
	if p.Create != nil {
		if err := db.makeSchema(ctx, p.Filling); err != nil {
			return nil, err
		}
	}
	return p, db.session.reserve(ctx, p.target)
}

// begin makes the table ready for its rows.
func (t *table) begin() error {
	if err := t.open(); err != nil {
		return err
	}
	return t.setForms()
}

// setForms finds what becomes of the values of rows.
func (t *table) setForms() error {
	t.fit = newFit(t.plan)
	return t.setBinary()
}

func (t *table) open() error {
	switch {
	case t.swap != nil:
		return t.beginSwap()
	case t.EachPart:
		return t.beginParts()
	case t.Create != nil:
		t.addLoader(t.db.session)
		return t.create(t.db.session)
	}
	return t.beginWhole()
}

// beginWhole locks a table whose rows are committed together, and prepares it for them.
func (t *table) beginWhole() error {
	s := t.db.session
	if err := s.lock(t.ctx, t.target, t.lockMode()); err != nil {
		return err
	}
	if err := t.choose(); err != nil {
		return err
	}
	if t.wanted > 1 {
		if err := t.beginGuard(); err != nil {
			return err
		}
	}
	if err := t.prepare(s); err != nil {
		return err
	}
	if t.loaders == nil {
		t.addLoader(s)
	}
	if t.Conflict != sink.Fail {
		return t.loaders[0].expect()
	}
	return nil
}

// These return those of the tables $1 that another load fills, or of the names $1 that another load makes. See the
// package comment for the numbers.
const (
	reserveSQL = "SELECT wanted FROM unnest($1::text[]) AS wanted" +
		" WHERE NOT pg_try_advisory_xact_lock(1129664076, (wanted::int8 - 2147483648)::int4)"
	reserveNameSQL = "SELECT wanted FROM unnest($1::text[]) AS wanted" +
		" WHERE NOT pg_try_advisory_xact_lock(1129664078, hashtext(wanted))"
)

// reserve takes the advisory locks of tables, until the transaction ends.
func (s *session) reserve(ctx context.Context, tables ...*target) error {
	var oids, names []string
	for _, t := range tables {
		if t.oid == "" {
			names = append(names, t.sql)
		} else {
			oids = append(oids, t.oid)
		}
	}
	answers, err := s.queries(ctx, question{reserveSQL, 1, []string{sqltext.Array(oids)}},
		question{reserveNameSQL, 1, []string{sqltext.Array(names)}})
	if err != nil {
		return s.failed(ctx, "reserving table "+tables[0].sql, err)
	}
	for _, busy := range slices.Concat(answers...) {
		at := slices.IndexFunc(tables, func(t *target) bool { return cmp.Or(t.oid, t.sql) == string(busy[0]) })
		return fmt.Errorf("postgres: table %s: %w", cmp.Or(tables[at].shown, tables[at].sql), sink.ErrBusy)
	}
	return nil
}

// prepare does with the rows that the table has what the filling says.
func (t *table) prepare(s *session) error {
	if err := s.look(t.ctx, t.plan, t.target); err != nil {
		return err
	}
	t.whole = len(t.loaded) == 0 && t.Existing != sink.Append
	if err := s.findTriggers(t.ctx, t.plan); err != nil {
		return err
	}
	if err := s.switchTriggers(t.ctx, t.target, t.disable); err != nil {
		return err
	}
	if !t.clear {
		return nil
	}
	if err := s.exec(t.ctx, truncateSQL(t.target)); err != nil {
		return s.failed(t.ctx, "truncating table "+t.target.sql, err)
	}
	return s.forget(t.ctx, t.Ledger, t.target)
}

// beginParts opens the connections that load and commit parts.
func (t *table) beginParts() error {
	first, err := t.connect()
	if err != nil {
		return err
	}
	t.addLoader(first)
	if err := t.prepare(first); err != nil {
		return err
	}
	t.whole = false
	if err := first.commit(t.ctx, t.db.config); err != nil {
		return err
	}
	return t.more(func() (*session, error) {
		s, err := t.connect()
		if err == nil {
			s.rollback()
		}
		return s, err
	})
}

// more opens connections for further loaders, as far as the server accepts them.
func (t *table) more(open func() (*session, error)) error {
	for range t.wanted - 1 {
		s, err := open()
		if err != nil {
			if t.alone = tooMany(err); t.alone != "" {
				break
			}
			return err
		}
		t.addLoader(s)
	}
	return nil
}

// connect opens another connection and begins a transaction in which the table is locked for writing.
func (t *table) connect() (*session, error) {
	s, err := connect(t.ctx, t.db.config)
	if err != nil {
		return nil, err
	}
	if err := t.enter(s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// enter begins a transaction for writing.
func (t *table) enter(s *session) error {
	if err := s.begin(t.ctx, t.Filling); err != nil {
		return err
	}
	again := *t.target
	return s.lock(t.ctx, &again, "ROW EXCLUSIVE")
}

func (t *table) Columns() []source.Column { return t.columns }

// Format returns [format.CSV].
func (t *table) Format() format.Format { return format.CSV{} }

func (t *table) Fit(b *source.Batch) (*source.Batch, error) { return t.fit.apply(b) }

func (t *table) KeepsText(text []byte) bool { return !endsData(text) && t.fit.passes(text) }

// endsData reports whether a row of CSV is \. alone and without quotes. A server before 18 takes it for the end of
// the data.
func endsData(text []byte) bool {
	isEnd := func(c byte) bool { return c == '\n' || c == '\r' }
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(`\.`))
		if at < 0 {
			return false
		}
		start := from + at
		from = start + len(`\.`)
		if (start == 0 || isEnd(text[start-1])) && (from == len(text) || isEnd(text[from])) {
			return true
		}
	}
}

// Alone says why there are fewer loaders than were wanted.
func (t *table) Alone() string { return t.alone }

func (t *table) Loaded() []sink.Part { return t.loaded }

// Name names the table in errors.
func (t *table) Name() string { return t.target.name() }

// CommitRows commits the rows of all loaders.
func (t *table) CommitRows() error {
	if t.swap != nil && !t.Grouped {
		return t.commitSwap()
	}
	if t.EachPart {
		return t.db.session.setSequences(t.ctx, t.plan)
	}
	if t.Create != nil {
		if err := t.db.session.runAll(t.ctx, t.target, afterSQL(t.target, t.Create)); err != nil {
			return err
		}
	}
	if t.Grouped {
		return nil
	}
	for _, l := range t.loaders {
		if err := l.checkDeferred(); err != nil {
			return err
		}
		if err := l.s.switchTriggers(t.ctx, t.target, t.enable); err != nil {
			return err
		}
		if err := l.s.setSequences(t.ctx, t.plan); err != nil {
			return err
		}
		if err := l.s.writes(t.ctx); err != nil {
			return err
		}
	}
	if t.guard != nil {
		if err := t.guarded(); err != nil {
			return err
		}
	}
	for i, l := range t.loaders {
		if err := l.s.commit(t.ctx, t.db.config); err != nil {
			return errors.Join(err, t.undo(t.loaders[:i]))
		}
	}
	return nil
}

// End rolls back what is not committed, unless that is the group's, and closes all connections but the first.
func (t *table) End() error {
	for _, l := range t.loaders {
		l.end()
		if l.s != t.db.session {
			l.s.close()
		}
	}
	if t.guard != nil {
		t.guard.end()
	}
	if t.Grouped {
		return nil
	}
	t.db.session.rollback()
	return t.dropNew()
}
