package parquet

import (
	"math"

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
	name     string
	logical  source.Type // of the values; the class is that of strings if they are written as text
	physical physical
	size     int // bytes of a value, or 0
}

const (
	digits32  = 9  // of decimals that fit 32 bits
	digits64  = 18 // 64 bits
	maxDigits = 38 // what most readers can compute with
	uuidSize  = 16
)

// columnOf returns what becomes of a column of a source.
func columnOf(of source.Column) column {
	c := column{name: of.Name, logical: of.Logical, physical: byteArray}
	if of.Logical.List {
		c.logical = source.Type{Class: source.StringClass}
		return c
	}
	switch c.logical.Class {
	case source.BoolClass:
		c.physical = boolean
	case source.IntClass:
		c.physical, c.size = int32s, 4
		if c.logical.Bits > 32 {
			c.physical, c.size = int64s, 8
		}
	case source.FloatClass:
		c.physical, c.size = floats, 4
		if c.logical.Bits > 32 {
			c.physical, c.size = doubles, 8
		}
	case source.DecimalClass:
		c.setDecimal()
	case source.DateClass:
		c.physical, c.size = int32s, 4
	case source.TimeClass, source.TimestampClass, source.InstantClass:
		c.physical, c.size = int64s, 8
	case source.UUIDClass:
		c.physical, c.size = fixed, uuidSize
	case source.BytesClass, source.JSONClass:
	default:
		c.logical = source.Type{Class: source.StringClass}
	}
	return c
}

// setDecimal sets how numbers of so many digits are stored. Parquet has neither digits left of the last ones, nor fewer
// digits than are after the point. Numbers of more digits than readers know, or of any number of them, are text.
func (c *column) setDecimal() {
	l := &c.logical
	if l.Precision == 0 {
		*l = source.Type{Class: source.StringClass}
		return
	}
	if l.Scale < 0 {
		l.Precision, l.Scale = l.Precision-l.Scale, 0
	}
	switch l.Precision = max(l.Precision, l.Scale); {
	case l.Precision <= digits32:
		c.physical, c.size = int32s, 4
	case l.Precision <= digits64:
		c.physical, c.size = int64s, 8
	case l.Precision <= maxDigits:
		bits := math.Log2(10)*float64(l.Precision) + 1
		c.physical, c.size = fixed, int(math.Ceil(bits/8))
	default:
		*l = source.Type{Class: source.StringClass}
	}
}

// The numbers of the types in the schema: of ConvertedType, which old readers know, and of the union LogicalType.
const (
	convertedUTF8      = 0
	convertedDecimal   = 5
	convertedDate      = 6
	convertedTimestamp = 10
	convertedInt16     = 16
	convertedJSON      = 19

	logicalString    = 1
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
	optional = 1
	micros   = 2 // in the union TimeUnit
)

// appendSchema appends the element of the schema for a column.
func (c *column) appendSchema(t *compact) {
	t.beginElement()
	t.i32(1, int(c.physical))
	if c.physical == fixed {
		t.i32(2, c.size)
	}
	t.i32(3, optional)
	t.string(4, c.name)
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
	switch c.logical.Class {
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
		if c.logical.Bits == 16 {
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
		t.i32(schemaScale, c.logical.Scale)
		t.i32(schemaPrecision, c.logical.Precision)
		t.begin(schemaLogical)
		t.begin(logicalDecimal)
		t.i32(1, c.logical.Scale)
		t.i32(2, c.logical.Precision)
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
