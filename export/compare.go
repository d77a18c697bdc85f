package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/manifest"
	"culvert/mask"
	"culvert/source"
)

// ErrDiffers marks errors of a database whose rows are not those of an export.
var ErrDiffers = errors.New("export: the database differs from the export")

// DiffersError reports how many tables of an export differ from a database. It wraps ErrDiffers.
type DiffersError struct {
	Differing, Tables int
}

func (e *DiffersError) Error() string {
	return fmt.Sprintf("%v: %d of %d tables", ErrDiffers, e.Differing, e.Tables)
}

// Unwrap returns ErrDiffers.
func (e *DiffersError) Unwrap() error { return ErrDiffers }

// difference is an ErrDiffers with a text of its own.
type difference string

func differencef(format string, args ...any) error { return difference(fmt.Sprintf(format, args...)) }

func (d difference) Error() string { return "export: " + string(d) }
func (d difference) Unwrap() error { return ErrDiffers }

// Compare reads the tables of an export from a database, with up to jobs cores and connections as an export does, and
// compares the number of rows and their sum with the manifest. The map has the names of tables in the manifest, and the
// names that they have in the database, or "" for those of [manifest.Manifest.NameIn]; nil stands for all tables. The
// error is a [*source.UnknownError] if it has others. Compare writes nothing, and reads no files; see
// [Directory.Verify]. The source decides whether the tables are of one state, as in an export. After each table it
// calls compared, if that is not nil, with nil, or an error that wraps [ErrDiffers], or the reason why the table cannot
// be read. Tables whose export failed are left out. The source is separated if [manifest.Manifest.OwnRows] says so.
// Without a sum, as in manifests of version 1, only the number of rows is compared. Values that were masked are masked
// again, with the MaskKey. What JSON Lines do not keep, the white space of JSON, is not compared either.
//
// In a database of the same system, the text of the values is compared. In another system, if columns of the table have
// other types, and if values were masked, the values themselves are compared, by the canonical sum of package manifest.
// Values without a canonical text, such as intervals and arrays, are compared as they are printed. Manifests of version
// 2 have only the sum of the text.
//
// The error is a [*DiffersError] if tables differ, and otherwise the first reason why one cannot be read.
func (d *Directory) Compare(
	ctx context.Context, src source.Source, jobs int, progress *Progress, names map[string]string,
	compared func(*manifest.Table, error),
) error {
	if err := d.Manifest.Knows(slices.Collect(maps.Keys(names))); err != nil {
		return err
	}
	var failure error
	differing, tables := 0, 0
	if d.Manifest.OwnRows() {
		source.Separate(src)
	}
	description, err := source.Describe(ctx, src)
	if err != nil {
		return err
	}
	system := source.DialectOf(description.System)
	across := system != source.DialectOf(d.Manifest.System)
	for i := range d.Manifest.Tables {
		t := &d.Manifest.Tables[i]
		name, wanted := names[t.Name]
		if t.Error != "" || names != nil && !wanted {
			continue
		}
		tables++
		plan := Plan{
			Format: format.CSV{}, Compression: None, Unencrypted: true, Jobs: jobs, Progress: progress,
			kept: "."+d.Manifest.Format == format.JSONL{}.Extension(),
		}
		if plan.Masks, err = d.masksOf(t); err != nil {
			return err
		}
		if (across || len(t.Masks) > 0) && t.Canonical != "" {
			plan.exported = exportedColumns(t)
		}
		err := d.comparable(t)
		if err == nil {
			err = plan.compare(ctx, src, cmp.Or(name, d.Manifest.NameIn(system, t)), t)
		}
		switch {
		case stops(ctx, err):
			return err
		case errors.Is(err, ErrDiffers):
			differing++
		case err != nil && failure == nil:
			failure = aboutTable(&TableStats{Name: t.Name, File: t.File()}, err)
		}
		if compared != nil {
			compared(t, err)
		}
	}
	if differing > 0 {
		return &DiffersError{Differing: differing, Tables: tables}
	}
	return failure
}

// comparable returns an error if the export of a table is known to have other values than the database.
func (d *Directory) comparable(t *manifest.Table) error {
	if len(t.Unfit()) == 0 || d.Manifest.Lossy != format.LossyNull.String() {
		return nil
	}
	return errors.New("export: values that did not fit their type were written as NULL, so it cannot be proved equal")
}

// masksOf returns the masks of a table as those of its rows.
func (d *Directory) masksOf(t *manifest.Table) (*mask.Policy, error) {
	if len(t.Masks) == 0 {
		return nil, nil
	}
	switch {
	case d.MaskKey == nil:
		return nil, ErrNoMaskKey
	case d.MaskKey.Fingerprint() != d.Manifest.MaskKey:
		return nil, fmt.Errorf("export: its values were masked with the key %s, and this is the key %s",
			d.Manifest.MaskKey,
			d.MaskKey.Fingerprint())
	}
	rules := mask.Rules{}
	for _, one := range t.Masks {
		rule, err := mask.ParseRule(one.Rule)
		if err != nil {
			return nil, err
		}
		rules[one.Column] = rule
	}
	return &mask.Policy{Key: d.MaskKey, Programs: d.MaskPrograms, Tables: map[string]mask.Rules{"": rules}}, nil
}

// ErrNoMaskKey is the error of comparing an export whose values were masked without the key.
var ErrNoMaskKey = errors.New("export: its values were masked, and there is no key to mask those of the database")

// compare compares a table of a database with its entry in a manifest.
func (p *Plan) compare(ctx context.Context, src source.Source, name string, t *manifest.Table) error {
	if t.IsDefined() {
		return errors.New("export: its rows were not exported")
	}
	stats, err := p.Rows(ctx, io.Discard, func(ctx context.Context) (source.Rows, error) {
		rows, err := open(ctx, src, name, t)
		if err != nil {
			return nil, err
		}
		if !slices.EqualFunc(manifest.Columns(rows.Columns()), t.Columns, func(a, b manifest.Column) bool {
			return a.Name == b.Name
		}) {
			return nil, errors.Join(differencef("it has other columns"), rows.Close())
		}
		if t.Canonical != "" && isRetyped(rows.Columns(), t) {
			p.exported = exportedColumns(t)
		}
		return rows, nil
	})
	if unknown, is := errors.AsType[*source.UnknownError](err); is {
		return differencef("%s %q does not exist", unknown.What, unknown.Name)
	}
	switch {
	case err != nil:
		return err
	case stats.Rows != t.Rows:
		return differencef("it has %d rows, and the export %d", stats.Rows, t.Rows)
	case p.exported != nil && stats.Canonical.String() != t.Canonical:
		return differencef("it has as many rows as the export, %d, but not the same values%s", stats.Rows, asPrinted(t))
	case p.exported == nil && t.Sum != "" && stats.Sum.String() != t.Sum:
		return differencef("it has as many rows as the export, %d, but not the same", stats.Rows)
	}
	return nil
}

// isRetyped reports whether a column has another type than in the export, and may print the same value in another text:
// numeric(10,4) prints 1.5 as 1.5000, and numeric(10,2) as 1.50.
func isRetyped(columns []source.Column, t *manifest.Table) bool {
	for i, c := range columns {
		from := t.Columns[i]
		if from.Type != "" && from.Type != c.Type && !from.Logical.IsZero() {
			return true
		}
	}
	return false
}

// exportedColumns returns the columns of a table that was exported.
func exportedColumns(t *manifest.Table) []source.Column {
	columns := make([]source.Column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = source.Column{Name: c.Name, Type: c.Type, Logical: c.Logical}
	}
	return columns
}

// asPrinted says which columns may be the reason why another system has other values: those whose values have no text
// that is the same in all systems.
func asPrinted(t *manifest.Table) string {
	columns := make([]source.Column, len(t.Columns))
	for i := range t.Columns {
		columns[i] = t.Columns[i].Column()
	}
	names := canonical.AsPrinted(columns)
	if len(names) == 0 {
		return ""
	}
	return "; those of " + strings.Join(names, ", ") + " are compared as each system prints them"
}

// open opens the rows of a table that were exported.
func open(ctx context.Context, src source.Source, name string, t *manifest.Table) (source.Rows, error) {
	selection := source.Selection{Where: t.Where}
	for _, column := range t.Columns {
		selection.Columns = append(selection.Columns, column.Name)
	}
	if selector, ok := src.(source.Selector); ok && !selection.IsZero() {
		return selector.Select(ctx, name, selection)
	}
	if t.Where != "" {
		return nil, errors.New("export: the source cannot select a part of a table")
	}
	return src.Table(ctx, name)
}
