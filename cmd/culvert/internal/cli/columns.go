package cli

import (
	"bytes"
	"context"
	"errors"
	"io"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/format"
	"culvert/source"
)

// catAny prints a file of columns, or a table in parts of such, if the arguments name one.
func catAny(
	ctx context.Context, a *command.App, w *command.Work, o *catOptions, args []string, config export.ReadConfig,
) (done bool, err error) {
	if len(args) == 0 || args[0] == "-" {
		return o.check(false) != nil, o.check(false)
	}
	if f := argument.ColumnarOf(args[0]); f != nil {
		if err := o.check(true); err != nil {
			return true, err
		}
		return true, catColumns(ctx, a, w, o, args[0], f, config)
	}
	if !argument.IsURL(args[0]) && argument.IsDirectory(args[0]) {
		t, err := argument.OpenTable(ctx, a, args[0], &o.PlaceFlags, config)
		if t == nil || err != nil {
			return o.check(false) != nil, o.check(false) // OpenText says what it is
		}
		if f := argument.Columnar[t.Export.Manifest.Format]; f != nil {
			if err = o.check(true); err == nil {
				err = catParts(ctx, a, w, o, t, f)
			}
			return true, t.Close(err)
		}
		return false, t.Close(nil)
	}
	return o.check(false) != nil, o.check(false)
}

// catColumns prints a file of columns as text.
func catColumns(
	ctx context.Context, a *command.App, w *command.Work, o *catOptions, name string, f format.Columnar,
	config export.ReadConfig,
) (err error) {
	in, err := argument.OpenInput(ctx, a, []string{name}, &o.PlaceFlags)
	if err != nil {
		return err
	}
	defer func() { err = in.Close(err) }()
	file, err := in.ColumnFile(config, f)
	if err != nil {
		return err
	}
	out, done, err := openStdout(ctx, a)
	if err != nil {
		return err
	}
	counted := beginMoving(w, in.Size, func(int64) int64 { return in.BytesRead.Load() }, out)
	if err := printColumns(ctx, counted, file, o.text(), true); err != nil {
		return done(counted.Blame(err, argument.ReadError(in.Name, err)))
	}
	return done(out.Commit())
}

// catParts prints a table of an export whose files have columns.
func catParts(
	ctx context.Context, a *command.App, w *command.Work, o *catOptions, t *argument.Table, f format.Columnar,
) error {
	if err := t.Export.VerifyTable(ctx, t.Entry); err != nil {
		return t.Explain(err)
	}
	out, done, err := openStdout(ctx, a)
	if err != nil {
		return err
	}
	counted := beginMoving(w, t.Entry.FileBytes, t.BytesIn, out)
	for i := range t.Entry.Parts {
		part := &t.Entry.Parts[i]
		at, err := t.Export.OpenPart(part)
		if err == nil {
			var file format.ColumnFile
			if file, err = f.Open(at, at.Size()); err == nil {
				err = printColumns(ctx, counted, file, o.text(), i == 0)
			}
			err = errors.Join(err, at.Close())
		}
		if err != nil {
			return done(counted.Blame(err, argument.ReadError(t.At(part.File), err)))
		}
	}
	return done(out.Commit())
}

// printColumns writes all rows of a file as text.
func printColumns(ctx context.Context, w io.Writer, file format.ColumnFile, f format.Format, header bool) error {
	encoder, err := f.Encoder(file.Columns())
	if err != nil {
		return err
	}
	var text []byte
	if header {
		if text = encoder.AppendHeader(text); len(text) > 0 {
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
	}
	all := make([]int, len(file.Columns()))
	for i := range all {
		all[i] = i
	}
	write := func(text []byte) ([]byte, error) {
		_, err := io.Copy(w, bytes.NewReader(text))
		return text[:0], err
	}
	var batch source.Batch
	for group := range file.Groups() {
		rows, err := file.Rows(group, all)
		if err != nil {
			return err
		}
		for err = rows.Next(&batch); err == nil; err = rows.Next(&batch) {
			if err := context.Cause(ctx); err != nil {
				return errors.Join(err, rows.Close())
			}
			const piece = 1 << 20
			text, err = encoder.AppendPieces(text[:0], &batch, piece, write)
			if err == nil {
				text, err = write(text)
			}
			if err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		if closeErr := rows.Close(); err != io.EOF || closeErr != nil {
			return errors.Join(err, closeErr)
		}
	}
	return nil
}
