package fill

import (
	"context"
	"strconv"

	"culvert/postgres/internal/copybinary"
	"culvert/sink"
	"culvert/source"
)

// plan is how a table is filled.
type plan struct {
	sink.Filling
	target  *target
	swap    *swap           // nil unless a new table takes the place of the one that is there
	columns []source.Column // of the rows
	wanted  int             // loaders
	alone   string          // why there are not more loaders
	omitted []string        // of the definition of a table that is made
	later   []string        // of it, after its rows: see Finish
	loaded  []sink.Part     // of the load, from earlier times
	clear   bool            // the existing rows are removed

	disable, enable []string // statements that switch triggers off and on
}

// lookAt finds the table and decides how it is filled. The table is not yet locked.
func (s *session) lookAt(ctx context.Context, name string, f sink.Filling) (*plan, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	p := &plan{Filling: f, wanted: max(1, f.Loaders)}
	if err := s.find(ctx, name, p); err != nil {
		return nil, err
	}
	t := p.target
	if f.Conflict != sink.Fail {
		t.copied = arrivals
	}
	switch {
	case p.wanted == 1:
	case t.chunked:
		p.alone = "while a transaction has a new chunk of a hypertable, others wait that need one"
	case !f.EachPart:
		p.alone = aloneFor(p.Filling)
	}
	if p.alone != "" {
		p.wanted = 1
	}
	if f.Existing == sink.Swap {
		if err := s.planSwap(ctx, p); err != nil {
			return nil, err
		}
	}
	// With a ledger, that decides whether it is truncated.
	if p.Existing == sink.Truncate && p.Ledger == nil && !p.Grouped {
		if err := s.references(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := s.findTriggers(ctx, p); err != nil {
		return nil, err
	}
	if p.Create != nil {
		if _, err := beforeSQL(t, p.Create); err != nil {
			return nil, err
		}
	}
	return p, p.choose()
}

// find looks for the table, or for the one that is to be made.
func (s *session) find(ctx context.Context, name string, p *plan) (err error) {
	if p.Create != nil {
		return s.findNew(ctx, name, p)
	}
	if p.target, err = s.findTarget(ctx, name); err != nil {
		return err
	}
	return s.check(ctx, p.target)
}

// aloneFor is why a filling in one step has one connection, or "".
func aloneFor(f sink.Filling) string {
	switch {
	case f.TriggersOff:
		return "triggers are off in one transaction"
	case f.Create != nil:
		return "a table is made and filled in one transaction"
	case f.Conflict != sink.Fail:
		return "rows that may be in conflict with others are added by one connection"
	case f.Existing == sink.Append:
		return "rows that are added to others, all or none, are those of one transaction"
	case f.Existing == sink.Truncate:
		return "a table is truncated and filled in one transaction"
	}
	return ""
}

// choose looks up the columns of the rows and of the key.
func (p *plan) choose() error {
	places, err := p.target.describe().Choose(p.Filling)
	p.columns = nil
	for _, at := range places {
		p.columns = append(p.columns, p.target.all[at].Column)
	}
	return err
}

// freezes reports whether rows can be written as VACUUM would leave them.
func (p *plan) freezes() bool {
	fresh := p.truncates() || p.Create != nil || p.swap != nil && p.swap.alone
	return fresh && p.target.kind == "r" && p.Conflict == sink.Fail &&
		!p.EachPart
}

// truncates reports whether the rows of the table are removed.
func (p *plan) truncates() bool { return p.clear && p.swap == nil }

// The forms in which COPY reads rows.
const (
	csvForm    = "csv"
	binaryForm = "binary"
)

// form is the one in which most rows are added.
func (p *plan) form() string {
	if copybinary.New(typesOf(p.columns)) != nil {
		return binaryForm
	}
	return csvForm
}

// copySQL is the statement that adds rows, frozen if they may be.
func (p *plan) copySQL(form string, freeze bool) string {
	into := p.target.sql
	if p.Conflict != sink.Fail {
		into = arrivalsSQL
	}
	sql := "COPY " + into
	if len(p.columns) > 0 {
		sql += " (" + list(p.columns) + ")"
	}
	if freeze && p.freezes() {
		return sql + " FROM STDIN (FORMAT " + form + ", FREEZE)"
	}
	return sql + " FROM STDIN (FORMAT " + form + ")"
}

// lockMode is the lock under which one connection fills the table.
func (p *plan) lockMode() string {
	switch {
	case p.swap != nil:
		return "SHARE ROW EXCLUSIVE"
	case p.EachPart || p.wanted > 1 || p.Existing == sink.Append:
		return "ROW EXCLUSIVE"
	case p.Existing == sink.Truncate:
		return "ACCESS EXCLUSIVE"
	}
	return "SHARE ROW EXCLUSIVE"
}

// steps are the statements that change the database.
func (p *plan) steps() []string {
	if p.swap != nil {
		return p.swapSteps()
	}
	var steps []string
	if p.Ledger != nil && !p.Grouped {
		steps = append(steps, ledgerSQL(p.Ledger))
	}
	if p.Create != nil {
		before, _ := beforeSQL(p.target, p.Create) // lookAt has returned its error
		steps = append(steps, before...)
	} else if !p.Grouped {
		steps = append(steps, lockSQL(p.target, p.lockMode()))
	}
	steps = append(steps, p.disable...)
	if p.truncates() && !p.Grouped {
		steps = append(steps, truncateSQL(p.target))
	}
	if p.Conflict != sink.Fail {
		steps = append(steps, p.arrivalsSQL())
	}
	steps = append(steps, p.copySQL(p.form(), true))
	if p.Conflict != sink.Fail {
		steps = append(steps, p.mergeSQL())
	}
	if p.Create != nil {
		steps = append(steps, afterSQL(p.target, p.Create)...)
	}
	steps = append(append(steps, p.enable...), p.sequenceSteps()...)
	if p.Grouped {
		return steps // the rest are those of the group
	}
	return append(steps, "COMMIT")
}

func truncateSQL(t *target) string { return "TRUNCATE TABLE " + t.only() }

// Plan says what Table would do. It asks for no lock that others would notice.
func (db *DB) Plan(ctx context.Context, name string, f sink.Filling) (sink.Plan, error) {
	if err := db.begin(ctx, f); err != nil {
		return sink.Plan{}, err
	}
	defer db.session.rollback()
	return db.session.plan(ctx, name, f)
}

// plan says in the transaction what filling a table does. If it returns an error, the transaction may have failed.
func (s *session) plan(ctx context.Context, name string, f sink.Filling) (sink.Plan, error) {
	p, err := s.lookAt(ctx, name, f)
	if err != nil {
		return sink.Plan{}, err
	}
	if p.Create == nil && p.swap == nil {
		if err := s.look(ctx, p, p.target); err != nil {
			return sink.Plan{}, err
		}
	}
	rows, err := strconv.ParseInt(p.target.rows, 10, 64)
	if err != nil {
		return sink.Plan{}, errAnswer
	}
	var heirs []sink.Heir
	if p.Create == nil {
		if heirs, err = s.heirs(ctx, p.target, f.Existing); err != nil {
			return sink.Plan{}, err
		}
	}
	var refers, referred []string
	if p.Create == nil && (f.Grouped || f.Linked) {
		if refers, referred, err = s.links(ctx, p.target); err != nil {
			return sink.Plan{}, err
		}
	}
	alone := *p
	alone.Grouped = false
	database, object := "", ""
	if p.Create == nil || f.Ledger != nil {
		if database, err = s.identify(ctx); err != nil {
			return sink.Plan{}, err
		}
	}
	if p.Create == nil && !s.isUnnamable {
		object = database + "/" + p.target.oid
	}
	return sink.Plan{
		Table: p.target.name(), Columns: p.columns, Object: object, Database: database, Exists: p.Create == nil,
		Rows: rows, Heirs: heirs, Refers: refers, Referred: referred, Loaders: p.wanted, Alone: p.alone,
		Omitted: p.omitted, Later: p.later, Steps: alone.steps(),
	}, nil
}

// serverSQL identifies the server and the database.
const serverSQL = `
SELECT s.system_identifier || '/' || d.oid
FROM pg_catalog.pg_control_system() AS s, pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`

// identify identifies the database among those of all servers: by its address if the user may not call the function
// that identifies the server. Then the transaction has failed.
func (s *session) identify(ctx context.Context) (string, error) {
	if s.server == "" {
		server, err := s.one(ctx, serverSQL)
		if err != nil && s.conn.IsClosed() {
			return "", s.failed(ctx, "identifying the server", err)
		}
		if s.server, s.isUnnamable = server, err != nil; s.isUnnamable {
			s.server = s.address
		}
	}
	return s.server, nil
}
