package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/convert"
	"culvert/source"
)

// ConversionError reports a conversion that is for no column of the tables.
type ConversionError struct{ Conversion convert.Conversion }

func (e *ConversionError) Error() string {
	return fmt.Sprintf("load: no column matches %q, which is to be converted", e.Conversion.Pattern())
}

// setConverter finds the conversions for the columns of a table with this schema and name.
func (j *job) setConverter(p *Plan, name []string) {
	c := j.columns
	columns := c.read() // as the patterns know them
	for i, one := range p.Conversions {
		if slices.ContainsFunc(columns, func(column string) bool { return one.Matches(name, column) }) {
			j.conversions = append(j.conversions, i)
		}
	}
	if j.converts = convert.New(p.Conversions, name, columns); j.converts != nil {
		c.types = j.converts.Retype(c.types)
	}
}

// checkConversions returns a [*ConversionError] if a conversion is for none of the tables. Those that are not known
// are nil.
func (p *Plan) checkConversions(jobs ...*job) error {
	for i, one := range p.Conversions {
		isFor := func(j *job) bool { return j != nil && slices.Contains(j.conversions, i) }
		if !slices.ContainsFunc(jobs, isFor) {
			return &ConversionError{one}
		}
	}
	return nil
}

// nameOf returns the schema, which may be empty, and the name of a table that somebody has written.
func nameOf(table string) []string {
	schema, name, found := strings.Cut(table, ".")
	if !found {
		return []string{"", table}
	}
	return []string{schema, name}
}

// nameIn returns those of a definition, if there is one.
func nameIn(d *source.Definition, table string) []string {
	if d == nil || d.Name == "" {
		return nameOf(table)
	}
	return []string{d.Schema, d.Name}
}

// nameFrom returns those of a table of a source, which is asked only if there are conversions.
func (p *Plan) nameFrom(ctx context.Context, src source.Source, table string) ([]string, error) {
	if len(p.Conversions) == 0 {
		return nil, nil
	}
	d, err := source.Define(ctx, src, table)
	return nameIn(d, table), err
}
