package parquet

import (
	"math"

	"culvert/format/internal/typed"
	"culvert/source"
)

// physical is how values are stored, by the numbers of the specification.
type physical uint8

const (
	boolean   physical = 0
	int32s    physical = 1
	int64s    physical = 2
	floats    physical = 4
	doubles   physical = 5
	byteArray physical = 6
	fixed     physical = 7
)

// column is what becomes of a column.
type column struct {
	typed.Column // of a list, its elements
	physical     physical
	list         *typed.Column // the list, or nil
}

const (
	digits32 = 9  // of decimals that fit 32 bits
	digits64 = 18 // 64 bits
)

// columnOf returns how a column is stored. Whole numbers have at least 32 bits, and decimals as few as they need.
func columnOf(of typed.Column) column {
	if of.Element != nil {
		c := columnOf(*of.Element)
		c.list = &of
		return c
	}
	c := column{Column: of, physical: byteArray}
	switch c.Logical.Class {
	case source.BoolClass:
		c.physical = boolean
	case source.FloatClass:
		c.physical = floats
		if c.Size > 4 {
			c.physical = doubles
		}
	case source.DecimalClass:
		c.setDecimal()
	case source.IntClass, source.DateClass, source.TimeClass, source.TimestampClass, source.InstantClass:
		c.physical, c.Size = int64s, max(c.Size, 4)
		if c.Size == 4 {
			c.physical = int32s
		}
	case source.UUIDClass:
		c.physical = fixed
	default: // the others are as long as their text
	}
	return c
}

// setDecimal sets how numbers of so many digits are stored.
func (c *column) setDecimal() {
	switch digits := c.Logical.Precision; {
	case digits <= digits32:
		c.physical, c.Size = int32s, 4
	case digits <= digits64:
		c.physical, c.Size = int64s, 8
	default:
		bits := math.Log2(10)*float64(digits) + 1
		c.physical, c.Size, c.BigEndian = fixed, int(math.Ceil(bits/8)), true
	}
}

// The numbers of the types in the schema: of ConvertedType, which old readers know, and of the union LogicalType.
const (
	convertedUTF8      = 0
	convertedList      = 3
	convertedDecimal   = 5
	convertedDate      = 6
	convertedTimestamp = 10
	convertedInt16     = 16
	convertedJSON      = 19

	logicalString    = 1
	logicalList      = 3
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalJSON      = 12
	logicalUUID      = 14

	schemaConverted = 6 // fields of SchemaElement
	schemaScale     = 7
	schemaPrecision = 8
	schemaLogical   = 10
)

const (
	required = 0
	optional = 1
	repeated = 2
	micros   = 2 // in the union TimeUnit
)

func repetitionOf(notNull bool) int {
	if notNull {
		return required
	}
	return optional
}

// appendSchema appends the elements of the schema for a column.
func (c *column) appendSchema(t *compact) {
	name := c.Name
	if c.list != nil {
		c.appendList(t)
		name = "element"
	}
	t.beginElement()
	t.i32(1, int(c.physical))
	if c.physical == fixed {
		t.i32(2, c.Size)
	}
	t.i32(3, repetitionOf(c.NotNull))
	t.string(4, name)
	c.appendType(t)
	t.end()
}

// appendType appends the logical type, in both forms.
func (c *column) appendType(t *compact) {
	both := func(converted, logical int) {
		t.i32(schemaConverted, converted)
		t.begin(schemaLogical)
		t.empty(logical)
		t.end()
	}
	switch c.Logical.Class {
	case source.StringClass:
		both(convertedUTF8, logicalString)
	case source.JSONClass:
		both(convertedJSON, logicalJSON)
	case source.DateClass:
		both(convertedDate, logicalDate)
	case source.UUIDClass:
		t.begin(schemaLogical)
		t.empty(logicalUUID)
		t.end()
	case source.IntClass:
		if c.Logical.Bits == 16 {
			t.i32(schemaConverted, convertedInt16)
			t.begin(schemaLogical)
			t.begin(logicalInteger)
			t.i8(1, 16)
			t.bool(2, true) // it has a sign
			t.end()
			t.end()
		}
	case source.DecimalClass:
		t.i32(schemaConverted, convertedDecimal)
		t.i32(schemaScale, c.Logical.Scale)
		t.i32(schemaPrecision, c.Logical.Precision)
		t.begin(schemaLogical)
		t.begin(logicalDecimal)
		t.i32(1, c.Logical.Scale)
		t.i32(2, c.Logical.Precision)
		t.end()
		t.end()
	case source.TimeClass:
		t.appendMoment(logicalTime, false)
	case source.TimestampClass:
		t.appendMoment(logicalTimestamp, false)
	case source.InstantClass:
		t.i32(schemaConverted, convertedTimestamp)
		t.appendMoment(logicalTimestamp, true)
	default: // the others have none
	}
}

// appendMoment appends the logical type of times. The older form has only those in UTC.
func (c *compact) appendMoment(logical int, utc bool) {
	c.begin(schemaLogical)
	c.begin(logical)
	c.bool(1, utc)
	c.begin(2)
	c.empty(micros)
	c.end()
	c.end()
	c.end()
}
