package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/sink"
	"culvert/source"
)

// links reports whether tables that refer to each other are filled in one transaction: if their rows are replaced.
// Tables that a schema has just made have no keys yet.
func (p *Plan) links(dst sink.Sink) bool {
	_, groups := dst.(sink.Grouper)
	f := p.Filling
	return groups && f.Existing > sink.Append && f.Conflict == sink.Fail && !p.fresh
}

// linksCircles reports whether tables that refer to each other in a circle, or to themselves, are filled in one
// transaction: if they exist and keep the rows that they have, if any. No order of them suits their keys. Rows that are
// rejected are found by the server, one by one.
func (p *Plan) linksCircles(dst sink.Sink) bool {
	_, groups := dst.(sink.Grouper)
	f := p.Filling
	return groups && f.Existing <= sink.Append && f.Conflict == sink.Fail && !p.Create && !p.fresh && p.Rejects == nil
}

// link finds the tables that are filled together, and says so in their plans and jobs. They fail together too. If rows
// are replaced, all were looked up as tables of a group; those to which only others refer are looked up again, to be
// filled alone.
func (p *Plan) link(
	ctx context.Context, dst sink.Sink, planned []Planned, jobOf func(i int) *job, look func(i int) (sink.Plan, error),
) error {
	replaces := p.links(dst)
	switch {
	case replaces:
		failLinked(planned)
	case p.Filling.Linked:
		keepCircles(planned)
	default:
		return nil
	}
	for _, set := range linked(planned) {
		first := &planned[set[0]]
		isTogether := len(set) > 1 || slices.Contains(first.Refers, first.Table) ||
			p.Filling.Existing == sink.Swap && len(first.Referred) > 0
		if isTogether {
			p.planTogether(ctx, dst, planned, set, jobOf)
		} else {
			jobOf(set[0]).grouped = false
			if replaces && (len(first.Referred) > 0 || p.Filling.EachPart) {
				first.Plan, first.Err = look(set[0])
			}
		}
		for _, i := range set {
			if ctx.Err() != nil || errors.Is(planned[i].Err, source.ErrUnavailable) {
				return planned[i].Err
			}
		}
	}
	return nil
}

// failLinked has tables fail that foreign keys link to those that have failed, also through others: they are replaced
// together, or not at all.
func failLinked(planned []Planned) {
	known := map[string]bool{} // the tables of which a sink has said which they are
	for _, one := range planned {
		if one.Err == nil {
			known[one.Table] = true
		}
	}
	for again := true; again; {
		again = false
		for i := range planned {
			one := &planned[i]
			if one.Err != nil {
				continue
			}
			links := slices.Concat(one.Refers, one.Referred)
			at := slices.IndexFunc(planned, func(other Planned) bool {
				return other.Err != nil && slices.ContainsFunc(links, func(sql string) bool {
					return sql == other.Table || !known[sql] && isNamed(sql, other.Table)
				})
			})
			if at < 0 {
				continue
			}
			failed := &TogetherError{Failed: planned[at].Name, Err: planned[at].Err}
			if before, is := errors.AsType[*TogetherError](planned[at].Err); is {
				failed = before
			}
			one.Err, again = failed, true
		}
	}
}

// keepCircles leaves of the links between tables only those of circles, also of a table that refers to itself.
func keepCircles(planned []Planned) {
	places := placesOf(planned)
	var keys []sink.Key
	for i := range planned {
		for _, name := range planned[i].Refers {
			if to, is := places[name]; is && planned[i].Err == nil {
				keys = append(keys, sink.Key{From: i, To: to})
			}
		}
		planned[i].Refers, planned[i].Referred = nil, nil
	}
	_, isCircular := sink.OrderByKeys(len(planned), keys)
	for i, key := range keys {
		if isCircular[i] {
			planned[key.From].Refers = append(planned[key.From].Refers, planned[key.To].Table)
			planned[key.To].Referred = append(planned[key.To].Referred, planned[key.From].Table)
		}
	}
}

// isNamed reports whether a table may be the one that was asked for by a name, of which a sink has not said which table
// it is. The name may lack a schema.
func isNamed(sql, name string) bool {
	plain := strings.NewReplacer(`"`, "", "`", "")
	sql, name = strings.ToLower(plain.Replace(sql)), strings.ToLower(plain.Replace(name))
	return sql == name || strings.HasSuffix(sql, "."+name)
}

// placesOf returns where each table is, by its name, without those that have failed.
func placesOf(planned []Planned) map[string]int {
	places := map[string]int{}
	for i := range planned {
		if planned[i].Err == nil {
			places[planned[i].Table] = i
		}
	}
	return places
}

// linked returns the sets of tables that foreign keys link, also through others, without those that have failed.
func linked(planned []Planned) (sets [][]int) {
	places := placesOf(planned)
	seen := make([]bool, len(planned))
	for i := range planned {
		if seen[i] || planned[i].Err != nil {
			continue
		}
		seen[i] = true
		set := []int{i}
		for next := 0; next < len(set); next++ {
			one := &planned[set[next]]
			for _, name := range slices.Concat(one.Refers, one.Referred) {
				if other, is := places[name]; is && !seen[other] {
					seen[other] = true
					set = append(set, other)
				}
			}
		}
		slices.Sort(set)
		sets = append(sets, set)
	}
	return sets
}

// planTogether asks the sink what filling tables together will do.
func (p *Plan) planTogether(
	ctx context.Context, dst sink.Sink, planned []Planned, set []int, jobOf func(i int) *job,
) {
	var jobs []*job
	var names []string
	for _, i := range set {
		j := jobOf(i)
		j.table, j.alone, j.grouped = planned[i].Table, aloneTogether, true
		jobs, names = append(jobs, j), append(names, planned[i].Name)
	}
	group, err := dst.(sink.Grouper).PlanGroup(ctx, p.members(jobs))
	if err != nil {
		for at, err := range errorsTogether(err, jobs) {
			planned[set[at]].Err = err
		}
		return
	}
	for at, i := range set {
		one := &planned[i]
		one.Together, one.Loaders, one.Alone, one.Steps = names, 1, aloneTogether, group.Steps[at]
	}
}

const aloneTogether = "tables that refer to each other are filled in one transaction"

// tasksOf returns the tables that can be filled, those that are filled together as one task.
func tasksOf(planned []Planned) (tasks [][]int) {
	places := map[string]int{} // of tasks, by their first table
	for i := range planned {
		one := &planned[i]
		if one.Err != nil {
			continue
		}
		if one.Together != nil {
			if at, is := places[one.Together[0]]; is {
				tasks[at] = append(tasks[at], i)
				continue
			}
			places[one.Together[0]] = len(tasks)
		}
		tasks = append(tasks, []int{i})
	}
	return tasks
}

// opener begins to fill a table, as [sink.Sink.Table] does.
type opener func(ctx context.Context, name string, f sink.Filling) (sink.Table, error)

// members are the tables of jobs as those of a group.
func (p *Plan) members(jobs []*job) []sink.Member {
	var members []sink.Member
	for _, j := range jobs {
		f := p.filling(j)
		f.Loaders = 1
		members = append(members, sink.Member{Name: j.to, Filling: f})
	}
	return members
}

// fillTogether fills tables in one transaction, by fill. It returns the figures of all tables, and the error of each if
// there is any.
func (p *Plan) fillTogether(
	ctx context.Context, dst sink.Sink, jobs []*job, fill func(i int, open opener) (Stats, error),
) (all []Stats, errs []error) {
	all = make([]Stats, len(jobs))
	fail := func(err error) ([]Stats, []error) {
		for i, j := range jobs {
			if all[i].undo != nil {
				err = errors.Join(err, all[i].undo(err))
			}
			all[i] = Stats{Name: j.name, Table: j.to}
		}
		return all, errorsTogether(err, jobs)
	}
	group, err := dst.(sink.Grouper).Group(ctx, p.members(jobs))
	if err != nil {
		return fail(err)
	}
	for _, i := range group.Order() {
		all[i], err = fill(i, func(context.Context, string, sink.Filling) (sink.Table, error) { return group.Table(i) })
		if err != nil {
			return fail(&memberError{i, errors.Join(err, group.Discard())})
		}
	}
	if err := group.Commit(); err != nil {
		return fail(errors.Join(err, group.Discard()))
	}
	return all, nil
}

// memberError is the error of a table of a group.
type memberError struct {
	member int
	err    error
}

func (e *memberError) Error() string { return e.err.Error() }

func (e *memberError) Unwrap() error { return e.err }

// errorsTogether returns the error of each table that is filled together with others. It is the error itself of the
// table that has failed, as far as that is known.
func errorsTogether(err error, jobs []*job) []error {
	errs := make([]error, len(jobs))
	at := 0
	row, isRow := errors.AsType[*sink.RowError](err)
	referenced, isReferenced := errors.AsType[*sink.ReferencedError](err)
	member, isMember := errors.AsType[*memberError](err)
	switch {
	case isMember:
		at, err = member.member, member.err
	case isRow:
		at = max(0, slices.IndexFunc(jobs, func(j *job) bool { return j.table == row.Table }))
	case isReferenced:
		at = max(0, slices.IndexFunc(jobs, func(j *job) bool {
			return slices.Contains(strings.Split(referenced.Table, ", "), j.table)
		}))
	}
	for i := range errs {
		errs[i] = &TogetherError{Failed: jobs[at].name, Err: err}
	}
	if errors.Is(err, source.ErrUnavailable) || errors.Is(err, sink.ErrUnconfirmed) {
		for i := range errs {
			errs[i] = err
		}
	}
	errs[at] = err
	return errs
}

// TogetherError is the error of a table that is filled in one transaction with another one, which has failed.
type TogetherError struct {
	Failed string // the name of the other one in the manifest or the source
	Err    error  // its error, which is not one of this table
}

func (e *TogetherError) Error() string {
	return fmt.Sprintf("load: it is filled in one transaction with table %q, which has failed", e.Failed)
}
