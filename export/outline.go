package export

import (
	"context"
	"errors"
	"slices"

	"culvert/mask"
	"culvert/source"
)

// Outline is what is known of a table before it is exported.
type Outline struct {
	Table   string
	Columns []source.Column

	Definition *source.Definition // nil if the source does not know it
	Outside    bool               // no snapshot holds its rows; see [source.PartialSnapshotter]

	// Parts are in files of their own. Without a PartSize there are none, and the table is in one file.
	Parts []source.Part
}

// maskTable returns what masks have to know of the table.
func (o *Outline) maskTable() mask.Table {
	return mask.Table{Name: o.Table, Columns: o.Columns, Definition: o.Definition}
}

var errNoParts = errors.New("export: the source cannot cut tables into parts")

// Outline looks up a table, and cuts it into parts if the plan has a PartSize. It reads no rows. Each way to export
// several tables begins with it.
func (p *Plan) Outline(ctx context.Context, src source.Source, name string) (Outline, error) {
	p.separate(src)
	o, err := p.outline(ctx, src, name, nil)
	if err != nil {
		return Outline{}, err
	}
	outside, err := source.OutsideSnapshot(ctx, src, []string{name})
	o.Outside = len(outside) > 0
	return o, err
}

// outline is Outline without Outside. Look may be nil; otherwise it sees the rows of the table, which are not read.
func (p *Plan) outline(
	ctx context.Context, src source.Source, name string, look func(source.Rows) error,
) (o Outline, err error) {
	defer func() { err = p.redacted(err) }()
	o.Table = name
	choice := p.choiceOf(name)
	if p.PartSize == 0 || look != nil || choice.NoRows {
		if o.Columns, err = p.open(ctx, src, name, look); err != nil {
			return o, err
		}
	}
	if p.PartSize > 0 && !choice.NoRows {
		parter, ok := src.(source.Parter)
		if !ok {
			return o, errNoParts
		}
		selection, err := p.Masks.Select(ctx, src, name, choice.Selection)
		if err != nil {
			return o, err
		}
		if o.Parts, err = parter.Parts(ctx, name, selection, p.PartSize); err != nil {
			return o, err
		}
		o.Columns = o.Parts[0].Columns
	}
	o.Definition, err = source.Define(ctx, src, name)
	if err == nil && o.Definition == nil && choice.NoRows {
		err = errNoDefinition
	}
	if err == nil {
		err = p.Masks.Knows(o.maskTable())
	}
	o.Definition = choice.Define(o.Definition)
	return o, err
}

// errNoDefinition is the error of a table of which only the definition is to be exported.
var errNoDefinition = errors.New("export: the source does not know its definition")

// open opens the rows of a table and closes them.
func (p *Plan) open(
	ctx context.Context, src source.Source, name string, look func(source.Rows) error,
) (columns []source.Column, err error) {
	rows, err := p.table(src, name)(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if look != nil {
		err = look(rows)
	}
	return slices.Clone(rows.Columns()), err
}

// indivisible returns why the table is a single part, although it is larger than the requested size.
func (o *Outline) indivisible() *source.IndivisibleError {
	if len(o.Parts) == 0 || o.Parts[0].Whole == "" {
		return nil
	}
	return &source.IndivisibleError{Reason: o.Parts[0].Whole}
}

// Estimate describes an export that has not been made.
type Estimate struct {
	Outline
	Size source.Size // zero if the source does not report it

	// Ranges is the number of pieces in which the rows of a table in one file would be read. Readers is the number of
	// connections that would share them, or the parts, if the database accepts that many. Both are 1 if the rows would
	// not be divided.
	Ranges, Readers int

	// Defined says that only the definition would be exported. Then there are no rows to be read.
	Defined bool

	// Indivisible is the reason why one connection would read alone, if more would be useful.
	Indivisible *source.IndivisibleError
}

// Estimate describes how a table would be exported. It queries the database but reads no rows.
func (p *Plan) Estimate(ctx context.Context, src source.Source, name string) (e Estimate, err error) {
	e = Estimate{Ranges: 1, Readers: 1}
	p.separate(src)
	e.Outline, err = p.outline(ctx, src, name, func(rows source.Rows) (err error) {
		if err := p.takes(name, rows); err != nil {
			return err
		}
		if e.Size, err = sizeOf(rows); err != nil {
			return err
		}
		divider, ok := rows.(source.Divider)
		if n := p.MaxReaders(); ok && n > 1 && !p.Ordered && p.PartSize == 0 {
			ranges, err := divider.Ranges(n)
			if e.Indivisible, _ = errors.AsType[*source.IndivisibleError](err); err != nil && e.Indivisible == nil {
				return err
			}
			e.Ranges = max(1, ranges)
			e.Readers = min(n, e.Ranges)
		}
		return nil
	})
	if err != nil {
		return Estimate{}, err
	}
	if p.choiceOf(name).NoRows {
		return Estimate{Outline: e.Outline, Defined: true}, nil
	}
	if len(e.Parts) > 0 {
		e.Indivisible = e.indivisible()
		switch src := src.(type) {
		case source.Grouped:
			e.Readers = min(p.MaxReaders(), len(e.Parts), src.Moment().Connections)
		case source.Sharer:
			e.Readers = min(p.MaxReaders(), len(e.Parts))
		}
	}
	return e, nil
}

// takes refuses rows whose columns the format does not take.
func (p *Plan) takes(table string, rows source.Rows) error {
	if p.choiceOf(table).NoRows {
		return nil
	}
	_, columns, err := p.fitter(rows, rows.Columns())
	if err == nil {
		_, _, err = p.encoders(columns)
	}
	return err
}

// sizeOf returns the size of rows, or zero if the source does not report it.
func sizeOf(rows source.Rows) (source.Size, error) {
	if sized, ok := rows.(source.Sized); ok {
		return sized.Size()
	}
	return source.Size{}, nil
}
