package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format"
	"culvert/source"
)

// columnsInspection describes a file of columns.
type columnsInspection struct {
	Rows   int64             `json:"rows"`
	Schema []source.Column   `json:"schema"`
	Groups []format.RowGroup `json:"groups"`
}

// inspectColumns describes the content of a file of columns.
func (r *inspectReport) inspectColumns(in *argument.Input, config export.ReadConfig) error {
	f := argument.ColumnarOf(in.Name)
	if f == nil {
		return nil
	}
	file, err := in.ColumnFile(config, f)
	if err != nil {
		return err
	}
	r.Columns = &columnsInspection{Schema: file.Columns(), Groups: file.Groups()}
	for _, g := range r.Columns.Groups {
		r.Columns.Rows += g.Rows
	}
	return nil
}

// write writes the columns and the groups of rows, of which most files have many: the largest is enough.
func (c *columnsInspection) write(b *strings.Builder, line func(label, format string, args ...any)) {
	if c == nil {
		return
	}
	var all, largest format.RowGroup
	for _, g := range c.Groups {
		all.Bytes, all.Text, all.FilterBytes = all.Bytes+g.Bytes, all.Text+g.Text, all.FilterBytes+g.FilterBytes
		largest.Rows, largest.Text = max(largest.Rows, g.Rows), max(largest.Text, g.Text)
		for _, codec := range g.Codecs {
			if !slices.Contains(all.Codecs, codec) {
				all.Codecs = append(all.Codecs, codec)
			}
		}
		for _, name := range g.Filtered {
			if !slices.Contains(all.Filtered, name) {
				all.Filtered = append(all.Filtered, name)
			}
		}
	}
	line("rows", "%s in %s", ui.Count(c.Rows), ui.Several(int64(len(c.Groups)), "row group"))
	if len(c.Groups) > 0 {
		codecs := strings.Join(all.Codecs, ", ")
		if all.Text > 0 {
			line("values", "%s bytes, %s compressed (%s)", ui.Count(all.Text), ui.Count(all.Bytes), codecs)
			line("largest group", "%s rows, %s bytes", ui.Count(largest.Rows), ui.Count(largest.Text))
		} else {
			line("values", "%s bytes compressed (%s)", ui.Count(all.Bytes), codecs)
			line("largest group", "%s rows", ui.Count(largest.Rows))
		}
	}
	if len(all.Filtered) > 0 {
		line("bloom filters", "of %s, %s bytes", ui.Line(strings.Join(all.Filtered, ", ")), ui.Count(all.FilterBytes))
	}
	line("columns", "%d", len(c.Schema))
	for _, one := range c.Schema {
		required := ""
		if one.NotNull {
			required = ", required"
		}
		fmt.Fprintf(b, "    %s: %s, as %s%s\n", ui.Name(one.Name), ui.Line(one.Type), one.Logical, required)
	}
}

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
	all := make([]format.Field, len(file.Columns()))
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
