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

// columns are a file of columns, which is read at any place, or once.
type columns struct {
	file   format.ColumnFile
	stream format.ColumnStream
}

// columnFile loads a file of columns.
func (l *loading) columnFile(
	ctx context.Context, in *argument.Input, config export.ReadConfig, f format.Columnar, do doer,
) error {
	if streamed, is := f.(format.Streamed); is && in.IsStream() {
		config.Packed = true
		return in.Use(config, func(text *export.Reader) error {
			stream, err := streamed.OpenStream(text)
			if err != nil {
				return argument.ReadError(in.Name, err)
			}
			return l.columns(ctx, in, columns{stream: stream}, do)
		})
	}
	file, err := in.ColumnFile(config, f)
	if err == nil {
		err = l.columns(ctx, in, columns{file: file}, do)
	}
	return in.Close(err)
}

func (l *loading) columns(ctx context.Context, in *argument.Input, from columns, do doer) (err error) {
	done, err := l.work.reject(ctx, &l.o.reject, &l.o.PlaceFlags, nil)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	db, err := l.db.OpenSink(ctx, l.o.makes())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return l.explain(nil, do.columns(ctx, db, in, from))
}
