package load

import (
	"fmt"
	"slices"

	"culvert/format"
	"culvert/internal/sqlsource"
	"culvert/source"
)

// columns say how the values of a file become those of a table.
type columns struct {
	fields []format.Field // of the file
	names  []string       // of the table, for the fields that are not skipped
	types  []source.Column
	all    bool // no field is skipped

	written bool // by an export
	untyped bool // of a database whose columns take values of any type
}

// match finds the columns of the table for those of a file.
func (p *Plan) match(of []source.Column) (*columns, error) {
	c := &columns{all: true}
	known := namesOf(of)
	for i, name := range known {
		if slices.Contains(known[:i], name) {
			return nil, fmt.Errorf("load: there are two columns with the name %q", name)
		}
	}
	for _, name := range p.Columns {
		if !slices.Contains(known, name) {
			return nil, unknownColumn(name, known)
		}
	}
	for name := range p.Rename {
		if !slices.Contains(known, name) {
			return nil, unknownColumn(name, known)
		}
	}
	for _, column := range of {
		skip := len(p.Columns) > 0 && !slices.Contains(p.Columns, column.Name)
		c.fields = append(c.fields, format.Field{Name: column.Name, Kind: sqlsource.KindOf(column.Type), Skip: skip})
		if skip {
			c.all = false
			continue
		}
		name := column.Name
		if renamed, found := p.Rename[name]; found {
			name = renamed
		}
		if slices.Contains(c.names, name) {
			return nil, fmt.Errorf("load: two columns would become the column %q", name)
		}
		c.names = append(c.names, name)
		column.Name = name
		c.types = append(c.types, column)
	}
	return c, nil
}

// skip skips the fields of columns of the table that computes them, if they were computed in the source too. It reports
// whether there were any, beside others.
func (c *columns) skip(computed, generated []string) bool {
	if len(computed) == len(c.names) {
		return false
	}
	at := 0
	for i := range c.fields {
		field := &c.fields[i]
		switch {
		case field.Skip:
			continue
		case slices.Contains(computed, c.names[at]) && slices.Contains(generated, field.Name):
			field.Skip, c.all = true, false
			c.names, c.types = slices.Delete(c.names, at, at+1), slices.Delete(c.types, at, at+1)
		default:
			at++
		}
	}
	return !c.all
}

// keepText has strings be text in columns of JSON, as in a database that has no kind of its own for JSON.
func (c *columns) keepText() {
	c.untyped = true
	for i := range c.fields {
		if c.fields[i].Kind == source.JSON {
			c.fields[i].Kind = source.Null
		}
	}
}

// learn sets the kinds of fields whose types the file does not say to those of the table. But a string is text, and not
// JSON, if the table is dynamic, or if it comes from a table that has no types.
func (c *columns) learn(table []source.Column, dynamic bool) {
	i := 0
	for f := range c.fields {
		field := &c.fields[f]
		if field.Skip {
			continue
		}
		if field.Kind == source.Bool && c.untyped && dynamic {
			field.Kind = source.Number // as it is stored, and a text stays one
		}
		if field.Kind == source.Null && i < len(table) {
			kind := sqlsource.KindOf(table[i].Type)
			if table[i].Logical.Class == source.JSONClass { // also the text of MariaDB that is JSON
				kind = source.JSON
			}
			if kind != source.JSON || !c.written && !dynamic {
				field.Kind = kind
			}
		}
		i++
	}
}

// read returns the names of the fields that are not skipped.
func (c *columns) read() []string { return c.named(false) }

// named returns the names of the fields that are skipped, or of the others.
func (c *columns) named(skipped bool) (names []string) {
	for _, field := range c.fields {
		if field.Skip == skipped {
			names = append(names, field.Name)
		}
	}
	return names
}

func namesOf(columns []source.Column) []string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return names
}

func typesOf(columns []source.Column) []string {
	types := make([]string, len(columns))
	for i, column := range columns {
		types[i] = column.Type
	}
	return types
}

// columnsOf returns columns without types.
func columnsOf(names []string) (columns []source.Column) {
	for _, name := range names {
		columns = append(columns, source.Column{Name: name})
	}
	return columns
}
