package convert

import (
	"bytes"
	"errors"
	"slices"

	"culvert/sink/grammar"
	"culvert/source"
)

// Converter converts the rows of a table. It is safe for concurrent use.
type Converter struct{ columns []column }

// column has the rules for the values of a column, and what applies each of them.
type column struct {
	name  string
	rules []rule
	steps []step
}

// step returns what becomes of a value, in place or as a slice of it if it can, or else appended to room. It gets NULL
// only for the rules default and default-sql.
type step func(kind source.Kind, value, room []byte) (source.Kind, []byte, error)

// New returns what converts rows with these columns, or nil if no conversion is for one of them. The parts of the name
// of the table are a schema, which may be empty, and its name.
func New(all []Conversion, table, columns []string) *Converter {
	c := &Converter{columns: make([]column, len(columns))}
	found := false
	for i, name := range columns {
		one := &c.columns[i]
		one.name = name
		for _, conversion := range all {
			if conversion.Matches(table, name) {
				one.rules = append(one.rules, conversion.rule)
				one.steps = append(one.steps, conversion.rule.step(moments{}))
				found = true
			}
		}
	}
	if !found {
		return nil
	}
	return c
}

// Columns returns the names of the columns whose values are converted. Nil converts none.
func (c *Converter) Columns() (names []string) {
	if c == nil {
		return nil
	}
	for _, one := range c.columns {
		if one.rules != nil {
			names = append(names, one.name)
		}
	}
	return names
}

// Retype returns the columns with the types of the converted values: those that were numbers may be timestamps.
func (c *Converter) Retype(columns []source.Column) []source.Column {
	columns = slices.Clone(columns)
	for i, one := range c.columns {
		for _, r := range one.rules {
			columns[i] = r.retype(columns[i])
		}
	}
	return columns
}

// For returns a Converter for a table with these columns, in the same order: their types say how it prints a timestamp,
// which is compared when it is read back.
func (c *Converter) For(table []source.Column) *Converter {
	if c == nil || len(table) != len(c.columns) {
		return c
	}
	of := &Converter{columns: slices.Clone(c.columns)}
	for i := range of.columns {
		one := &of.columns[i]
		one.steps = nil
		for _, r := range one.rules {
			one.steps = append(one.steps, r.step(momentsOf(table[i].Type)))
		}
	}
	return of
}

// largest is the most bytes that a value has more when it is converted in room of its own.
const largest = len("2006-01-02 15:04:05.000000+00")

// Convert resets dst and fills it with the rows of src, converted. It keeps the settings of dst. The values of a row
// that src has lent are lent on, and valid as long. The error is a [*ValueError].
func (c *Converter) Convert(dst, src *source.Batch) error {
	dst.Reset(len(c.columns))
	rows, lent := src.Rows(), -1
	if src.HasLent() {
		rows--
		lent = rows
	}
	for row := range rows {
		for at := 0; at < len(c.columns); at++ {
			first := at
			for at < len(c.columns) && c.columns[at].steps == nil {
				at++
			}
			if at > first {
				dst.AppendFrom(src, row, first, at)
			}
			if at == len(c.columns) {
				break
			}
			kind, value, err := c.convert(src, row, at, dst.AvailableBuffer(src.RowBytes(row)+largest))
			if err != nil {
				return err
			}
			if kind == source.Null {
				dst.AppendNull()
				continue
			}
			dst.Append(kind, value)
		}
		dst.EndRow()
	}
	if lent < 0 {
		return nil
	}
	for at := range c.columns {
		kind, value, err := c.convert(src, lent, at, nil) // what is lent stays
		if err != nil {
			return err
		}
		dst.Lend(kind, value)
	}
	dst.EndRow()
	return nil
}

// convert returns what becomes of a value.
func (c *Converter) convert(src *source.Batch, row, at int, room []byte) (source.Kind, []byte, error) {
	kind, value := src.AnyValue(row, at)
	for i, step := range c.columns[at].steps {
		r := c.columns[at].rules[i]
		isLeft := kind == source.Bytes && r.decode == nil
		if isLeft || (kind == source.Null) != r.isDefault() {
			continue
		}
		var err error
		if kind, value, err = step(kind, value, room); err != nil {
			return kind, nil, &ValueError{c.columns[at].name, r.String(), int64(row) + 1, err}
		}
	}
	if kind == source.Null {
		value = nil
	}
	return kind, value, nil
}

var errNul = errors.New("it has a character NUL")

// step returns what applies the rule.
func (r rule) step(m moments) step {
	switch r.name {
	case "zero-date":
		return func(kind source.Kind, value, _ []byte) (source.Kind, []byte, error) {
			if grammar.IsZeroDate(value) {
				return source.Null, nil, nil
			}
			return kind, value, nil
		}
	case "nul":
		return r.stepNul()
	case "epoch":
		return m.step(r.text)
	case "cast":
		return m.cast(r.text)
	case "charset":
		return func(kind source.Kind, value, room []byte) (source.Kind, []byte, error) {
			if kind == source.Bytes {
				kind = source.Text
			}
			value, err := r.decode(room, value)
			return kind, value, err
		}
	case "empty":
		return func(kind source.Kind, value, _ []byte) (source.Kind, []byte, error) {
			if len(value) == 0 {
				return source.Null, nil, nil
			}
			return kind, value, nil
		}
	case "trim":
		return func(kind source.Kind, value, _ []byte) (source.Kind, []byte, error) {
			return kind, bytes.TrimSpace(value), nil
		}
	}
	return func(source.Kind, []byte, []byte) (source.Kind, []byte, error) { return r.kind, r.value, nil }
}

// isDefault reports whether the rule is for NULL, and only for it.
func (r rule) isDefault() bool { return r.value != nil }

func (r rule) stepNul() step {
	return func(kind source.Kind, value, room []byte) (source.Kind, []byte, error) {
		switch {
		case bytes.IndexByte(value, 0) < 0:
			return kind, value, nil
		case r.text == "error":
			return kind, nil, errNul
		}
		for part := range bytes.SplitSeq(value, []byte{0}) {
			room = append(room, part...)
		}
		return kind, room, nil
	}
}
