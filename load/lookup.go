package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culvert/sink"
	"culvert/source"
)

// Planned is what would become of a table.
type Planned struct {
	Name      string // of the table in the manifest or the source
	sink.Plan        // unless there is an error
	Err       error  // why the table cannot be filled

	// Together are the names of the tables that are filled in one transaction with it, itself too, since foreign keys
	// link them; or nil. Steps of the first one to be filled begin it, and those of the last one end it.
	Together []string
}

// lookUp has every table looked up before any of them is changed. A table that cannot be filled does not keep it from
// the others; what is returned as an error does. Then link sees all of them.
func (p *Plan) lookUp(
	ctx context.Context, names []string, look func(i int) (sink.Plan, error), link func(planned []Planned) error,
) ([]Planned, error) {
	planned := make([]Planned, len(names))
	for i, name := range names {
		plan, err := look(i)
		_, ends := errors.AsType[*endingError](err)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case ends, errors.Is(err, source.ErrUnavailable), errors.Is(err, sink.ErrReadOnly), len(names) == 1:
			return nil, err
		}
		planned[i] = Planned{Name: name, Plan: plan, Err: err}
	}
	if !p.Filling.OwnRows {
		checkHeirs(planned, p.Filling.Existing == sink.Truncate)
	}
	if err := link(planned); err != nil {
		return nil, err
	}
	if len(planned) == 1 && planned[0].Err != nil {
		return nil, planned[0].Err
	}
	return planned, nil
}

// checkHeirs has tables fail that would end with rows twice, unless they have failed already. What is read of a table
// has the rows of its heirs, so these must neither be filled too nor keep rows.
func checkHeirs(planned []Planned, replaces bool) {
	filled := map[string]bool{}
	for _, one := range planned {
		if one.Err == nil {
			filled[one.Table] = true
		}
	}
	for i := range planned {
		one := &planned[i]
		if one.Err != nil {
			continue
		}
		refused := &HeirsError{Table: one.Table}
		for _, heir := range one.Heirs {
			if filled[heir.Table] {
				refused.Filled = append(refused.Filled, heir.Table)
			} else if replaces && heir.Filled {
				refused.Kept = append(refused.Kept, heir.Table)
			}
		}
		if refused.Filled != nil || refused.Kept != nil {
			one.Err = refused
		}
	}
}

// HeirsError is the error of a table from which others inherit that are filled together with it, or keep rows while its
// own are replaced. The rows that were read of it have theirs too, which would then be there twice.
type HeirsError struct {
	Table        string   // as the database names it
	Filled, Kept []string // the heirs that are filled too; those that keep rows
}

func (e *HeirsError) Error() string {
	var why []string
	if e.Filled != nil {
		why = append(why, "these are filled too: "+strings.Join(e.Filled, ", "))
	}
	if e.Kept != nil {
		why = append(why, "these keep rows: "+strings.Join(e.Kept, ", "))
	}
	return fmt.Sprintf("load: table %s: its rows may be there twice, since they have those of the tables that inherit "+
		"from it, and %s", e.Table, strings.Join(why, "; "))
}

// endingError is the error of a table that ends the whole work, since the caller cannot have meant it.
type endingError struct{ error }

func (e *endingError) Unwrap() error { return e.error }

// failures is the error of tables of which some cannot be filled, or nil. All of them have failed if foreign keys of
// other tables forbid to replace the rows of any: linked tables are replaced together, or not at all.
func failures(planned []Planned) error {
	failed, linked := 0, false
	for _, one := range planned {
		if one.Err != nil {
			failed++
		}
		if _, is := errors.AsType[*sink.ReferencedError](one.Err); is {
			linked = true
		}
	}
	switch {
	case failed == 0:
		return nil
	case linked:
		failed = len(planned)
	}
	return &PartialError{Failed: failed, Tables: len(planned)}
}

// failed returns the tables that cannot be filled.
func failed(planned []Planned) (all []Stats) {
	for _, one := range planned {
		if one.Err != nil {
			all = append(all, Stats{Name: one.Name, Table: one.Table, Err: one.Err})
		}
	}
	return all
}

// none reports whether no table is to be filled after these failures.
func none(err error) bool {
	partial, is := errors.AsType[*PartialError](err)
	return is && partial.Failed == partial.Tables
}
