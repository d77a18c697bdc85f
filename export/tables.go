package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"culvert/internal/rowsum"
	"culvert/manifest"
	"culvert/mask"
	"culvert/place"
	"culvert/source"
)

// TableStats are the figures of one of several tables. They are zero if its export failed.
type TableStats struct {
	Stats
	Name    string          // of the table
	File    string          // the name of its file, or of the directory of its parts
	Columns []source.Column // of the table
	Parts   []manifest.Part // its files; one, unless the plan has a PartSize; none if the table has no rows
	Err     error           // why there is no file
}

// PartialError reports that some of several tables could not be exported. The others are complete, and the manifest is
// written.
type PartialError struct {
	Failed, Tables int
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("export: %d of %d tables failed", e.Failed, e.Tables)
}

// Tables writes each table to a file of its own, and then the manifest. [manifest.FileNames] returns the names of the
// files. One table is written after the other, each read by as many connections as with Table. If the source looks up
// many tables together ([source.Preparer]) and is a [source.Sharer] or a [source.Grouped], as many sessions as for
// parts, at least 8 tables for each, first write the tables of up to 4 MiB. They take the memory of such sessions.
//
// With a PartSize, each table is written in parts, whose files are in a directory of the table and have the names that
// [manifest.PartFile] returns. If the source is a [source.Sharer], up to Jobs sessions, at most 16, read parts at the
// same time. A [source.Grouped] has the sessions that were opened with it. Each session has one job, and a goroutine
// that compresses beside it. Other sources are read part by part, with all jobs. A session that fails with
// [source.ErrLocked] leaves the rest of the table to the others, and the first one reads what none has read. N sessions
// take at most
//
//	N × (20 MiB + max(32 MiB, 2 × the largest row) if there are rows of more than about 1 MiB)
//
// All tables are looked up before anything is written. An unknown name ends the export, and with FailFast any table
// that cannot be looked up. If a table fails, the others are still exported, unless FailFast is set, and the error is a
// [*PartialError]. The files of its other parts are removed. A lost database ([source.ErrUnavailable]), the end of the
// context and an error of the place stop the export. Then there is no manifest, and the result has only the tables
// whose files are complete. If a standby has ended it ([source.ErrConflict]), these files are removed too, so that it
// can begin again with another source.
//
// If a manifest exists, or the journal of an export by several workers that was not finished, the error wraps
// [fs.ErrExist]. With Overwrite, they are removed before the first file is written, and files of the earlier export
// that have other names remain. If several exports without Overwrite write the same tables to one place, the one that
// completes the first file goes on, and the others fail with such an error; of exports in parts, all may fail. Those
// with Overwrite must be kept apart: they would replace files of each other, which only a [Directory] finds.
func (p *Plan) Tables(ctx context.Context, to place.Place, src source.Source, names []string) ([]TableStats, error) {
	if err := p.checkTables(names, src); err != nil {
		return nil, err
	}
	description, err := source.Describe(ctx, src)
	if err != nil {
		return nil, err
	}
	t := &tables{plan: p, to: to, list: p.NewManifest(description), all: make([]table, len(names))}
	if err := t.lookUp(ctx, src, names); err != nil {
		return nil, err
	}
	if err := p.MakeRoom(ctx, to); err != nil {
		return nil, err
	}
	err = t.write(ctx, src)
	switch {
	case errors.Is(err, source.ErrConflict):
		return nil, errors.Join(err, t.takeBack(ctx))
	case err != nil:
		return t.complete(), err
	}
	return t.finish(ctx)
}

func (p *Plan) checkTables(names []string, src source.Source) error {
	if err := p.checkRecipients(); err != nil {
		return err
	}
	if _, ok := src.(source.Parter); !ok && p.PartSize > 0 {
		return errNoParts
	}
	switch {
	case len(names) == 0:
		return errors.New("export: no tables")
	case !p.Selection.IsZero() && (len(names) > 1 || p.PartSize == 0):
		return errors.New("export: several tables cannot have a selection")
	case p.Selection.Limit > 0:
		return errors.New("export: an export in parts cannot have a limit")
	}
	for _, name := range names {
		if p.Choices[name].Selection.Limit > 0 {
			return errors.New("export: one of several tables cannot have a limit")
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("export: table %q is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// tables is an export of several tables under way: they are looked up and cut into tasks, each of which is a file. One
// session does them one after the other, or several do at the same time. The manifest is made of the files.
type tables struct {
	plan     *Plan
	to       place.Place
	list     *manifest.Manifest
	all      []table
	sessions *sessions
	commits  commits
	prepares bool // the source looks up many tables together

	mu   sync.Mutex // of what tables know of files that end
	left []task     // for the first session, since others did not get the lock
}

type table struct {
	outline Outline
	share   share // of a table in one file
	stats   TableStats
	files   []manifest.Part // those that are not complete have no name

	refused map[int]bool // sessions that did not get the lock
}

// task is a file that a session must write.
type task struct {
	table  *table
	number int // of the part, from 0
	weight int64
}

// stops reports whether no other table can be read after an error.
func stops(ctx context.Context, err error) bool {
	return err != nil &&
		(ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) || errors.Is(err, source.ErrConflict))
}

// aboutTable adds the name of the table to an error that does not have it.
func aboutTable(one *TableStats, err error) error {
	// Databases put the name in quotes, possibly after a schema.
	if text := err.Error(); strings.Contains(text, one.Name+`"`) || strings.Contains(text, one.File) {
		return err
	}
	return fmt.Errorf("export: table %q: %w", one.Name, err)
}

// tasks returns all files, and how many of them are parts.
func (t *tables) tasks() (tasks []task, parts int) {
	const fixed = 64 << 10 // the cost of a part, as bytes
	for i := range t.all {
		one := &t.all[i]
		for number := range one.files {
			next := task{table: one, number: number, weight: one.share.weight}
			if len(one.outline.Parts) > 0 {
				next.weight = one.outline.Parts[number].Bytes + fixed
				parts++
			}
			tasks = append(tasks, next)
		}
	}
	return tasks, parts
}

// do writes one file, unless another one of its table has failed. The error must stop the export.
//
// The first session has locked the table when it has cut it. Another session that does not get the lock leaves this and
// the next parts of the table to those that have it.
func (t *tables) do(ctx context.Context, session int, task task) error {
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
	name, w := t.work(task, session)
	w.large = t.commits.hurry
	out, err := t.sessions.plan.writeFile(ctx, t.to, name, w)
	if errors.Is(err, source.ErrLocked) && session > 0 {
		t.leave(task, session, err)
		return nil
	}
	t.plan.Progress.ended(task)
	ended := func(err error) error { return t.ended(ctx, task, out, err) }
	switch {
	case err != nil:
		return ended(err)
	case w.part != nil:
		return ended(out.commit())
	}
	one.stats.Readers, one.stats.Indivisible = out.stats.Readers, out.stats.Indivisible
	one.outline.Columns = out.columns
	return t.commits.begin(out, ended)
}

// work returns the file of a task, and what a session does for it.
func (t *tables) work(task task, session int) (file string, w work) {
	one, src := task.table, t.sessions.sources[session]
	if len(one.outline.Parts) > 0 {
		file = manifest.PartFile(one.stats.File, task.number+1, 1, t.plan.Extension())
		return file, partWork(src, &one.outline.Parts[task.number], t.sessions.codec)
	}
	return one.stats.File, work{
		table: one.stats.Name, open: t.plan.table(src, one.stats.Name), divide: !t.plan.Ordered, share: one.share,
		codec:  t.sessions.codec,
		beside: len(t.sessions.sources) > 1,
	}
}

// leave leaves a part to the first of all sessions, since another one did not get the lock.
func (t *tables) leave(task task, session int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := task.table
	one.refused[session] = true
	t.left = append(t.left, task)
	one.stats.Readers = min(one.stats.Readers, len(t.sessions.sources)-len(one.refused))
	if one.stats.Indivisible == nil {
		reason := "someone else has locked it, or waits to change it"
		one.stats.Indivisible = &source.IndivisibleError{Reason: reason, Err: err}
	}
}

// ended records that a file is complete, or has failed. The error must stop the export.
func (t *tables) ended(ctx context.Context, task task, out *output, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := task.table
	if err == nil {
		one.files[task.number] = out.entry
		return nil
	}
	if one.stats.Err == nil {
		one.stats.Err = err
	}
	if isOfPlace(err) || stops(ctx, err) || t.plan.FailFast {
		return aboutTable(&one.stats, err)
	}
	return nil
}

// finish removes files of tables that failed, and writes the manifest.
func (t *tables) finish(ctx context.Context) ([]TableStats, error) {
	failed := 0
	all := make([]TableStats, len(t.all))
	for i := range t.all {
		one := &t.all[i]
		if one.stats.Err != nil {
			failed++
			t.list.Add(manifest.FailedTable(one.stats.Name, one.stats.Err))
			if err := t.remove(ctx, one); err != nil {
				one.stats.Err = fmt.Errorf("%w; export: a part of a table that failed is left: %w", one.stats.Err, err)
			}
			all[i] = one.stats
			if ctx.Err() != nil {
				return t.complete(), ctx.Err()
			}
			continue
		}
		entry, err := t.join(one)
		if err != nil {
			return t.complete(), err
		}
		t.list.Add(entry)
		all[i] = one.stats
	}
	if err := t.plan.Masks.End(); err != nil {
		return t.complete(), err
	}
	if err := t.writeSchema(ctx); err != nil {
		return t.complete(), err
	}
	if err := t.plan.WriteManifest(ctx, t.to, t.list); err != nil {
		return t.complete(), err
	}
	if failed > 0 {
		return all, &PartialError{Failed: failed, Tables: len(all)}
	}
	return all, nil
}

// writeSchema writes the schema, which may be complete only now.
func (t *tables) writeSchema(ctx context.Context) (err error) {
	plan := *t.plan
	if plan.FinishSchema != nil {
		if plan.Schema, t.list.Omitted, err = plan.FinishSchema(ctx); err != nil {
			return err
		}
	}
	var known []mask.Table
	for i := range t.all {
		known = append(known, t.all[i].outline.maskTable()) // also of tables that failed
	}
	plan.Schema = plan.Masks.Schema(plan.Schema, known)
	return plan.WriteSchema(ctx, t.to, t.list)
}

// join makes the entry of a table in the manifest, and takes its figures from there.
func (t *tables) join(one *table) (entry manifest.Table, err error) {
	if entry, err = t.plan.Entry(&one.outline, one.files); err != nil {
		return entry, err
	}
	s := &one.stats
	entry.Readers = s.Readers
	s.Rows, s.Text, s.Out, s.Untold = entry.Rows, entry.TextBytes, entry.FileBytes, entry.Untold()
	s.Columns, s.Parts, s.Unfit = one.outline.Columns, one.files, entry.Unfit()
	if entry.IsDefined() {
		s.File = ""
		return entry, nil
	}
	s.Sum, err = rowsum.Parse(entry.Sum)
	return entry, err
}

// remove removes the files of a table, and its figures.
func (t *tables) remove(ctx context.Context, one *table) error {
	one.stats = TableStats{Name: one.stats.Name, File: one.stats.File, Err: one.stats.Err}
	var errs []error
	for _, file := range one.files {
		if file.File == "" {
			continue
		}
		if err := t.to.Remove(ctx, file.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// takeBack removes all files.
func (t *tables) takeBack(ctx context.Context) error {
	var errs []error
	for i := range t.all {
		errs = append(errs, t.remove(ctx, &t.all[i]))
	}
	return errors.Join(errs...)
}

// complete returns the tables of which all files are complete.
func (t *tables) complete() (all []TableStats) {
	for i := range t.all {
		if one := &t.all[i]; one.stats.Err == nil {
			if _, err := t.join(one); err == nil {
				all = append(all, one.stats)
			}
		}
	}
	return all
}
