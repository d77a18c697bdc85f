package sink

import (
	"fmt"
	"slices"

	"culvert/source"
)

// Target is a table that a driver has found, or that it will make.
type Target struct {
	Label   string                 // names it in errors, after the package: postgres: table "public"."orders"
	Columns []TableColumn          // all of them, in order
	Equal   func(a, b string) bool // reports whether two names of columns are one
}

// TableColumn is a column of a [Target].
type TableColumn struct {
	source.Column
	Computed bool // takes no values
	Hidden   bool // takes values only if it is named
}

// Content is what a table and the ledger have, as a driver reads it.
type Content interface {
	// Parts returns the parts of the load that the ledger has of the table. There are none without a ledger.
	Parts() ([]Part, error)

	// Count returns the number of rows of the table. If there are more than most, it may return any number above most.
	Count(most int64) (int64, error)
}

// all is the most rows that a table can have.
const all = 1<<63 - 1

func (t *Target) find(name string) *TableColumn {
	at := slices.IndexFunc(t.Columns, func(c TableColumn) bool { return t.Equal(c.Name, name) })
	if at < 0 {
		return nil
	}
	return &t.Columns[at]
}

// unknown is the error of a column that the table does not have, or not for values.
func (t *Target) unknown(name string) error {
	err := &source.UnknownError{What: "column", Name: name}
	for _, c := range t.Columns {
		if !c.Computed {
			err.Known = append(err.Known, c.Name)
		}
	}
	return err
}

// Choose returns the places of the columns of which the rows have values. The error is a [*source.UnknownError] if the
// table has no column of a name, or the rows none of the key, and a [*ComputedError] if it computes some.
func (t *Target) Choose(f Filling) (chosen []int, err error) {
	var computed []string
	for i, c := range t.Columns {
		if len(f.Columns) == 0 && !c.Computed && !c.Hidden {
			chosen = append(chosen, i)
		}
	}
	for _, name := range f.Columns {
		at := slices.IndexFunc(t.Columns, func(c TableColumn) bool { return t.Equal(c.Name, name) })
		switch {
		case at < 0:
			return nil, t.unknown(name)
		case t.Columns[at].Computed:
			computed = append(computed, name)
		case slices.Contains(chosen, at):
			return nil, fmt.Errorf("%s: column %q is named twice", t.Label, name)
		}
		chosen = append(chosen, at)
	}
	if len(computed) > 0 {
		return nil, &ComputedError{t.Label, computed}
	}
	rows := Target{Equal: t.Equal}
	for _, at := range chosen {
		rows.Columns = append(rows.Columns, t.Columns[at])
	}
	for i, name := range f.Key {
		same := func(other string) bool { return t.Equal(other, name) }
		switch {
		case rows.find(name) == nil:
			return nil, fmt.Errorf("%s: a column of the key is not in the rows: %w", t.Label, rows.unknown(name))
		case slices.ContainsFunc(f.Key[:i], same):
			return nil, fmt.Errorf("%s: column %q is named twice in the key", t.Label, name)
		}
	}
	return chosen, nil
}

// CheckExisting returns an [ErrExists] if a table cannot be filled in place of one that the filling is to make: it has
// rows, or lacks columns of the rows, which is a [*source.UnknownError] too, or takes values for a column that the
// definition computes, which would be missing there. A table of which the ledger has parts is filled further.
func (t *Target) CheckExisting(f Filling, has Content) error {
	parts, err := has.Parts()
	if err != nil || len(parts) > 0 {
		return err
	}
	switch rows, err := has.Count(0); {
	case err != nil:
		return err
	case rows > 0:
		return fmt.Errorf("%s: %w, and has rows", t.Label, ErrExists)
	}
	wanted := f.Columns
	for _, c := range f.Create.Columns {
		switch found := t.find(c.Name); {
		case c.Generated != "" && found != nil && !found.Computed:
			return fmt.Errorf("%s: %w, and does not compute column %q, which has no values", t.Label, ErrExists, c.Name)
		case c.Generated == "" && len(f.Columns) == 0:
			wanted = append(wanted, c.Name)
		}
	}
	for _, name := range wanted {
		if t.find(name) == nil {
			return fmt.Errorf("%s: %w, and does not fit: %w", t.Label, ErrExists, t.unknown(name))
		}
	}
	return nil
}

// Look decides what becomes of the rows that the table has: whether they are to be removed, with what the ledger has
// of the table, or else which parts of the load stay. The error is [ErrNotEmpty], or [ErrGone].
func (t *Target) Look(f Filling, has Content) (loaded []Part, isCleared bool, err error) {
	if f.Ledger != nil {
		if loaded, err = has.Parts(); err != nil {
			return nil, false, err
		}
	}
	replaces := f.Existing > Append
	switch {
	case len(loaded) == 0 && replaces:
		return nil, true, nil
	case len(loaded) == 0 && f.Existing == Append:
		return nil, false, nil
	case len(loaded) == 0:
		rows, err := has.Count(0)
		if err == nil && rows > 0 {
			err = fmt.Errorf("%s: %w", t.Label, ErrNotEmpty)
		}
		return nil, false, err
	}
	var recorded int64
	for _, part := range loaded {
		recorded += part.Rows
	}
	rows, err := has.Count(all)
	if err != nil {
		return nil, false, err
	}
	switch {
	case rows == recorded:
		return loaded, false, nil
	case replaces:
		return nil, true, nil
	case rows < recorded && (f.Existing == Refuse || f.Conflict == Fail):
		err = ErrGone
	case f.Existing == Refuse:
		err = ErrNotEmpty
	default:
		return loaded, false, nil
	}
	return nil, false, fmt.Errorf("%s: %w: it has %d rows, and the ledger %d", t.Label, err, rows, recorded)
}
