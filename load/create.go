package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"culvert/sink"
	"culvert/source"
)

// make has the job make its table by a definition, which the table's own name in the source stands for.
func (j *job) make(d *source.Definition) error {
	if d == nil {
		return fmt.Errorf("load: it is not known how table %q is made", j.name)
	}
	j.create = d
	if j.to == j.name && d.Schema != "" {
		j.to = d.Schema + "." + d.Name
	}
	return nil
}

// relate returns which tables are made together, so that foreign keys refer to these in another system.
func relate(jobs iter.Seq[*job]) map[sink.TableName]sink.Related {
	related := map[sink.TableName]sink.Related{}
	for j := range jobs {
		if j.create != nil {
			related[j.source()] = sink.Related{Name: j.to, Definition: j.create}
		}
	}
	return related
}

// source returns the name of a table that is made, as its source has it.
func (j *job) source() sink.TableName {
	return sink.TableName{Schema: j.create.Schema, Name: j.create.Name}
}

// unrelate has no foreign key refer to tables that cannot be made.
func (p *Plan) unrelate(planned []Planned, jobOf func(i int) *job) {
	for i := range planned {
		if j := jobOf(i); planned[i].Err != nil && j != nil && j.create != nil {
			delete(p.related, j.source())
		}
	}
}

// define returns the definition of a table of a source if the table is to be made, or nil.
func (p *Plan) define(ctx context.Context, src source.Source, from string) (*source.Definition, error) {
	definer, is := src.(source.Definer)
	switch {
	case !p.Create:
		return nil, nil
	case !is:
		return nil, errors.New("load: the source does not say how its tables are made")
	}
	d, err := definer.Define(ctx, from)
	if err == nil && d == nil {
		err = fmt.Errorf("load: the source does not say how table %q is made", from)
	}
	choice := p.Choices[from]
	return p.Masks.Definition(from, choice.Define(d)), err
}

// generatedOf returns the columns of a definition that take no values. There are none if it is nil.
func generatedOf(d *source.Definition) (names []string) {
	if d == nil {
		return nil
	}
	for _, c := range d.Columns {
		if c.Generated != "" {
			names = append(names, c.Name)
		}
	}
	return names
}

// withoutGenerated returns the plan without columns that take no values.
func (p *Plan) withoutGenerated(generated []string, of []source.Column) *Plan {
	isGenerated := func(name string) bool { return slices.Contains(generated, name) }
	names := namesOf(of)
	if len(p.Columns) > 0 || !slices.ContainsFunc(names, isGenerated) {
		return p
	}
	fewer := *p
	fewer.Columns = slices.DeleteFunc(names, isGenerated)
	return &fewer
}

// Finish adds the foreign keys of tables that [Plan.Copy] has made, when all of them have their rows. A failure is the
// Err of its table, an [*UnfinishedError], and is returned if it ends the work, or if there is only one table.
func Finish(ctx context.Context, dst sink.Sink, tables []Stats) error {
	creator, is := dst.(sink.Creator)
	for i := range tables {
		stats := &tables[i]
		if !is || stats.made == nil {
			continue
		}
		err := creator.Finish(ctx, stats.Table, *stats.made)
		if err == nil {
			continue
		}
		stats.unfinished(err)
		if ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) || len(tables) == 1 {
			unfinished(tables[i+1:])
			return stats.Err
		}
	}
	return nil
}

// unfinished has tables that were made fail if their foreign keys will not be added.
func unfinished(tables []Stats) {
	for i := range tables {
		if stats := &tables[i]; stats.made != nil && len(stats.later) > 0 && !isUnfinished(stats.Err) {
			stats.unfinished(errEndedBefore)
		}
	}
}

// unfinished adds to what could not be done that foreign keys are missing.
func (s *Stats) unfinished(why error) {
	missing := &UnfinishedError{Missing: s.later, Err: why}
	if s.Err == nil {
		s.Err = missing
		return
	}
	s.Err = fmt.Errorf("%w; %w", s.Err, missing)
}

func isUnfinished(err error) bool {
	_, is := errors.AsType[*UnfinishedError](err)
	return is
}

var errEndedBefore = errors.New("the work ended before")

// UnfinishedError reports that a table that was made has its rows, but not all foreign keys. A load that is repeated
// with the same ledger adds them.
type UnfinishedError struct {
	Missing []string // by name
	Err     error    // why
}

func (e *UnfinishedError) Error() string {
	names := ""
	if len(e.Missing) > 0 {
		names = " " + strings.Join(e.Missing, ", ")
	}
	return fmt.Sprintf("load: the rows are committed, but the foreign keys%s are missing: %v", names, e.Err)
}

// Unwrap returns the cause.
func (e *UnfinishedError) Unwrap() error { return e.Err }
