package load

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"culvert/export"
	"culvert/internal/ordered"
	"culvert/internal/rowsum"
	"culvert/mask"
	"culvert/sink"
	"culvert/source"
)

// Copy copies a table of a source into a table of a sink, all rows or none, with nothing on any disk. If both databases
// have the same text for rows, as PostgreSQL has CSV, the text that one prints is what the other reads. If they have
// the same binary form of rows, as PostgreSQL has of many types that are the same on both sides, that is passed on, and
// compared for ReadBack; then the [Stats] have no Sum. Otherwise the values of rows are passed on.
//
// If the source can divide the table (a [source.Divider]) and the sink has several loaders, up to Loaders connections
// read it in one snapshot. [Plan.CopyTables] copies several tables. With Create, [Finish] follows after the last one.
func (p *Plan) Copy(
	ctx context.Context, dst sink.Sink, src source.Source, from, to string,
) (stats Stats, err error) {
	if err := p.checkCopy(); err != nil {
		return Stats{}, err
	}
	if _, err := p.checkMasks(ctx, src, []Names{{from, to}}); err != nil {
		return Stats{}, err
	}
	p = p.single()
	stats, err = p.copy(ctx, ends{src, dst}, Names{from, to}, dst.Table, func(all *Plan, j *job) error {
		if _, err := all.look(ctx, dst, j); err != nil {
			return err
		}
		if err := p.checkTypes([]string{from}, []*job{j}); err != nil {
			return err
		}
		if err := p.checkConversions(j); err != nil {
			return err
		}
		return p.checkConvert(j.columns.names)
	})
	if err == nil {
		err = p.analyze(ctx, dst, stats.target)
	}
	return stats, err
}

// redacted hides what a database says of rows whose values are not to be shown.
func (p *Plan) redacted(err error) error {
	if !p.Filling.Redact && p.Masks.IsZero() {
		return err
	}
	return source.Redacted(err)
}

// copy copies a table if it may be filled: for ready, the plan is one for the rows from which the source has left out
// columns. For a ledger, all its rows are one part.
func (p *Plan) copy(
	ctx context.Context, e ends, names Names, open opener, ready func(all *Plan, j *job) error,
) (stats Stats, err error) {
	defer func() { err = p.redacted(err) }()
	from := names.From
	// The rows have a context of their own, since a failure of the sink ends them, but not what follows.
	reading, stop := context.WithCancel(ctx)
	defer stop()
	rows, all, j, err := p.beginReady(reading, e, names, ready)
	if err != nil {
		return Stats{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if p.SchemaOnly || p.Choices[from].NoRows {
		j.pieces = nil
		return all.fill(ctx, open, j)
	}
	readers, err := all.divide(rows)
	if err != nil {
		return Stats{}, err
	}
	_, j.prints = readers[0].(source.CSVWriter)
	j.prints = j.prints && j.masker == nil && j.converts == nil
	binary, sends := readers[0].(source.BinaryWriter)
	j.sends = sends && j.prints && !j.across && p.Rejects == nil && systemOf(e.dst) == j.system && binary.HasBinary()
	fills := make([]fill, len(readers))
	for i, reader := range readers {
		fills[i] = func(pl *pipeline) error { return copyFrom(pl, reader) }
	}
	j.pieces = []piece{{name: from, read: func(ctx context.Context, use useRows) error {
		defer context.AfterFunc(ctx, stop)()
		return use(fills, nil)
	}}}
	return all.fill(ctx, open, j)
}

// PreviewCopy returns what Copy would do, and changes nothing. The progress then expects the rows that the source has.
func (p *Plan) PreviewCopy(
	ctx context.Context, dst sink.Sink, src source.Source, from, to string,
) (sink.Plan, error) {
	if err := p.checkCopy(); err != nil {
		return sink.Plan{}, err
	}
	j, err := p.lookAt(ctx, src, from, to)
	if err != nil {
		return sink.Plan{}, err
	}
	all := *p
	plan, j, err := all.plannedCopy(ctx, dst, src, j)
	if err == nil {
		if err = p.checkTypes([]string{from}, []*job{j}); err == nil {
			err = cmp.Or(p.checkConversions(j), p.checkConvert(j.columns.names))
		}
	}
	return plan, err
}

// plannedCopy returns what the sink says that it would do with a table of a source, and the table as it is filled then.
// It remembers in the plan which columns are left out.
func (p *Plan) plannedCopy(
	ctx context.Context, dst sink.Sink, src source.Source, j *job,
) (plan sink.Plan, _ *job, err error) {
	plan, err = p.planned(ctx, dst, j.to, j)
	fewer, failed := p.leaveOut(ctx, src, j, err)
	if failed != nil {
		return sink.Plan{}, j, failed
	}
	if fewer != nil {
		p.computed = fewer.computed
		again, failed := p.lookAt(ctx, src, j.name, j.to)
		if failed != nil {
			return sink.Plan{}, j, failed
		}
		again.grouped, j = j.grouped, again
		plan, err = p.planned(ctx, dst, j.to, j)
	}
	if err == nil {
		p.progress().expectRows(j.size)
	}
	return plan, j, err
}

// lookAt looks a table of a source up. It returns nil if its columns are not known.
func (p *Plan) lookAt(ctx context.Context, src source.Source, from, to string) (_ *job, err error) {
	rows, _, j, err := p.begin(ctx, src, from, to)
	if unknown, is := errors.AsType[*source.UnknownError](err); is && unknown.What == "table" {
		return nil, &endingError{err}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if sized, is := rows.(source.Sized); is && !p.Choices[from].NoRows {
		size, err := sized.Size()
		if err != nil {
			return j, err
		}
		j.size = &size
	}
	return j, nil
}

func (p *Plan) checkCopy() error {
	if p.Filling.Ledger != nil {
		return errors.New("load: a copy has no parts for a ledger")
	}
	return p.check()
}

// checkMasks refuses masks that do not fit the tables, before a row is read, and returns the tables.
func (p *Plan) checkMasks(ctx context.Context, src source.Source, tables []Names) ([]mask.Table, error) {
	if p.Masks.IsZero() {
		return nil, nil
	}
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].From
	}
	known, err := (&export.Plan{Masks: p.Masks, Choices: p.Choices}).MaskTables(ctx, src, names)
	if err == nil {
		_, err = p.Masks.Check(known)
	}
	return known, err
}

// begin opens a table. It also returns the plan for rows from which the source has left out columns.
func (p *Plan) begin(
	ctx context.Context, src source.Source, from, to string,
) (rows source.Rows, all *Plan, j *job, err error) {
	defer func() { err = p.redacted(err) }()
	j = &job{name: from, to: to, pieces: make([]piece, 1)}
	described, err := source.Describe(ctx, src)
	if err != nil {
		return nil, nil, nil, err
	}
	j.system = source.DialectOf(described.System)
	d, err := p.define(ctx, src, from)
	if err == nil && d != nil {
		err = j.make(p.typed(from, d))
	}
	if err != nil {
		return nil, nil, nil, err
	}
	name, err := p.nameFrom(ctx, src, from)
	if err != nil {
		return nil, nil, nil, err
	}
	if rows, err = p.openWritable(ctx, src, from, d); err != nil {
		return nil, nil, nil, err
	}
	whole := *p
	whole.Columns = nil
	if j.columns, err = whole.match(rows.Columns()); err != nil {
		return nil, nil, nil, errors.Join(err, rows.Close())
	}
	if j.masker, err = p.Masks.Masker(from, rows.Columns()); err != nil {
		return nil, nil, nil, errors.Join(err, rows.Close())
	}
	j.setConverter(p, name)
	return rows, &whole, j, nil
}

// beginReady opens a table that ready finds fit to be filled. If the sink refuses columns that can be left out, the
// rows are opened again without them.
func (p *Plan) beginReady(
	ctx context.Context, e ends, names Names, ready func(all *Plan, j *job) error,
) (rows source.Rows, all *Plan, j *job, err error) {
	for {
		if rows, all, j, err = p.begin(ctx, e.src, names.From, names.To); err != nil {
			return nil, nil, nil, err
		}
		j.across = p.isAcross(e.dst, j, j.masker != nil)
		if err = ready(all, j); err == nil {
			return rows, all, j, nil
		}
		if closed := rows.Close(); closed != nil {
			return nil, nil, nil, errors.Join(err, closed)
		}
		fewer, failed := p.leaveOut(ctx, e.src, j, err)
		if fewer == nil {
			return nil, nil, nil, cmp.Or(failed, err)
		}
		p = fewer
	}
}

// leaveOut returns the plan without columns of a table of a source that the sink has refused, since its table computes
// them too, and nil if they were refused for another reason.
func (p *Plan) leaveOut(ctx context.Context, src source.Source, j *job, refused error) (*Plan, error) {
	computed, is := errors.AsType[*sink.ComputedError](refused)
	if !is || j.create != nil || j.converts != nil || len(p.Columns) > 0 || p.computed[j.name] != nil {
		return nil, nil
	}
	d, err := source.Define(ctx, src, j.name)
	if err != nil {
		return nil, err
	}
	if !j.columns.skip(computed.Columns, generatedOf(d)) {
		return nil, nil
	}
	names, masked := j.columns.named(true), j.masker.Columns()
	if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(masked, name) }) {
		return nil, nil
	}
	fewer := *p
	fewer.computed = maps.Clone(p.computed)
	if fewer.computed == nil {
		fewer.computed = map[string][]string{}
	}
	fewer.computed[j.name] = names
	return &fewer, nil
}

// openWritable opens the columns of a table that can be written.
func (p *Plan) openWritable(
	ctx context.Context, src source.Source, from string, d *source.Definition,
) (source.Rows, error) {
	rows, err := p.open(ctx, src, from)
	if err != nil {
		return nil, err
	}
	fewer := p.withoutGenerated(append(generatedOf(d), p.computed[from]...), rows.Columns())
	if fewer == p {
		return rows, nil
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	return fewer.open(ctx, src, from)
}

// open begins to read a table, or the wanted columns of it.
func (p *Plan) open(ctx context.Context, src source.Source, from string) (source.Rows, error) {
	selection := p.Choices[from].Selection
	if len(p.Columns) > 0 {
		selection.Columns = p.Columns
	}
	selection, err := p.Masks.Select(ctx, src, from, selection)
	if err != nil {
		return nil, err
	}
	if selection.IsZero() {
		return src.Table(ctx, from)
	}
	selector, is := src.(source.Selector)
	if !is {
		return nil, errors.New("load: the source cannot select a part of a table")
	}
	return selector.Select(ctx, from, selection)
}

// divide shares the rows among as many readers as there can be loaders, if the source can.
func (p *Plan) divide(rows source.Rows) ([]source.Rows, error) {
	divider, is := rows.(source.Divider)
	most := p.readers()
	if !is || most == 1 || p.Filling.Ledger != nil {
		return []source.Rows{rows}, nil
	}
	readers, err := divider.Divide(most)
	if _, fewer := errors.AsType[*source.IndivisibleError](err); err != nil && !fewer {
		return nil, err
	}
	if len(readers) == 0 {
		return []source.Rows{rows}, nil
	}
	return readers, nil
}

// copyFrom puts rows into the queue: as the database prints or sends them, if they are loaded like that.
func copyFrom(pl *pipeline, rows source.Rows) error {
	if pl.prepare.sent || pl.prepare.asIs {
		var err error
		c := &collector{pl: pl}
		if pl.prepare.sent {
			_, err = rows.(source.BinaryWriter).WriteBinary(c)
		} else {
			_, err = rows.(source.CSVWriter).WriteCSV(c)
		}
		if err != nil {
			return err
		}
		if c.item != nil {
			return pl.put(c.item)
		}
		return nil
	}
	for {
		item := pl.get()
		if item == nil {
			return errStopped
		}
		if err := rows.Next(item.Value.batch()); err != nil {
			pl.queue.Free(item)
			if err == io.EOF {
				return nil
			}
			return err
		}
		if err := pl.put(item); err != nil {
			return err
		}
	}
}

// collector collects rows in blocks, as they are printed or sent. Those that are sent are counted, and summed up while
// they are in the caches of the processor.
type collector struct {
	pl   *pipeline
	item *ordered.Item[*block]
}

func (c *collector) Write(row []byte) (int, error) {
	if c.item != nil && len(c.item.Value.text)+len(row) > blockSize {
		item := c.item
		c.item = nil
		if err := c.pl.put(item); err != nil {
			return 0, err
		}
	}
	if c.item == nil {
		if c.item = c.pl.get(); c.item == nil {
			return 0, errStopped
		}
	}
	b := c.item.Value
	b.text = append(b.text, row...)
	b.memory = b.text
	if c.pl.prepare.sent {
		b.rows++
		if c.pl.prepare.loaded {
			b.loaded.Text.Add(rowsum.Of(row))
		}
	}
	return len(row), nil
}
