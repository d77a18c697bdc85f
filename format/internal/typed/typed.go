// Package typed turns the texts of values into the bytes of columns of one type each, for the formats that have such
// columns. A value never becomes another one: it fits, or there is a [Reason] why it does not.
package typed

import (
	"fmt"
	"unicode/utf8"

	"culvert/format"
	"culvert/source"
)

// Column is what becomes of a column of a source.
type Column struct {
	Name    string
	Logical source.Type // of the values; the class is that of strings if they are written as text
	NotNull bool        // the column has no NULL

	// Size is the number of bytes of a value, or 0 if a value is as long as its text. Bytes are in the order of little
	// endian, and a boolean is one of 0 or 1.
	Size      int
	BigEndian bool // decimals of more than 8 bytes are in the other order

	Element *Column // of lists: what each element is; it may be NULL
}

// UUIDSize is the size of a UUID.
const UUIDSize = 16

// MaxDigits is the number of digits of a decimal that most readers can compute with: 128 bits hold them.
const MaxDigits = 38

// Columns returns what becomes of the columns of a source. A decimal has 128 bits. It fails if two columns have the
// same name, or if a name is not valid UTF-8, since most readers refuse such files.
func Columns(of []source.Column) ([]Column, error) {
	columns := make([]Column, len(of))
	seen := make(map[string]bool, len(of))
	for i, c := range of {
		switch {
		case seen[c.Name]:
			return nil, fmt.Errorf("two columns have the name %q", c.Name)
		case !utf8.ValidString(c.Name):
			return nil, fmt.Errorf("the name of column %d is not valid UTF-8: %q", i+1, c.Name)
		}
		seen[c.Name] = true
		columns[i] = Column{Name: c.Name, Logical: c.Logical, NotNull: c.NotNull}
		columns[i].setSize()
	}
	return columns, nil
}

// setSize sets the size of values, and the type of those that are written as text.
func (c *Column) setSize() {
	text := source.Type{Class: source.StringClass}
	if c.Logical.List {
		if c.Logical.Class == source.UnknownClass { // it may print its arrays in another way
			c.Logical = text
			return
		}
		c.Element = &Column{Name: c.Name, Logical: c.Logical}
		c.Element.Logical.List = false
		c.Element.setSize()
		return
	}
	switch c.Logical.Class {
	case source.BoolClass:
		c.Size = 1
	case source.IntClass, source.FloatClass:
		c.Size = c.Logical.Bits / 8
	case source.DecimalClass:
		c.setDecimal()
	case source.DateClass:
		c.Size = 4
	case source.TimeClass, source.TimestampClass, source.InstantClass:
		c.Size = 8
	case source.UUIDClass:
		c.Size = UUIDSize
	case source.BytesClass, source.JSONClass:
	default:
		c.Logical = text
	}
}

// setDecimal sets how numbers of so many digits are stored. The formats have neither digits left of the last ones, nor
// fewer digits than are after the point. Numbers of more digits than readers know, or of any number of them, are text.
func (c *Column) setDecimal() {
	l := &c.Logical
	if l.Precision > 0 && l.Scale < 0 {
		l.Precision, l.Scale = l.Precision-l.Scale, 0
	} else if l.Precision > 0 {
		l.Precision = max(l.Precision, l.Scale)
	}
	if l.Precision == 0 || l.Precision > MaxDigits {
		*l = source.Type{Class: source.StringClass}
		return
	}
	c.Size = 16
}

// Null returns the error of a NULL in a row, unless the column may have it.
func (c *Column) Null(row int) error {
	if !c.NotNull {
		return nil
	}
	return c.Unfit(row, "it is NULL, although the database says that its column is NOT NULL; "+
		"a query may have NULL: export a query that returns the table")
}

// Unfit returns the error of a value in a row, which counts from 0 in the batch.
func (c *Column) Unfit(row int, why Reason) error {
	return &format.ValueError{Column: c.Name, Row: int64(row) + 1, Reason: string(why)}
}
