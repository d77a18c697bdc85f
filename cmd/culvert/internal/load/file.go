package load

import (
	"context"
	"errors"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/format"
	"culvert/load"
)

// formatOf returns the format of a file by --csv, or by its name.
func (o *options) formatOf(name string) (format.Readable, error) {
	if !o.csv.Given() {
		return load.FormatOf(name)
	}
	if o.format != "" && o.format != "csv" {
		return nil, command.Usagef("--csv is for CSV, and cannot be combined with --format %s", o.format)
	}
	return o.csv.Dialect()
}

// columnFile loads a file of columns.
func (l *loading) columnFile(
	ctx context.Context, in *argument.Input, config export.ReadConfig, f format.Columnar, do doer,
) (err error) {
	defer func() { err = in.Close(err) }()
	file, err := in.ColumnFile(config, f)
	if err != nil {
		return err
	}
	db, err := l.db.OpenSink(ctx, l.o.makes())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return l.explain(nil, do.columns(ctx, db, in, file))
}
