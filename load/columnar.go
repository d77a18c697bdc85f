package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"culvert/export"
	"culvert/format"
	"culvert/internal/canonical"
	"culvert/internal/rowsum"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// File loads a file of columns, such as Parquet, into a table. Up to Loaders groups of its rows are read at once; with
// one loader, rows are loaded in their order. With Create, the table is made with the types of the file, of which
// nothing is run as SQL but the names of types. The file must stay open. The name is for errors.
func (p *Plan) File(
	ctx context.Context, dst sink.Sink, file format.ColumnFile, name, table string,
) (Stats, error) {
	return p.loadColumns(ctx, dst, columnsOfFile(file), name, table)
}

// Stream is File for a file that is read once, from its beginning to its end. With several loaders, each decodes a
// group of its rows.
func (p *Plan) Stream(
	ctx context.Context, dst sink.Sink, stream format.ColumnStream, name, table string,
) (Stats, error) {
	return p.loadColumns(ctx, dst, columnsOfStream(stream), name, table)
}

// columnsRead is a file of columns that is read.
type columnsRead struct {
	of     []source.Column
	groups []format.RowGroup // nil if they are not known before
	next   func(fields []format.Field) (rows source.Rows, before int64, err error)
}

// columnsOfFile has several readers share the groups of rows of a file.
func columnsOfFile(file format.ColumnFile) columnsRead {
	groups := slices.Clip(file.Groups())
	if groups == nil {
		groups = []format.RowGroup{} // which are known
	}
	before := make([]int64, len(groups)) // rows of the groups before
	for i := 1; i < len(groups); i++ {
		before[i] = before[i-1] + groups[i-1].Rows
	}
	var next atomic.Int64
	return columnsRead{file.Columns(), groups, func(fields []format.Field) (source.Rows, int64, error) {
		group := int(next.Add(1)) - 1
		if group >= len(groups) {
			return nil, 0, io.EOF
		}
		rows, err := file.Rows(group, fields)
		return rows, before[group], err
	}}
}

func columnsOfStream(stream format.ColumnStream) columnsRead {
	return columnsRead{of: stream.Columns(), next: stream.Next}
}

func (p *Plan) loadColumns(ctx context.Context, dst sink.Sink, in columnsRead, name, table string) (Stats, error) {
	j, err := p.jobOfColumns(in, name, table)
	if err != nil {
		return Stats{}, err
	}
	j.across = p.ReadBack && systemOf(dst) != ""
	p = p.single()
	if _, err := p.look(ctx, dst, j); err != nil {
		return Stats{}, err
	}
	for _, g := range in.groups {
		p.progress().expectRows(&source.Size{Rows: g.Rows})
	}
	stats, err := p.fill(ctx, dst.Table, j)
	if err == nil {
		err = p.analyze(ctx, dst, j.table)
	}
	return stats, err
}

// PreviewFile returns what File would do, and changes nothing.
func (p *Plan) PreviewFile(
	ctx context.Context, dst sink.Sink, file format.ColumnFile, name, table string,
) (sink.Plan, error) {
	return p.previewColumns(ctx, dst, columnsOfFile(file), name, table)
}

// PreviewStream is PreviewFile for Stream.
func (p *Plan) PreviewStream(
	ctx context.Context, dst sink.Sink, stream format.ColumnStream, name, table string,
) (sink.Plan, error) {
	return p.previewColumns(ctx, dst, columnsOfStream(stream), name, table)
}

func (p *Plan) previewColumns(
	ctx context.Context, dst sink.Sink, in columnsRead, name, table string,
) (sink.Plan, error) {
	j, err := p.jobOfColumns(in, name, table)
	if err != nil {
		return sink.Plan{}, err
	}
	return p.planned(ctx, dst, table, j)
}

// jobOfColumns finds the columns of a file.
func (p *Plan) jobOfColumns(in columnsRead, name, table string) (*job, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	j := &job{name: name, to: table, system: source.PostgreSQL, columnar: true}
	var err error
	if j.columns, err = p.match(printed(in.of)); err != nil {
		return nil, err
	}
	if err := p.checkConvert(j.columns.names); err != nil {
		return nil, err
	}
	j.setConverter(p, nameOf(table))
	if err := p.checkConversions(j); err != nil {
		return nil, err
	}
	if p.Create {
		if err := j.make(p.typed(table, definitionOf(table, j.columns))); err != nil {
			return nil, err
		}
		if err := p.checkTypes([]string{table}, []*job{j}); err != nil {
			return nil, err
		}
	}
	j.pieces = []piece{{name: name, read: func(_ context.Context, use useRows) error {
		return use(in.fills(j.columns, name, p.readers()), nil)
	}}}
	return j, nil
}

// definitionOf makes a table for the rows of a file.
func definitionOf(table string, c *columns) *source.Definition {
	d := &source.Definition{Dialect: source.PostgreSQL, Name: table}
	if schema, name, found := strings.Cut(table, "."); found {
		d.Schema, d.Name = schema, name
	}
	for _, one := range c.types {
		d.Columns = append(d.Columns, source.ColumnDefinition{
			Name: one.Name, Type: typeName(one.Logical), NotNull: one.NotNull,
		})
	}
	return d
}

// printed returns columns with the types of PostgreSQL, which has no more digits after a second than it keeps. Of
// values that may have more, it is not known what they are, and each is looked at.
func printed(of []source.Column) []source.Column {
	of = slices.Clone(of)
	for i := range of {
		of[i].Type = typeName(of[i].Logical)
		if of[i].Logical.Precision > secondDigits && isMoment(of[i].Logical) {
			of[i].Type = "text"
		}
	}
	return of
}

const secondDigits = 6

func isMoment(t source.Type) bool {
	return t.Class == source.TimeClass || t.Class == source.TimestampClass || t.Class == source.InstantClass
}

// typeName returns the type of PostgreSQL for values.
func typeName(t source.Type) string {
	name := ""
	digits := ""
	if t.Precision < secondDigits {
		digits = fmt.Sprintf("(%d)", t.Precision)
	}
	switch t.Class {
	case source.BoolClass:
		name = "boolean"
	case source.IntClass:
		name = map[int]string{16: "smallint", 32: "integer", 64: "bigint"}[t.Bits]
	case source.FloatClass:
		name = map[int]string{32: "real", 64: "double precision"}[t.Bits]
	case source.DecimalClass:
		name = "numeric"
		if t.Precision > 0 {
			name = fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale)
		}
	case source.BytesClass:
		name = "bytea"
	case source.DateClass, source.IntervalClass, source.UUIDClass, source.JSONClass:
		name = t.Class.String()
	case source.TimeClass:
		name = "time" + digits + " without time zone"
	case source.TimestampClass:
		name = "timestamp" + digits + " without time zone"
	case source.InstantClass:
		name = "timestamp" + digits + " with time zone"
	case source.CharClass: // spaces at the end mean nothing
		name = "text"
		if t.Length > 0 {
			name = fmt.Sprintf("character(%d)", t.Length)
		}
	default:
		name = "text"
	}
	if t.List {
		name += "[]"
	}
	return name
}

// fills returns up to n readers, which share the groups of rows.
func (in *columnsRead) fills(c *columns, name string, n int) []fill {
	if in.groups != nil {
		n = min(n, len(in.groups))
	}
	fills := make([]fill, max(1, n))
	for i := range fills {
		fills[i] = func(pl *pipeline) error {
			for {
				rows, before, err := in.next(c.fields)
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = fillGroup(pl, rows, before)
				}
				if err == errStopped {
					return err
				}
				if err != nil {
					return about(name, err)
				}
			}
		}
	}
	return fills
}

// fillGroup puts the rows of a group into the queue. They know their places in the file, since groups are read at once.
func fillGroup(pl *pipeline, rows source.Rows, row int64) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		item := pl.get()
		if item == nil {
			return errStopped
		}
		b := item.Value
		batch := b.batch()
		if err := rows.Next(batch); err != nil {
			pl.queue.Free(item)
			if err == io.EOF {
				return nil
			}
			return err
		}
		b.row, b.placed = row, true
		row += int64(batch.Rows())
		if err := pl.put(item); err != nil {
			return err
		}
	}
}

// readColumns reads the rows of a file of an export, whose bytes are verified meanwhile.
func (p *Plan) readColumns(
	ctx context.Context, from *export.Directory, part *manifest.Part, f format.Columnar, c *columns, use useRows,
) error {
	at, err := from.OpenPart(part)
	if err != nil {
		return about(part.File, err)
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		err := from.ReadPart(ctx, part, func(io.Reader) error { return nil })
		if err != nil && ctx.Err() == nil {
			err = about(part.File, err)
		}
		return err
	})
	both.Go(func() error {
		file, err := f.Open(at, at.Size())
		if err != nil {
			return about(part.File, err)
		}
		names := make([]string, len(c.fields))
		for i, field := range c.fields {
			names[i] = field.Name
		}
		if found := namesOf(file.Columns()); !slices.Equal(found, names) {
			return about(part.File, fmt.Errorf("its columns are %s instead of %s",
				strings.Join(found, ", "), strings.Join(names, ", ")))
		}
		in := columnsOfFile(file)
		return use(in.fills(c, part.File, p.readers()), nil)
	})
	return errors.Join(both.Wait(), at.Close())
}

// rows returns how many rows the manifest lists.
func (j *job) rows() (n int64) {
	for _, one := range j.pieces {
		n += one.want.Rows
	}
	return n
}

// sumColumns has the rows of an export of columns summed up by their values, which the manifest has. The text of the
// values is no longer the one that the source has printed. Values that are converted are others than the manifest has.
func (t *filling) sumColumns() error {
	v := &t.prep.values
	if !t.job.columnar || !t.job.columns.all || !t.valuesKnown() || v.read != nil || t.job.converts != nil {
		return nil
	}
	v.read = canonical.TypesOf(t.job.columns.types, "")
	return t.setLines(&t.prep.values.lines)
}

// compareColumns compares the sum of the values of a piece with the manifest.
func (t *filling) compareColumns(one *piece, got figures) error {
	wrong := &SumError{WantedRows: one.want.Rows, FoundRows: got.rows, Where: "in the file"}
	if got.rows != one.want.Rows {
		return about(one.name, damaged(wrong))
	}
	if one.want.Canonical == "" || t.prep.values.read == nil || t.prep.values.loaded != nil {
		return nil
	}
	var err error
	if wrong.Wanted, err = rowsum.Parse(one.want.Canonical); err != nil {
		return err
	}
	if wrong.Found = got.values; wrong.Found != wrong.Wanted {
		return about(one.name, damaged(wrong))
	}
	return nil
}
