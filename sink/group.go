package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Grouper is implemented by sinks that can fill several tables in one transaction: tables that foreign keys link, of
// which others then see all old rows or all new ones, or many small tables, since each transaction takes time.
type Grouper interface {
	// PlanGroup says what Group would do, and changes nothing. Its errors are those that Group would return at once.
	PlanGroup(ctx context.Context, tables []Member) (GroupPlan, error)

	// Group begins to fill tables in one transaction. It finds and locks all of them at once, and removes their rows
	// if their fillings say so. The fillings must have the same Existing, Ledger, LockTimeout and Redact, no EachPart,
	// and [Fail] as Conflict. Each table has one loader. No table may be open.
	//
	// Foreign keys between the tables must hold when the group is committed, and not before, if the database enforces
	// them. If they refer to each other in a circle, the right to alter the tables may be needed. Others that refer to
	// a table whose rows are removed are a [*ReferencedError]; those that refer to a table that is swapped refer to the
	// new one at the end, which must have the rows that they refer to.
	//
	// With a ledger, [Truncate] and [Swap], the rows of all tables are removed, and nothing of them counts as loaded,
	// unless those of all tables stay.
	//
	// The context governs the group and its tables. The error is one that [Sink.Table] would return for a table.
	Group(ctx context.Context, tables []Member) (Group, error)
}

// Member is a table of a group.
type Member struct {
	Name    string
	Filling Filling
}

// Group is a number of tables that are being filled. Its methods must be called by one goroutine at a time.
type Group interface {
	// Order returns the indexes of the tables in the order in which they should be filled, each once: those to which
	// others refer come first, as far as they can. The slice belongs to the Group.
	Order() []int

	// Table begins to fill a table, by its index. Each can be filled once, one at a time. Its Commit completes the
	// table in the transaction of the group. [Loader.Sum] reads rows that deferred triggers have not seen yet. After a
	// table has failed or was discarded, the group can only be discarded.
	Table(i int) (Table, error)

	// Commit commits all tables. It fails, and changes nothing, if one of them is not committed. After any other error
	// nothing remains of them, except after [ErrUnconfirmed].
	Commit() error

	// Discard ends the group, and the table that is open, and undoes everything. It does nothing after Commit.
	Discard() error
}

// GroupPlan is what filling a group will do.
type GroupPlan struct {
	Order []int // see [Group]

	// Steps are the statements that change the database for each of the tables. Those of the first one to be filled
	// begin what is done to all, and those of the last one end it.
	Steps [][]string
}

// GroupDriver is the group of a database. It embeds a [GroupState], which calls its methods, by one goroutine at a
// time.
type GroupDriver interface {
	Group

	// Fill begins to fill a table: see [TableState.Begin], which gets the filler and a filling of [CheckGroup]. The
	// table's CommitRows completes it without committing the transaction, and its End leaves the transaction open.
	Fill(i int, filler *Filler) (Table, error)

	// CommitTables commits the transaction. All tables are committed.
	CommitTables() error

	// End undoes what is not committed, and frees what the group holds. It is called once, also after CommitTables.
	End() error
}

var (
	errGroupEnded = errors.New("sink: the group is already committed or discarded")
	errTwice      = errors.New("sink: a table of a group can be filled only once")
	errIncomplete = errors.New("sink: a table of the group is not committed")
	errUndone     = errors.New("sink: a table of the group is not committed, so the group can only be discarded")
	errGroup      = errors.New("sink: a table of a group must be filled by the group")
)

// CheckGroup returns the tables of a group as they are filled, each by one loader. The error is that of fillings that
// contradict themselves or each other.
func CheckGroup(tables []Member) ([]Member, error) {
	if len(tables) == 0 {
		return nil, errors.New("sink: the group has no tables")
	}
	tables = slices.Clone(tables)
	first := tables[0].Filling
	for i := range tables {
		f := &tables[i].Filling
		if err := f.Check(); err != nil {
			return nil, err
		}
		sameLedger := (f.Ledger == nil) == (first.Ledger == nil) && (f.Ledger == nil || *f.Ledger == *first.Ledger)
		switch {
		case f.EachPart:
			return nil, errors.New("sink: the tables of a group are committed together, and not part by part")
		case f.Conflict != Fail:
			return nil, errors.New("sink: rows of a group cannot be in conflict with others")
		case !sameLedger || f.Existing != first.Existing || f.LockTimeout != first.LockTimeout ||
			f.Redact != first.Redact:
			return nil, errors.New("sink: the fillings of a group contradict each other")
		}
		f.Grouped, f.Loaders = true, 1
	}
	return tables, nil
}

// GroupState is the state of a group that is being filled. With it, a driver has the methods Table, Commit and Discard
// of a [Group]. It must not be copied.
type GroupState struct {
	ctx    context.Context
	outer  *Filler
	inner  Filler
	driver GroupDriver
	filled []bool
	ended  bool
}

// Begin calls begin, which makes the transaction and n tables ready. If it fails, the driver is ended. Otherwise the
// filler has the group open, until Commit or Discard has ended it.
func (g *GroupState) Begin(ctx context.Context, filler *Filler, d GroupDriver, n int, begin func() error) error {
	g.ctx, g.outer, g.driver, g.filled = ctx, filler, d, make([]bool, n)
	g.inner.grouped = true
	if err := begin(); err != nil {
		g.ended = true
		return errors.Join(err, d.End())
	}
	filler.open = g
	return nil
}

// Table begins to fill a table.
func (g *GroupState) Table(i int) (Table, error) {
	switch {
	case g.ended:
		return nil, errGroupEnded
	case g.inner.open != nil:
		return nil, errOpen
	case g.inner.undone:
		return nil, errUndone
	case g.filled[i]:
		return nil, errTwice
	}
	if err := g.ctx.Err(); err != nil {
		return nil, endedBy(err)
	}
	g.filled[i] = true
	t, err := g.driver.Fill(i, &g.inner)
	if err != nil {
		g.inner.undone = true
		return nil, err
	}
	return t, nil
}

// Commit commits the group, if all its tables are committed.
func (g *GroupState) Commit() error {
	switch {
	case g.ended:
		return errGroupEnded
	case g.inner.undone:
		return errUndone
	case g.inner.open != nil || slices.Contains(g.filled, false):
		return errIncomplete
	}
	err := g.ctx.Err()
	if err != nil {
		err = endedBy(err)
	} else {
		err = g.driver.CommitTables()
	}
	return errors.Join(err, g.end())
}

// Discard ends the group.
func (g *GroupState) Discard() error {
	if g.ended {
		return nil
	}
	return errors.Join(g.inner.Close(), g.end())
}

func (g *GroupState) end() error {
	g.ended = true
	g.outer.open = nil
	return g.driver.End()
}

// endedBy is the error of a group whose context has ended.
func endedBy(err error) error { return fmt.Errorf("sink: filling a group of tables: %w", err) }
