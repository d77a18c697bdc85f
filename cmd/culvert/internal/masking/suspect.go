package masking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/mask"
	"culvert/source"
)

// Suspect is a column that looks like personal data.
type Suspect struct {
	Table  mask.Table
	Column string
	mask.Suspicion
}

// sampleRows is how many rows of a table are looked at.
const sampleRows = 200

// Suspects returns the columns of tables that look like personal data, in order, except those that are decided.
func Suspects(
	ctx context.Context, src source.Source, tables []mask.Table, decided map[string]map[string]bool,
) (all []Suspect, err error) {
	for _, t := range tables {
		samples, err := sample(ctx, src, t, decided[t.Name])
		if err != nil {
			return nil, err
		}
		all = append(all, suspectsOf(t, samples, decided[t.Name])...)
	}
	return all, nil
}

// suspectsOf returns those of a table by some values of each column.
func suspectsOf(t mask.Table, samples [][][]byte, decided map[string]bool) (all []Suspect) {
	for i, c := range t.Columns {
		if decided[c.Name] {
			continue
		}
		if s, is := mask.Suspect(t.Name, c, samples[i]); is {
			all = append(all, Suspect{t, c.Name, s})
		}
	}
	return all
}

// sample reads some values of each column of a table that is text, and not decided.
func sample(
	ctx context.Context, src source.Source, t mask.Table, decided map[string]bool,
) (values [][][]byte, err error) {
	values = make([][][]byte, len(t.Columns))
	var names []string
	var at []int
	for i, c := range t.Columns {
		class := c.Logical.Class
		isText := class == source.StringClass || class == source.CharClass || class == source.UnknownClass
		if isText && !c.Logical.List && !decided[c.Name] {
			names, at = append(names, c.Name), append(at, i)
		}
	}
	selector, is := src.(source.Selector)
	if !is || len(names) == 0 {
		return values, nil
	}
	rows, err := selector.Select(ctx, t.Name, source.Selection{Columns: names, Limit: sampleRows})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var batch source.Batch
	for {
		switch err := rows.Next(&batch); {
		case err == io.EOF:
			return values, nil
		case err != nil:
			return nil, err
		}
		for row := range batch.Rows() {
			for column := range names {
				if kind, value := batch.Value(row, column); kind == source.Text && len(value) > 0 {
					values[at[column]] = append(values[at[column]], slices.Clone(value))
				}
			}
		}
	}
}

// maxNamed is how many columns an error names.
const maxNamed = 10

// refuse fails if columns look like personal data and have no rule.
func refuse(suspects []Suspect) error {
	if len(suspects) == 0 {
		return nil
	}
	names := make([]string, 0, len(suspects))
	for _, s := range suspects {
		names = append(names, fmt.Sprintf("%s (%s)", strings.TrimPrefix(s.Table.Name+"."+s.Column, "."), s.Reason))
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", len(suspects)-maxNamed))
	}
	return command.WithHint(fmt.Errorf("columns that look like personal data have no rule: %s", strings.Join(names,
		", ")),
		"see rules for them: culvert mask suggest SOURCE", "let one leave as it is: --mask TABLE.COLUMN=none")
}
