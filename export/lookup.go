package export

import (
	"context"
	"errors"

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
	p.separate(src)
	whole := *p
	whole.PartSize = 0
	all := make([]mask.Table, 0, len(names))
	for i, name := range names {
		if i%lookedUpAtOnce == 0 {
			if err := source.Prepare(ctx, src, names[i:min(i+lookedUpAtOnce, len(names))]); err != nil {
				return nil, err
			}
		}
		o, err := whole.outline(ctx, src, name, nil)
		if err != nil {
			return nil, aboutTable(&TableStats{Name: name, File: name}, err)
		}
		one := o.maskTable()
		one.Where = p.choiceOf(name).Selection.Where
		if one.Definition != nil && one.Definition.IsView {
			if one.Origins, err = source.Origins(ctx, src, name); err != nil {
				return nil, aboutTable(&TableStats{Name: name, File: name}, err)
			}
		}
		all = append(all, one)
	}
	return all, nil
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
