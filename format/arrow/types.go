package arrow

import (
	"culvert/format/internal/typed"
	"culvert/source"
)

// The numbers of the specification (Schema.fbs) for the union Type, and for the units and precisions of types.
const (
	intType       = 2
	floatType     = 3
	binaryType    = 4
	utf8Type      = 5
	boolType      = 6
	decimalType   = 7
	dateType      = 8
	timeType      = 9
	timestampType = 10
	listType      = 12
	fixedType     = 15

	dateDays     = 0
	microseconds = 2
	singleFloat  = 1
	doubleFloat  = 2
)

// nodesOf returns how many nodes a column has: of lists, also that of their elements.
func nodesOf(c *typed.Column) int {
	if c.Element != nil {
		return 2
	}
	return 1
}

// buffersOf returns how many buffers a column has: which rows have a value, where values end, and the values. A list
// has those of its elements in place of values.
func buffersOf(c *typed.Column) int {
	if c.Element != nil {
		return 2 + buffersOf(c.Element)
	}
	if c.Size == 0 {
		return 3
	}
	return 2
}

// typeOf returns the number of the type of a column, and the name of its extension, if it has one.
func typeOf(c *typed.Column) (number int, extension string) {
	if c.Element != nil {
		return listType, ""
	}
	switch c.Logical.Class {
	case source.BoolClass:
		return boolType, ""
	case source.IntClass:
		return intType, ""
	case source.FloatClass:
		return floatType, ""
	case source.DecimalClass:
		return decimalType, ""
	case source.BytesClass:
		return binaryType, ""
	case source.DateClass:
		return dateType, ""
	case source.TimeClass:
		return timeType, ""
	case source.TimestampClass, source.InstantClass:
		return timestampType, ""
	case source.UUIDClass:
		return fixedType, "arrow.uuid"
	case source.JSONClass:
		return utf8Type, "arrow.json"
	}
	return utf8Type, ""
}

// addType adds the table of the type of a column. Sizes of 4 bytes are those of numbers, and of 2 those of enums.
func (f *flat) addType(of int, c *typed.Column) {
	if c.Element != nil {
		f.child(of)
		return
	}
	number, bits := func(id, v int) field { return field{id, 4, uint64(v)} }, 8*c.Size
	enum := func(v int) field { return field{0, 2, uint64(v)} }
	switch c.Logical.Class {
	case source.IntClass:
		f.child(of, number(0, bits), field{1, 1, 1}) // it has a sign
	case source.FloatClass:
		precision := singleFloat
		if c.Size > 4 {
			precision = doubleFloat
		}
		f.child(of, enum(precision))
	case source.DecimalClass:
		f.child(of, number(0, c.Logical.Precision), number(1, c.Logical.Scale), number(2, bits))
	case source.DateClass:
		f.child(of, enum(dateDays))
	case source.TimeClass:
		f.child(of, enum(microseconds), number(1, bits))
	case source.TimestampClass:
		f.child(of, enum(microseconds))
	case source.InstantClass:
		at := f.child(of, enum(microseconds), ref(1))
		f.string(at[1], "UTC")
	case source.UUIDClass:
		f.child(of, number(0, c.Size))
	default:
		f.child(of)
	}
}

// addSchema adds the table of a schema.
func (f *flat) addSchema(of int, columns []typed.Column) {
	at := f.child(of, ref(1))
	next := f.refs(at[1], len(columns))
	for i := range columns {
		f.addField(next+refSize*i, columns[i].Name, &columns[i])
	}
}

// addField adds the table of a column.
func (f *flat) addField(of int, name string, c *typed.Column) {
	number, extension := typeOf(c)
	nullable := uint64(1)
	if c.NotNull {
		nullable = 0
	}
	fields := []field{ref(0), {1, 1, nullable}, {2, 1, uint64(number)}, ref(3), ref(5)}
	if extension != "" {
		fields = append(fields, ref(6))
	}
	at := f.child(of, fields...)
	f.string(at[0], name)
	f.addType(at[3], c)
	if c.Element != nil {
		f.addField(f.refs(at[5], 1), "item", c.Element) // the usual name
		return
	}
	f.refs(at[5], 0) // it has no children
	if extension == "" {
		return
	}
	pairs := [][2]string{{"ARROW:extension:name", extension}, {"ARROW:extension:metadata", ""}}
	next := f.refs(at[6], len(pairs))
	for i, pair := range pairs {
		key := f.child(next+refSize*i, ref(0), ref(1))
		f.string(key[0], pair[0])
		f.string(key[1], pair[1])
	}
}
