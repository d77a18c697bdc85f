package sink

import (
	"fmt"

	"culvert/source"
)

// CheckExisting returns an [ErrExists] if a table cannot be filled in place of one that the filling is to make: it has
// rows, or lacks columns of the rows, which is a [*source.UnknownError] too, or takes values for a column that the
// definition computes, which would be missing there. The columns are those of the table that exists; the function says
// whether two names are one.
func CheckExisting(f Filling, isEmpty bool, columns []ExistingColumn, equal func(a, b string) bool) error {
	if !isEmpty {
		return fmt.Errorf("%w, and has rows", ErrExists)
	}
	find := func(name string) *ExistingColumn {
		for i := range columns {
			if equal(columns[i].Name, name) {
				return &columns[i]
			}
		}
		return nil
	}
	wanted := f.Columns
	for _, c := range f.Create.Columns {
		switch found := find(c.Name); {
		case c.Generated != "" && found != nil && found.TakesValues:
			return fmt.Errorf("%w, and does not compute column %q, which has no values", ErrExists, c.Name)
		case c.Generated == "" && len(f.Columns) == 0:
			wanted = append(wanted, c.Name)
		}
	}
	for _, name := range wanted {
		if find(name) != nil {
			continue
		}
		unknown := &source.UnknownError{What: "column", Name: name}
		for _, c := range columns {
			unknown.Known = append(unknown.Known, c.Name)
		}
		return fmt.Errorf("%w, and does not fit: %w", ErrExists, unknown)
	}
	return nil
}

// ExistingColumn is a column of a table that exists.
type ExistingColumn struct {
	Name        string
	TakesValues bool // otherwise it is computed
}
