package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/jobs"
	"culvert/cmd/culvert/internal/ui"
	"culvert/manifest"
	"culvert/source"
)

// defaultPartSize is the size of the parts that several workers write.
const defaultPartSize = 256 << 20

// sizeOfParts returns the size of parts, or 0 if tables are not written in parts.
func (o *options) sizeOfParts() int64 {
	if o.partSize == 0 && o.shared.Given() {
		return defaultPartSize
	}
	return int64(o.partSize)
}

// checkShared refuses flags of an export by several workers that do not fit together.
func (o *options) checkShared() error {
	switch {
	case o.ordered && o.shared.Given():
		return command.WithHint(command.Usagef("--ordered is for one connection, not for several workers"),
			"leave out --workers, --queue and --resume")
	case o.Jobs != 0 && (o.shared.Workers != 0 || o.shared.Elsewhere()):
		return command.WithHint(command.Usagef("--jobs says nothing of an export with --workers or --queue"),
			"use N sessions of this process: --workers N", "or N of another one: culvert worker -j N")
	}
	return o.shared.Check()
}

// share exports tables by several workers.
func (e *tablesExport) share(
	ctx context.Context, a *command.App, w *command.Work, r *Report, l *argument.Location,
) error {
	o := e.options
	if err := e.checkFiles(l); err != nil {
		return err
	}
	if o.shared.Workers == 0 && !o.shared.Elsewhere() {
		o.shared.Workers = e.plan.MaxReaders()
	}
	names := e.names
	job := &jobs.Export{
		Flags: &o.shared, Plan: e.plan, Layout: o.Layout, Database: e.db, Held: o.held(),
		To:     l,
		Choice: jobs.Choice{Names: names, All: o.all, Schemas: o.schemas},
		Tables: func(ctx context.Context, src source.Source) ([]string, error) {
			return o.tableNames(ctx, src, names)
		},
		Omitted: o.omitted,
	}
	r.Output, w.Name = l.Text, l.Text
	m, err := job.Run(ctx, a, w)
	r.Job = job.Name()
	if m != nil {
		r.tell(a, w, m)
	}
	if errors.Is(err, fs.ErrExist) {
		err = l.Explain(err) // a manifest
	}
	return err
}

// locate returns the directory of tables if none is named. Its name may be that of the database.
func (e *tablesExport) locate(
	ctx context.Context, a *command.App,
) (inner context.Context, l *argument.Location, err error) {
	src, err := e.options.open(ctx, e.db)
	if err != nil {
		return nil, nil, err
	}
	path, err := e.options.directory(ctx, src)
	if err = errors.Join(err, src.Close()); err != nil {
		return nil, nil, e.db.Explain(err)
	}
	return newDirectory(ctx, a, path, e.options)
}

// tell reports what the manifest says of each table.
func (r *Report) tell(a *command.App, w *command.Work, m *manifest.Manifest) {
	r.Consistent, r.Omitted = &m.Consistent, m.Omitted
	if !w.Flags.JSON {
		a.WarnOmitted(r.Omitted)
	}
	complete := 0
	for i := range m.Tables {
		t := &m.Tables[i]
		one := tableReport{
			Name: t.Name, File: t.File(), Rows: t.Rows, TextBytes: t.TextBytes, FileBytes: t.FileBytes,
			Parts: len(t.Parts), Sum: t.Sum, Outside: t.Snapshot == manifest.NoSnapshot,
		}
		if t.Error == "" {
			complete++
		} else {
			failure := command.PackageNames.ReplaceAllString(t.Error, "$1")
			one = tableReport{Name: t.Name, Error: a.Secrets.Redact(failure)}
			if !w.Flags.JSON {
				a.Console.Error(aboutTable(t.Name, "", one.Error))
			}
		}
		r.Tables = append(r.Tables, one)
	}
	of := ui.Several(int64(len(m.Tables)), "table")
	w.Summary = of + ", "
	if complete < len(m.Tables) {
		w.Summary = fmt.Sprintf("%d of %s, ", complete, of)
	}
	if !m.Consistent && !w.Flags.JSON {
		a.Console.Warn("the tables are not of one snapshot; culvert verify says which are")
	}
}
