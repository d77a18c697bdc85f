package export

import (
	"context"
	"errors"
	"slices"

	"culvert/manifest"
	"culvert/mask"
	"culvert/source"
)

// lookedUpAtOnce is how many tables a source looks up together; see [source.Preparer].
const lookedUpAtOnce = 500

// lookUp looks up all tables, and cuts them.
func (t *tables) lookUp(ctx context.Context, src source.Source, names []string) error {
	t.plan.separate(src)
	_, t.prepares = src.(source.Preparer)
	sizes := make([]source.Size, len(names))
	extension := ""
	if t.plan.PartSize == 0 {
		extension = t.plan.Extension()
	}
	for i, file := range manifest.FileNames(names, extension) {
		t.all[i].stats = TableStats{Name: names[i], File: file}
	}
	isOutside := map[string]bool{}
	for i, name := range names {
		if i%lookedUpAtOnce == 0 {
			some := names[i:min(i+lookedUpAtOnce, len(names))]
			if err := source.Prepare(ctx, src, some); err != nil {
				return err
			}
			outside, err := source.OutsideSnapshot(ctx, src, some)
			if err != nil {
				return err
			}
			for _, name := range outside {
				isOutside[name] = true
			}
		}
		var err error
		if sizes[i], err = t.lookUpOne(ctx, src, &t.all[i]); err != nil {
			return err
		}
		t.all[i].outline.Outside = isOutside[name]
		t.all[i].stats.Outside = isOutside[name]
	}
	if err := t.checkMasks(); err != nil {
		return err
	}
	for i, share := range weigh(names, sizes) {
		t.all[i].share = share
	}
	return nil
}

// checkMasks refuses masks that do not fit the tables.
func (t *tables) checkMasks() error {
	if t.plan.Masks.IsZero() {
		return nil
	}
	all := make([]mask.Table, 0, len(t.all))
	for i := range t.all {
		if one := &t.all[i]; one.stats.Err == nil {
			all = append(all, one.outline.maskTable())
		}
	}
	_, err := t.plan.Masks.Check(all)
	return err
}

// MaskTables looks up what masks have to know of tables: see [mask.Policy.Check]. It reads no rows.
func (p *Plan) MaskTables(ctx context.Context, src source.Source, names []string) ([]mask.Table, error) {
	all := make([]mask.Table, 0, len(names))
	err := p.outlines(ctx, src, names, func(o *Outline, err error) (bool, error) {
		if err != nil {
			return false, err
		}
		one := o.maskTable()
		one.Where = p.choiceOf(o.Table).Selection.Where
		if one.Definition != nil && (one.Definition.IsView || one.Definition.Dialect == source.SQLite) {
			if one.Origins, err = source.Origins(ctx, src, o.Table); err != nil {
				return false, aboutTable(&TableStats{Name: o.Table, File: o.Table}, err)
			}
		}
		all = append(all, one)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Lacking returns those of some columns that no table has. A table that cannot be looked up may have any: only its own
// export fails. It reads no rows.
func (p *Plan) Lacking(ctx context.Context, src source.Source, names, columns []string) ([]string, error) {
	lacking := slices.Clone(columns)
	err := p.outlines(ctx, src, names, func(o *Outline, err error) (bool, error) {
		if err != nil {
			lacking = nil
		}
		if stops(ctx, err) {
			return false, err
		}
		lacking = slices.DeleteFunc(lacking, func(name string) bool {
			return slices.ContainsFunc(o.Columns, func(c source.Column) bool { return c.Name == name })
		})
		return len(lacking) > 0, nil
	})
	return lacking, err
}

// outlines looks up tables as if they were not cut, while each returns true.
func (p *Plan) outlines(
	ctx context.Context, src source.Source, names []string, each func(*Outline, error) (bool, error),
) error {
	p.separate(src)
	whole := *p
	whole.PartSize = 0
	for i, name := range names {
		if i%lookedUpAtOnce == 0 {
			if err := source.Prepare(ctx, src, names[i:min(i+lookedUpAtOnce, len(names))]); err != nil {
				return err
			}
		}
		o, err := whole.outline(ctx, src, name, nil)
		if err != nil {
			err = aboutTable(&TableStats{Name: name, File: name}, err)
		}
		if more, err := each(&o, err); err != nil || !more {
			return err
		}
	}
	return nil
}

// lookUpOne looks up a table, and returns its size if that is needed. The error must stop the export.
func (t *tables) lookUpOne(ctx context.Context, src source.Source, one *table) (size source.Size, err error) {
	var look func(source.Rows) error
	if t.plan.PartSize == 0 && (t.plan.Progress != nil || t.prepares) {
		look = func(rows source.Rows) (err error) {
			size, err = sizeOf(rows)
			return err
		}
	}
	one.outline, err = t.plan.outline(ctx, src, one.stats.Name, look)
	unknown, _ := errors.AsType[*source.UnknownError](err)
	switch {
	case unknown != nil || stops(ctx, err):
		return size, err
	case err != nil && t.plan.FailFast:
		return size, aboutTable(&one.stats, err)
	case err != nil:
		one.stats.Err = err
		return size, nil
	}
	one.stats.Indivisible = one.outline.indivisible()
	one.refused = map[int]bool{}
	if !t.plan.choiceOf(one.stats.Name).NoRows {
		one.files = make([]manifest.Part, max(1, len(one.outline.Parts)))
	}
	return size, nil
}
