package fill

import (
	"context"
	"errors"
	"fmt"

	"culvert/format"
	"culvert/sink"
	"culvert/source"
)

// table is a table that is being filled.
type table struct {
	*plan
	db      *DB
	ctx     context.Context // of the caller
	loaded  []sink.Part
	loaders []*loader
	guard   *guard // nil if one connection fills the table, or parts are committed
	fit     fit
	whole   bool // the loaders see no rows in the table except those that they have added
	ended   bool
}

var (
	_ sink.TextTable = (*table)(nil)
	_ sink.Limited   = (*table)(nil)
)

// Table begins to fill a table or partitioned table. It looks for the name as package read does: as it is, then as
// schema.table with both parts as they are, then as SQL reads it. It fills the table itself; tables that inherit from
// it are locked with it, and keep their rows.
func (db *DB) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	t, err := db.table(ctx, name, f)
	if err != nil {
		if t != nil {
			err = errors.Join(err, t.Discard())
		} else {
			db.session.rollback()
		}
		return nil, err
	}
	t.fit = newFit(t.plan)
	db.filling = t
	return t, nil
}

// table returns what has begun even with an error.
func (db *DB) table(ctx context.Context, name string, f sink.Filling) (*table, error) {
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
	if err := db.session.reserve(ctx, p.target); err != nil {
		return nil, err
	}
	t := &table{plan: p, db: db, ctx: ctx}
	switch {
	case t.swap != nil:
		return t, t.beginSwap()
	case f.EachPart:
		return t, t.beginParts()
	case p.Create != nil:
		t.loaders = []*loader{t.newLoader(db.session)}
		return t, t.create(db.session)
	}
	return t, t.begin()
}

// begin locks the table and prepares it for its rows.
func (t *table) begin() error {
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
		t.loaders = []*loader{t.newLoader(s)}
	}
	if t.Conflict != sink.Fail {
		return t.loaders[0].expect()
	}
	return nil
}

// These return whether no other load fills the table $1, or makes the table of that name. See the package comment for
// the numbers.
const (
	reserveSQL     = "SELECT pg_catalog.pg_try_advisory_xact_lock(1129664076, ($1::int8 - 2147483648)::int4)"
	reserveNameSQL = "SELECT pg_catalog.pg_try_advisory_xact_lock(1129664078, pg_catalog.hashtext($1))"
)

// reserve takes the advisory lock of a table, until the transaction ends.
func (s *session) reserve(ctx context.Context, t *target) error {
	sql, what := reserveSQL, t.oid
	if t.oid == "" {
		sql, what = reserveNameSQL, t.sql
	}
	reserved, err := s.one(ctx, sql, what)
	if err != nil {
		return s.failed(ctx, "reserving table "+t.sql, err)
	}
	if reserved != "t" {
		return fmt.Errorf("postgres: table %s: %w", t.sql, sink.ErrBusy)
	}
	return nil
}

// prepare does with the rows that the table has what the filling says.
func (t *table) prepare(s *session) (err error) {
	switch t.Existing {
	case sink.Truncate:
		t.loaded = nil
		if err := s.exec(t.ctx, truncateSQL(t.target)); err != nil {
			return s.failed(t.ctx, "truncating table "+t.target.sql, err)
		}
		t.whole = true
		return s.forget(t.ctx, t.plan)
	case sink.Refuse:
		t.loaded, err = s.mustBeEmpty(t.ctx, t.plan)
		t.whole = err == nil && len(t.loaded) == 0
		return err
	}
	t.loaded, err = s.mustHaveLoaded(t.ctx, t.plan)
	return err
}

// mustBeEmpty fails if the table has rows, except for those of the parts of the load that it returns.
func (s *session) mustBeEmpty(ctx context.Context, p *plan) ([]sink.Part, error) {
	parts, err := s.mustHaveLoaded(ctx, p)
	if err != nil || len(parts) > 0 {
		return parts, err
	}
	rows, err := s.count(ctx, p.target, p.target.sql+" LIMIT 1")
	if err == nil && rows > 0 {
		err = fmt.Errorf("postgres: table %s: %w", p.target.sql, sink.ErrNotEmpty)
	}
	return nil, err
}

// beginParts opens the connections that load and commit parts.
func (t *table) beginParts() error {
	first, err := t.connect()
	if err != nil {
		return err
	}
	t.loaders = []*loader{t.newLoader(first)}
	goesOn := false
	if t.Existing == sink.Truncate {
		if goesOn, err = t.goesOn(first, t.target); err != nil {
			return err
		}
	}
	if !goesOn {
		if err := t.prepare(first); err != nil {
			return err
		}
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
		t.loaders = append(t.loaders, t.newLoader(s))
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

func (t *table) KeepsText(text []byte) bool { return t.fit.passes(text) }

func (t *table) Loaders() []sink.Loader {
	loaders := make([]sink.Loader, len(t.loaders))
	for i, l := range t.loaders {
		loaders[i] = l
	}
	return loaders
}

// Alone says why there are fewer loaders than were wanted.
func (t *table) Alone() string { return t.alone }

func (t *table) Loaded() []sink.Part { return t.loaded }

var (
	errEnded   = errors.New("postgres: the table is already committed or discarded")
	errRunning = errors.New("postgres: a loader of the table is not closed")
)

func (t *table) Commit() error {
	if t.ended {
		return errEnded
	}
	for _, l := range t.loaders {
		if !l.closed {
			return errRunning
		}
		if l.err != nil {
			return fmt.Errorf("postgres: table %s: a loader has failed: %w", t.target.sql, l.err)
		}
	}
	err := t.commit()
	return errors.Join(err, t.Discard())
}

func (t *table) commit() error {
	if t.swap != nil {
		return t.commitSwap()
	}
	if t.EachPart {
		return nil
	}
	if t.Create != nil {
		if err := t.db.session.runAll(t.ctx, t.target, afterSQL(t.target, t.Create)); err != nil {
			return err
		}
	}
	for _, l := range t.loaders {
		if err := l.checkDeferred(); err != nil {
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

func (t *table) Discard() error {
	if t.ended {
		return nil
	}
	t.ended = true
	for _, l := range t.loaders {
		l.end()
		if l.s != t.db.session {
			l.s.close()
		}
	}
	if t.guard != nil {
		t.guard.end()
	}
	t.db.session.rollback()
	t.db.filling = nil
	return t.dropNew()
}
