package sink

import (
	"context"
	"errors"
	"fmt"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/source"
)

// Driver is the table of a database. It embeds a [TableState], which calls its methods, by one goroutine at a time.
type Driver interface {
	Table

	// Name names the table in errors.
	Name() string

	// CommitRows commits what is not committed.
	CommitRows() error

	// End undoes what is not committed, and frees what the table holds. It is called once, also after CommitRows.
	End() error
}

// LoaderDriver is a loader of a database. It embeds a [LoaderState], which calls its methods by one goroutine at a
// time, and none of them after an error, except for UndoToMark, after the end of the context, or after [Driver.End].
// Several loaders of a table work at the same time.
type LoaderDriver interface {
	Loader

	// Add takes the rows of a batch, which belongs to the caller. They have as many values as the table has columns.
	Add(b *source.Batch) error

	// Send waits until the database has taken all rows. It returns how many it has counted since the last call.
	Send() (rows int64, err error)

	// ReadBack does what [Loader.Sum] says. All rows are sent.
	ReadBack() (rows int64, sum Sum, err error)

	// Record records a part in the ledger, in the transaction of its rows, which are all sent.
	Record(p Part) error

	// CommitPart commits the transaction of the part that was recorded.
	CommitPart() error

	// SetMark makes a savepoint. All rows are sent. Again says that the transaction has the one of an earlier call, in
	// whose place it comes.
	SetMark(again bool) error

	// UndoToMark goes back to the savepoint, which stays. It may be called after an error that is a [*RowError], and
	// forgets rows that are not sent or counted yet.
	UndoToMark() error

	// Complete is called when no rows follow. All are sent.
	Complete() error
}

var (
	errOpen   = errors.New("sink: another table is being filled; commit or discard it first")
	errEnded  = errors.New("sink: the table is already committed or discarded")
	errUsed   = errors.New("sink: a loader of the table is not closed")
	errLoader = errors.New("sink: the loader is closed")
	errClosed = fmt.Errorf("sink: the database is closed: %w", source.ErrUnavailable)
)

// Filler keeps a [Sink] to one table, or one group, at a time. The zero value is ready.
type Filler struct {
	open     interface{ Discard() error } // a table or a group, or nil
	isClosed bool

	grouped bool // its tables are those of a group
	undone  bool // one of these has ended without being committed
}

// Idle returns an error if a table or a group is being filled, or the sink is closed.
func (f *Filler) Idle() error {
	switch {
	case f.isClosed:
		return errClosed
	case f.open != nil:
		return errOpen
	}
	return nil
}

// IsClosed reports whether the sink is closed.
func (f *Filler) IsClosed() bool { return f.isClosed }

// Close discards the table or the group that is being filled. Nothing can be filled after it.
func (f *Filler) Close() error {
	f.isClosed = true
	if f.open == nil {
		return nil
	}
	return f.open.Discard()
}

// TableState is the state of a table that is being filled. With it, a driver has the methods Loaders, Commit and
// Discard of a [Table]. It must not be copied.
type TableState struct {
	ctx     context.Context
	filler  *Filler
	driver  Driver
	filling Filling
	width   int // the number of columns
	loaders []LoaderDriver
	states  []*LoaderState
	ended   bool
}

// Begin calls begin, which makes the transaction, the table and the loaders ready: see [LoaderState.Join]. If it fails,
// the driver is ended. Otherwise the filler has the table open, until Commit or Discard has ended it.
func (t *TableState) Begin(ctx context.Context, filler *Filler, d Driver, f Filling, begin func() error) error {
	t.ctx, t.filler, t.driver, t.filling = ctx, filler, d, f
	err := errGroup
	if f.Grouped == filler.grouped {
		err = begin()
	}
	if err != nil {
		t.ended = true
		return errors.Join(err, d.End())
	}
	filler.open, t.width = t, len(d.Columns())
	return nil
}

// Loaders returns the loaders that were added by [LoaderState.Join].
func (t *TableState) Loaders() []Loader {
	loaders := make([]Loader, len(t.loaders))
	for i, l := range t.loaders {
		loaders[i] = l
	}
	return loaders
}

// Commit commits the table, if all its loaders have ended well.
func (t *TableState) Commit() error {
	if t.ended {
		return errEnded
	}
	for _, l := range t.states {
		if l.err != nil {
			return fmt.Errorf("sink: table %s: a loader has failed: %w", t.driver.Name(), l.err)
		}
		if !l.isClosed {
			return errUsed
		}
	}
	err := t.alive()
	if err == nil {
		err = t.driver.CommitRows()
	}
	return errors.Join(err, t.end(err == nil))
}

// Discard ends the filling.
func (t *TableState) Discard() error {
	if t.ended {
		return nil
	}
	return t.end(false)
}

func (t *TableState) end(isCommitted bool) error {
	t.ended = true
	t.filler.open, t.filler.undone = nil, t.filler.undone || !isCommitted
	return t.driver.End()
}

// alive returns an error if the caller has ended the filling.
func (t *TableState) alive() error {
	if err := t.ctx.Err(); err != nil {
		return fmt.Errorf("sink: filling table %s: %w", t.driver.Name(), err)
	}
	return nil
}

// LoaderState is the state of a loader. With it, a driver has the methods of a [Loader]. It must not be copied.
type LoaderState struct {
	table    *TableState
	driver   LoaderDriver
	rows     int64 // since the last part
	isClosed bool
	err      error

	saved, marked bool  // the transaction has a savepoint, which is a mark
	rowsAtMark    int64 // of rows
}

// Join adds the loader to a table.
func (l *LoaderState) Join(t *TableState, d LoaderDriver) {
	l.table, l.driver = t, d
	t.loaders, t.states = append(t.loaders, d), append(t.states, l)
}

// Do calls step, unless the loader has failed or ended: for methods that only some databases have, such as those of
// [TextLoader]. If step fails, the loader has failed.
func (l *LoaderState) Do(step func() error) error {
	switch {
	case l.err != nil:
		return l.err
	case l.table.ended:
		return errEnded
	case l.isClosed:
		return errLoader
	}
	if l.err = l.table.alive(); l.err == nil {
		l.err = step()
	}
	return l.err
}

// Load adds the rows of a batch.
func (l *LoaderState) Load(b *source.Batch) error {
	return l.Do(func() error {
		if b.Columns() != l.table.width {
			return fmt.Errorf("sink: table %s: rows of %d columns, want %d", l.table.driver.Name(), b.Columns(),
				l.table.width)
		}
		return l.driver.Add(b)
	})
}

func (l *LoaderState) send() error {
	rows, err := l.driver.Send()
	l.rows += rows
	return err
}

// Flush returns the number of rows since the last part.
func (l *LoaderState) Flush() (int64, error) {
	err := l.Do(l.send)
	return l.rows, err
}

// Sum reads the rows back.
func (l *LoaderState) Sum() (rows int64, sum Sum, err error) {
	err = l.Do(func() error {
		if err := l.send(); err != nil {
			return err
		}
		rows, sum, err = l.driver.ReadBack()
		return err
	})
	return rows, sum, err
}

// EndPart records a part.
func (l *LoaderState) EndPart(p Part) error {
	return l.Do(func() error {
		if err := l.send(); err != nil {
			return err
		}
		if l.rows != p.Rows {
			return &CountError{Table: l.table.driver.Name(), Part: p.Name, Sent: p.Rows, Counted: l.rows}
		}
		l.rows, l.marked = 0, false
		if l.table.filling.Ledger == nil {
			return nil
		}
		if err := l.driver.Record(p); err != nil || !l.table.filling.EachPart {
			return err
		}
		l.saved = false
		return l.driver.CommitPart()
	})
}

// Close ends the loader.
func (l *LoaderState) Close() (int64, error) {
	err := l.Do(func() error {
		if err := l.send(); err != nil {
			return err
		}
		if l.table.filling.EachPart && l.rows > 0 {
			return fmt.Errorf("sink: table %s: parts are committed one by one, but %d rows are in none",
				l.table.driver.Name(), l.rows)
		}
		return l.driver.Complete()
	})
	l.isClosed = true
	return l.rows, err
}

// SumOf returns the number and the sum of the rows with which read calls its function, for [LoaderDriver.ReadBack]. The
// columns are those of the rows.
func (f Filling) SumOf(
	columns []source.Column, read func(use func(b *source.Batch) error) error,
) (rows int64, sum Sum, err error) {
	encoder, err := format.CSV{}.Encoder(columns)
	if err != nil {
		return 0, sum, err
	}
	var lines Lines
	lines.Begin(f, "", nil)
	// In pieces, so that the text of a large row is never in memory as a whole.
	const piece = 16 << 10
	var text []byte
	drop := func(text []byte) ([]byte, error) { return text[:0], nil }
	err = read(func(row *source.Batch) (err error) {
		text, err = encoder.(format.LineEncoder).AppendLines(text[:0], row, piece, &lines.adder, drop)
		if err == nil {
			rows++
		}
		return err
	})
	return rows, lines.Sum(), err
}

// Lines adds up the lines of CSV that a database prints of rows that were loaded.
type Lines struct{ adder canonical.Adder }

// Begin begins with no lines, of the rows of a filling. A system prints them of the columns of a table, if they are
// given. Those of the same logical types as the rows need no closer look than the rows of the system itself.
func (l *Lines) Begin(f Filling, printed source.Dialect, table []source.Column) {
	var types *canonical.Types
	if len(f.Logical) > 0 {
		columns, others := make([]source.Column, len(f.Logical)), []string{}
		for i := range columns {
			if len(table) == len(columns) {
				columns[i] = table[i]
			}
			if columns[i].Logical != f.Logical[i] {
				columns[i].Logical = f.Logical[i]
				others = append(others, columns[i].Name)
			}
		}
		types = canonical.TypesOf(columns, printed, others...)
	}
	l.adder.Reset(types)
}

// Line adds a line, which includes its line feed.
func (l *Lines) Line(line []byte) { l.adder.Line(line) }

// Sum returns the sum that [Loader.Sum] says.
func (l *Lines) Sum() Sum { return l.adder.Canonical }
