package load

import (
	"context"
	"io"

	"culvert/cmd/culvert/internal/argument"
	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/manifest"
	"culvert/sink"
)

// filling is a [doer] that loads.
type filling struct{ *loading }

func (f *filling) text(
	ctx context.Context, db sink.Sink, in *argument.Input, text io.Reader, readable format.Readable,
) error {
	f.watch(f.tables[0].to, in.BytesRead.Load, func() float64 {
		if in.Size == 0 {
			return -1
		}
		return float64(in.BytesRead.Load()) / float64(in.Size)
	})
	stats, err := f.plan.Text(ctx, db, text, in.Name, readable, f.tables[0].to)
	return f.finish(stats, err)
}

func (f *filling) columns(
	ctx context.Context, db sink.Sink, in *argument.Input, from columns,
) error {
	f.watch(f.tables[0].to, in.BytesRead.Load, f.plan.Progress.Done)
	var stats load.Stats
	var err error
	if from.stream != nil {
		stats, err = f.plan.Stream(ctx, db, from.stream, in.Name, f.tables[0].to)
	} else {
		stats, err = f.plan.File(ctx, db, from.file, in.Name, f.tables[0].to)
	}
	if err == nil && stats.Omitted != nil {
		f.leaveOut(stats.Omitted, f.o.JSON)
	}
	return f.finish(stats, err)
}

// finish reports what became of a table from a file.
func (f *filling) finish(stats load.Stats, err error) error {
	f.w.Stop()
	if stats.Name != "" { // otherwise nothing has begun
		f.r.add(f.a, stats, f.explain(nil, err))
	}
	if err == nil {
		reportLoaders(f.w, f.o.Jobs, []load.Stats{stats})
		reportConversions(f.w, []load.Stats{stats})
		return f.reportRejects(&f.o.reject, []load.Stats{stats}, nil)
	}
	return err
}

func (f *filling) directory(
	ctx context.Context, db sink.Sink, at *argument.Location, from *export.Directory,
) error {
	all, err := f.loadTables(at, from, func() ([]load.Stats, error) {
		all, err := f.plan.Directory(ctx, db, from, namesOf(f.tables))
		return all, withNeedsHint(err)
	})
	wanted := len(f.tables)
	if wanted == 0 {
		wanted = tablesOf(from.Manifest, f.plan.Create)
	}
	reportTables(f.a, f.w, f.r, f.o.Jobs, all, wanted, err)
	return f.reportRejects(&f.o.reject, all, f.goesOn(err, all, from.Manifest))
}

// tablesOf returns how many tables of an export are loaded if none is named: those without rows only if they are made.
func tablesOf(m *manifest.Manifest, make bool) int {
	withRows := 0
	for i := range m.Tables {
		if !m.Tables[i].IsDefined() {
			withRows++
		}
	}
	if make || withRows == 0 {
		return len(m.Tables)
	}
	return withRows
}

// loadTables loads tables of an export, shows the progress meanwhile, and explains the error of each.
func (f *filling) loadTables(
	at *argument.Location, from *export.Directory, run func() ([]load.Stats, error),
) ([]load.Stats, error) {
	f.watch(at.Text, func() int64 {
		files, _ := from.Progress()
		return files
	}, f.plan.Progress.Done)
	all, err := run()
	f.w.Stop() // what follows is no progress
	for i := range all {
		all[i].Err = f.explain(at, all[i].Err)
	}
	return all, err
}
