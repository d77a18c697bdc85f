package masks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/mask"
	"culvert/source"
)

// PreviewReport is the report of culvert mask preview.
type PreviewReport struct {
	command.Outcome
	Tables []previewedTable `json:"tables"`
}

type previewedTable struct {
	Name    string            `json:"name"`
	Columns []previewedColumn `json:"columns"`
}

type previewedColumn struct {
	Column string    `json:"column"`
	Rule   string    `json:"rule"`
	Before []*string `json:"before"`
	After  []*string `json:"after"`
}

// previewedRows is how many rows of each table are shown.
const previewedRows = 10

// Text implements [command.Report].
func (r *PreviewReport) Text() string {
	var b strings.Builder
	for i, t := range r.Tables {
		for j, c := range t.Columns {
			if i+j > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s: %s\n", ui.Line(t.Name+"."+c.Column), c.Rule)
			for row := range c.Before {
				fmt.Fprintf(&b, "  %s → %s\n", shown(c.Before[row]), shown(c.After[row]))
			}
		}
	}
	return b.String()
}

func shown(value *string) string {
	const longest = 60
	switch {
	case value == nil:
		return "NULL"
	case len(*value) > longest:
		return ui.Line(strings.ToValidUTF8((*value)[:longest], "")) + "…"
	}
	return ui.Line(*value)
}

func newPreview(a *command.App) *cobra.Command {
	from, masks, r := &database.Flags{}, &masking.Flags{}, &PreviewReport{Tables: []previewedTable{}}
	cmd := a.Reporting("mask-preview", r, func(ctx context.Context, args []string) error {
		if err := masks.Check(); err != nil {
			return err
		}
		if !masks.Given() {
			return command.WithHint(command.Usagef("nothing is masked"),
				"say what: --mask PATTERN=RULE --mask-key FILE")
		}
		programs, err := masks.Started(ctx)
		if err != nil {
			return err
		}
		if programs != nil {
			programs.Stderr = a.Stderr // values are shown anyway
		}
		return masks.End(look(ctx, a, from, args, func(src source.Source, tables []mask.Table) error {
			return r.preview(ctx, src, tables, masks)
		}))
	})
	from.Add(cmd)
	masks.Add(cmd)
	return cmd
}

func (r *PreviewReport) preview(
	ctx context.Context, src source.Source, tables []mask.Table, masks *masking.Flags,
) error {
	policy, err := masks.Policy(ctx, tables)
	if err == nil {
		err = masking.CheckHeirs(policy, masking.WithoutDropped(policy, tables))
	}
	if err == nil {
		_, err = policy.Check(masking.WithoutDropped(policy, tables))
	}
	if err != nil {
		return err
	}
	for _, t := range tables {
		if len(policy.Of(t.Name)) == 0 {
			continue
		}
		one := previewedTable{Name: t.Name}
		for _, column := range slices.Sorted(maps.Keys(policy.Of(t.Name))) {
			one.Columns = append(one.Columns, previewedColumn{Column: column, Rule: policy.Of(t.Name)[column].String()})
		}
		if err := one.read(ctx, src, policy); err != nil {
			return err
		}
		r.Tables = append(r.Tables, one)
	}
	return nil
}

// read reads and masks some rows of the columns that are not dropped.
func (t *previewedTable) read(ctx context.Context, src source.Source, policy *mask.Policy) (err error) {
	selector, is := src.(source.Selector)
	if !is {
		return command.Usagef("this source cannot read a part of a table")
	}
	var names []string
	var at []int
	for i := range t.Columns {
		if !policy.Of(t.Name)[t.Columns[i].Column].IsDrop() {
			names, at = append(names, t.Columns[i].Column), append(at, i)
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := selector.Select(ctx, t.Name, source.Selection{Columns: names, Limit: previewedRows})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	masker, err := policy.Masker(t.Name, rows.Columns())
	if err != nil {
		return err
	}
	var batch, masked source.Batch
	for {
		if err := rows.Next(&batch); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := masker.Mask(&masked, &batch); err != nil {
			return err
		}
		for row := range batch.Rows() {
			for column := range names {
				c := &t.Columns[at[column]]
				c.Before, c.After = append(c.Before, valueOf(&batch, row, column)), append(c.After,
					valueOf(&masked, row, column))
			}
		}
	}
}

// valueOf returns a value as text, or nil for NULL.
func valueOf(b *source.Batch, row, column int) *string {
	kind, value := b.Value(row, column)
	text := string(value)
	switch kind {
	case source.Null:
		return nil
	case source.Bytes:
		text = fmt.Sprintf(`\x%x`, value)
	}
	return &text
}
