package load

import (
	"fmt"
	"slices"
	"strings"

	"culvert/format"
	"culvert/source"
)

// columns say how the values of a file become those of a table.
type columns struct {
	fields []format.Field // of the file
	names  []string       // of the table, for the fields that are not skipped
	types  []source.Column
	all    bool // no field is skipped

	written bool // by an export
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
		c.fields = append(c.fields, format.Field{Name: column.Name, Kind: kindOf(column.Type), Skip: skip})
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
		c.types = append(c.types, source.Column{Name: name, Type: column.Type})
	}
	return c, nil
}

// keepText has strings be text in columns of JSON, as in a database that has no kind of its own for JSON.
func (c *columns) keepText() {
	for i := range c.fields {
		if c.fields[i].Kind == source.JSON {
			c.fields[i].Kind = source.Null
		}
	}
}

// learn sets the kinds of fields whose types the file does not say to those of the table. But a string is text, and not
// JSON, if the table is dynamic, or if it comes from a table without types, which is one of SQLite.
func (c *columns) learn(table []source.Column, dynamic bool) {
	i := 0
	for f := range c.fields {
		field := &c.fields[f]
		if field.Skip {
			continue
		}
		if field.Kind == source.Null && i < len(table) {
			if kind := kindOf(table[i].Type); kind != source.JSON || !c.written && !dynamic {
				field.Kind = kind
			}
		}
		i++
	}
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

// kinds are the kinds of values by the first word of the type of their column, in lower case.
var kinds = map[string]source.Kind{
	"bool": source.Bool, "boolean": source.Bool,

	"smallint": source.Number, "integer": source.Number, "bigint": source.Number, "int": source.Number,
	"int2": source.Number, "int4": source.Number, "int8": source.Number, "tinyint": source.Number,
	"mediumint": source.Number, "numeric": source.Number, "decimal": source.Number, "real": source.Number,
	"double": source.Number, "float": source.Number, "float4": source.Number, "float8": source.Number,
	"oid": source.Number, "year": source.Number,

	"bytea": source.Bytes, "blob": source.Bytes, "tinyblob": source.Bytes, "mediumblob": source.Bytes,
	"longblob": source.Bytes, "binary": source.Bytes, "varbinary": source.Bytes,

	"geometry": source.Bytes, "point": source.Bytes, "linestring": source.Bytes, "polygon": source.Bytes,
	"multipoint": source.Bytes, "multilinestring": source.Bytes, "multipolygon": source.Bytes,
	"geometrycollection": source.Bytes, "geomcollection": source.Bytes,

	"json": source.JSON, "jsonb": source.JSON,
}

// kindOf returns the kind of the values of a type, as a database names it: Null if there is no name.
func kindOf(name string) source.Kind {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return source.Null
	}
	word := name
	if end := strings.IndexAny(name, " ("); end >= 0 {
		word = name[:end]
	}
	if strings.HasSuffix(name, "[]") {
		return source.Text
	}
	if kind, found := kinds[word]; found {
		return kind
	}
	return source.Text
}
