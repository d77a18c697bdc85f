package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"culvert/internal/rowsum"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// TablesInParts writes each table in parts of about size bytes, as stored by the database, and then the manifest. Each
// part is a file of its own in the directory of the table, with the name that [manifest.PartFile] returns. The source
// must be a [source.Parter].
//
// If the source is a [source.Sharer], up to Jobs sessions, at most 16, read parts at the same time, each with one job.
// Otherwise the parts are read one after the other, with all jobs. N sessions take at most
//
//	N × (20 MiB + max(32 MiB, 2 × the largest row) if there are rows of more than about 1 MiB)
//
// If a manifest exists, or the journal of an export by several workers that was not finished, the error wraps
// [fs.ErrExist]. With Overwrite, they are removed before the first file is written, and files of the earlier export
// that have other names remain. Of several exports without Overwrite that write the same tables to one place, all may
// fail.
//
// A session that fails with [source.ErrLocked] leaves the rest of the table to the others, and the first one reads what
// none has read.
//
// Failures are treated as by [Plan.Tables]: if a part of a table fails, so does the table, and the files of its other
// parts are removed. A selection without a limit is allowed for a single table.
func (p *Plan) TablesInParts(
	ctx context.Context, to place.Place, src source.Source, names []string, size int64,
) ([]TableStats, error) {
	if err := p.checkParts(names, src); err != nil {
		return nil, err
	}
	description, err := source.Describe(ctx, src)
	if err != nil {
		return nil, err
	}
	t := &partedTables{plan: p, to: to, list: p.NewManifest(description), all: make([]partedTable, len(names))}
	if t.outside, err = source.OutsideSnapshot(ctx, src, names); err != nil {
		return nil, err
	}
	if err := t.cut(ctx, src, names, size); err != nil {
		return nil, err
	}
	if err := p.MakeRoom(ctx, to); err != nil {
		return nil, err
	}
	if err := t.write(ctx, src); err != nil {
		return t.complete(), err
	}
	return t.finish(ctx)
}

func (p *Plan) checkParts(names []string, src source.Source) error {
	whole := *p
	whole.Selection = source.Selection{}
	if err := whole.checkTables(names); err != nil {
		return err
	}
	if _, ok := src.(source.Parter); !ok {
		return errNoParts
	}
	switch {
	case len(names) > 1 && !p.Selection.IsZero():
		return errors.New("export: several tables cannot have a selection")
	case p.Selection.Limit > 0:
		return errors.New("export: an export in parts cannot have a limit")
	}
	return nil
}

// partedTables is an export of tables in parts under way.
type partedTables struct {
	plan *Plan
	to   place.Place
	list *manifest.Manifest
	all  []partedTable

	outside []string // the tables that the snapshot does not hold

	mu   sync.Mutex // of what tables and Progress know of parts that end
	left []partTask // for the first session, since others did not get the lock
}

type partedTable struct {
	stats TableStats
	parts []source.Part
	files []manifest.Part // those of parts that are not complete have no name
	entry manifest.Table

	refused map[int]bool // sessions that did not get the lock
}

// partTask is a part that a session must read.
type partTask struct {
	table  *partedTable
	number int // from 0
	weight int64
}

// cut cuts all tables into parts.
func (t *partedTables) cut(ctx context.Context, src source.Source, names []string, size int64) error {
	for i, directory := range manifest.FileNames(names, "") {
		one := &t.all[i]
		one.stats = TableStats{Name: names[i], File: directory}
		one.parts, one.stats.Err = src.(source.Parter).Parts(ctx, names[i], t.plan.Selection, size)
		if one.stats.Err == nil {
			one.stats.definition, one.stats.Err = source.Define(ctx, src, names[i])
		}
		unknown, _ := errors.AsType[*source.UnknownError](one.stats.Err)
		if err := one.stats.Err; unknown != nil || err != nil && (stops(ctx, err) || t.plan.FailFast) {
			return err
		}
		if one.stats.Err != nil {
			one.parts = nil
			continue
		}
		one.files, one.refused = make([]manifest.Part, len(one.parts)), map[int]bool{}
		one.stats.Columns = one.parts[0].Columns
		if whole := one.parts[0].Whole; whole != "" {
			one.stats.Indivisible = &source.IndivisibleError{Reason: whole}
		}
	}
	return nil
}

// tasks returns all parts.
func (t *partedTables) tasks() (tasks []partTask) {
	const fixed = 64 << 10 // the cost of a part, as bytes
	for i := range t.all {
		for number, part := range t.all[i].parts {
			tasks = append(tasks, partTask{&t.all[i], number, part.Bytes + fixed})
		}
	}
	return tasks
}

// write writes all parts. It returns the error that stopped the export.
func (t *partedTables) write(ctx context.Context, src source.Source) error {
	tasks := t.tasks()
	t.plan.Progress.expect(tasks)
	readers, err := t.plan.openPartReaders(ctx, src, len(tasks))
	if err != nil {
		return err
	}
	for i := range t.all {
		t.all[i].stats.Readers = min(len(readers.sources), len(t.all[i].parts))
		if t.all[i].stats.Indivisible == nil && readers.fewer != nil {
			t.all[i].stats.Indivisible = readers.fewer
		}
	}
	if err = t.writeParts(ctx, readers, len(readers.sources), tasks); err == nil {
		err = t.writeParts(ctx, readers, 1, t.left)
	}
	return errors.Join(err, readers.close())
}

// writeParts writes parts in several sessions, each of which takes the next one when it has written one.
func (t *partedTables) writeParts(ctx context.Context, by *partReaders, sessions int, tasks []partTask) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for session := range sessions {
		group.Go(func() error {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) {
					return nil
				}
				if err := t.writePart(ctx, by, session, tasks[i]); err != nil {
					return err
				}
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}

// writePart writes one part, unless another part of its table has failed. The error must stop the export.
//
// The first session has locked the table when it has cut it. Another session that does not get the lock leaves this and
// the next parts of the table to those that have it.
func (t *partedTables) writePart(ctx context.Context, by *partReaders, session int, task partTask) error {
	one := task.table
	t.mu.Lock()
	skip := one.stats.Err != nil
	if one.refused[session] && !skip {
		t.left, skip = append(t.left, task), true
	}
	t.mu.Unlock()
	if skip {
		return nil
	}
	file := manifest.PartFile(one.stats.File, task.number+1, 1, t.plan.Extension())
	entry, err := by.plan.part(ctx, t.to, file, by.sources[session], one.parts[task.number], by.codec)
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, source.ErrLocked) && session > 0 {
		t.leave(task, session, len(by.sources), err)
		return nil
	}
	t.plan.Progress.ended(task)
	if err == nil {
		one.files[task.number] = entry
		return nil
	}
	if one.stats.Err == nil {
		one.stats.Err = err
	}
	if _, ofPlace := errors.AsType[*PlaceError](err); ofPlace || stops(ctx, err) || t.plan.FailFast {
		return aboutTable(&one.stats, err)
	}
	return nil
}

// leave leaves a part to the first of all sessions, since another one did not get the lock.
func (t *partedTables) leave(task partTask, session, sessions int, err error) {
	one := task.table
	one.refused[session] = true
	t.left = append(t.left, task)
	one.stats.Readers = min(one.stats.Readers, sessions-len(one.refused))
	if one.stats.Indivisible == nil {
		reason := "someone else has locked it, or waits to change it"
		one.stats.Indivisible = &source.IndivisibleError{Reason: reason, Err: err}
	}
}

// finish completes the figures of the tables, removes files of tables that failed, and writes the manifest.
func (t *partedTables) finish(ctx context.Context) ([]TableStats, error) {
	failed := 0
	var all []TableStats
	for i := range t.all {
		one := &t.all[i]
		if err := t.join(ctx, one); err != nil {
			return t.complete(), err
		}
		if one.stats.Err != nil {
			failed++
		}
		t.list.Tables = append(t.list.Tables, one.entry)
		all = append(all, one.stats)
	}
	if err := t.plan.writeManifestOf(ctx, t.to, t.list, all, t.outside); err != nil {
		return t.complete(), err
	}
	if failed > 0 {
		return all, &PartialError{Failed: failed, Tables: len(all)}
	}
	return all, nil
}

// join makes the entry of a table in the manifest.
func (t *partedTables) join(ctx context.Context, one *partedTable) error {
	if err := one.stats.Err; err != nil {
		one.entry = manifest.FailedTable(one.stats.Name, err)
		one.stats = TableStats{Name: one.stats.Name, File: one.stats.File, Err: err}
		if removeErr := t.remove(ctx, one.files); removeErr != nil {
			one.stats.Err = fmt.Errorf("%w; %w", err, removeErr)
		}
		return ctx.Err()
	}
	var err error
	if one.entry, err = t.plan.JoinParts(one.parts[0], one.files); err != nil {
		return err
	}
	one.entry.Readers, one.entry.Definition = one.stats.Readers, one.stats.definition
	sum, err := rowsum.Parse(one.entry.Sum)
	if err != nil {
		return err
	}
	stats := &one.stats
	stats.Rows, stats.Text, stats.Out, stats.Sum = one.entry.Rows, one.entry.TextBytes, one.entry.FileBytes, sum
	stats.Parts, stats.Untold = one.files, one.entry.Untold()
	return nil
}

func (t *partedTables) remove(ctx context.Context, files []manifest.Part) error {
	var errs []error
	for _, file := range files {
		if file.File == "" {
			continue
		}
		if err := t.to.Remove(ctx, file.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("export: a part of a table that failed is left: %w", err))
		}
	}
	return errors.Join(errs...)
}

// complete returns the tables of which all parts are complete.
func (t *partedTables) complete() (all []TableStats) {
	for i := range t.all {
		one := &t.all[i]
		if one.stats.Err != nil {
			continue
		}
		if entry, err := t.plan.JoinParts(one.parts[0], one.files); err == nil {
			stats := one.stats
			stats.Rows, stats.Text, stats.Out = entry.Rows, entry.TextBytes, entry.FileBytes
			stats.Parts = one.files
			all = append(all, stats)
		}
	}
	return all
}
