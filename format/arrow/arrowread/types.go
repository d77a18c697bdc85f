package arrowread

import (
	"errors"
	"fmt"

	"culvert/format/internal/untyped"
	"culvert/source"
)

// The numbers of the union Type (Schema.fbs).
const (
	nullType          = 1
	intType           = 2
	floatType         = 3
	binaryType        = 4
	utf8Type          = 5
	boolType          = 6
	decimalType       = 7
	dateType          = 8
	timeType          = 9
	timestampType     = 10
	intervalType      = 11
	listType          = 12
	structType        = 13
	unionType         = 14
	fixedType         = 15
	fixedListType     = 16
	mapType           = 17
	durationType      = 18
	largeBinaryType   = 19
	largeUTF8Type     = 20
	largeListType     = 21
	runType           = 22
	binaryViewType    = 23
	utf8ViewType      = 24
	listViewType      = 25
	largeListViewType = 26
)

// The layouts of the types whose tables have nothing.
var plainTypes = map[int]struct {
	kind   string
	layout layout
	size   int
}{
	nullType:          {"Null", nullLayout, 0},
	boolType:          {"Bool", bitLayout, 0},
	binaryType:        {"Binary", textLayout, 4},
	utf8Type:          {"Utf8", textLayout, 4},
	largeBinaryType:   {"LargeBinary", textLayout, 8},
	largeUTF8Type:     {"LargeUtf8", textLayout, 8},
	binaryViewType:    {"BinaryView", viewLayout, viewSize},
	utf8ViewType:      {"Utf8View", viewLayout, viewSize},
	listType:          {"List", listLayout, 4},
	largeListType:     {"LargeList", listLayout, 8},
	listViewType:      {"ListView", listViewLayout, 4},
	largeListViewType: {"LargeListView", listViewLayout, 8},
	fixedListType:     {"FixedSizeList", fixedListLayout, 0},
	structType:        {"Struct", structLayout, 0},
	mapType:           {"Map", mapLayout, 4},
	runType:           {"RunEndEncoded", runLayout, 0},
}

// setType sets what the values of a node are, by the number and the table of their type.
func (n *node) setType(number int, t table) error {
	if plain, is := plainTypes[number]; is {
		n.kind, n.layout, n.size = plain.kind, plain.layout, plain.size
		switch number {
		case boolType:
			n.set(untyped.Bool, source.Type{Class: source.BoolClass})
		case utf8Type, largeUTF8Type, utf8ViewType:
			n.set(untyped.Text, source.Type{Class: source.StringClass})
		case binaryType, largeBinaryType, binaryViewType:
			n.set(untyped.Bytes, source.Type{Class: source.BytesClass})
		case fixedListType:
			n.count = t.i32(0, 0)
		}
		return n.checkNested()
	}
	if len(n.nodes) > 0 && number != unionType {
		return errSchema
	}
	n.layout = fixedLayout
	switch number {
	case intType:
		return n.setInt(t.i32(0, 0), t.u8(1) == 0)
	case floatType:
		return n.setFloat(t.enum(0))
	case decimalType:
		return n.setDecimal(t.i32(0, 0), t.i32(1, 0), t.i32(2, 128))
	case fixedType:
		n.size = t.i32(0, 0)
		n.kind = fmt.Sprintf("FixedSizeBinary(%d)", n.size)
		n.set(untyped.Bytes, source.Type{Class: source.BytesClass})
		const largest = 1 << 20
		if n.size < 0 || n.size > largest {
			return fmt.Errorf("its values have %d bytes each", n.size)
		}
		return nil
	case dateType, timeType, timestampType, durationType, intervalType:
		return n.setTime(number, t)
	case unionType:
		return errors.New("its type is a union, which is not read")
	default:
		return fmt.Errorf("its type has the number %d, which is not known", number)
	}
}

func (n *node) set(form untyped.Form, logical source.Type) {
	n.printer.Form, n.printer.Logical = form, logical
}

// checkNested checks the children that a type must have.
func (n *node) checkNested() error {
	children := 0
	switch n.layout {
	case listLayout, listViewLayout, fixedListLayout:
		children = 1
	case mapLayout:
		children = 1
		if len(n.nodes) == 1 {
			entries := n.nodes[0]
			if entries.dict != nil || entries.layout != structLayout || len(entries.nodes) != 2 {
				return errSchema
			}
			if !entries.nodes[0].isLeaf() {
				n.layout = listLayout // JSON has no such keys
			}
		}
	case runLayout:
		children = 2
	case structLayout:
		children = len(n.nodes)
	default:
	}
	if len(n.nodes) != children || n.count < 0 {
		return errSchema
	}
	switch n.layout {
	case listLayout, listViewLayout, fixedListLayout:
		n.kind += " of " + n.nodes[0].kind
	case runLayout:
		if ends := n.nodes[0]; ends.dict != nil || ends.layout != fixedLayout || ends.printer.Form != untyped.Int ||
			ends.noSign || ends.size < 2 {
			return errSchema
		}
		n.kind += " of " + n.nodes[1].kind
	default:
	}
	const longest = 1000 // of lists in lists
	if len(n.kind) > longest {
		n.kind = n.kind[:longest]
	}
	return nil
}

// setInt sets the type of integers: the next larger one if they have no sign.
func (n *node) setInt(bits int, noSign bool) error {
	n.size, n.noSign = bits/8, noSign
	sign := "Int"
	if noSign {
		sign = "UInt"
	}
	n.kind = fmt.Sprintf("%s%d", sign, bits)
	switch bits {
	case 8, 16, 32, 64:
	default:
		return fmt.Errorf("its integers have %d bits", bits)
	}
	switch {
	case !noSign:
		n.set(untyped.Int, source.Type{Class: source.IntClass, Bits: max(16, bits)})
	case bits == 64:
		const digits = 20
		n.set(untyped.Unsigned, source.Type{Class: source.DecimalClass, Precision: digits})
	default:
		n.set(untyped.Int, source.Type{Class: source.IntClass, Bits: 2 * bits})
	}
	return nil
}

func (n *node) setFloat(precision int) error {
	kinds := [...]struct {
		form untyped.Form
		bits int
	}{{untyped.Float16, 16}, {untyped.Float32, 32}, {untyped.Float64, 64}}
	if precision < 0 || precision >= len(kinds) {
		return errSchema
	}
	k := kinds[precision]
	n.size, n.kind = k.bits/8, fmt.Sprintf("Float%d", k.bits)
	n.set(k.form, source.Type{Class: source.FloatClass, Bits: max(32, k.bits)})
	return nil
}

// setDecimal sets the type of exact numbers. A scale below zero means zeros before the point.
func (n *node) setDecimal(precision, scale, bits int) error {
	n.size, n.kind = bits/8, fmt.Sprintf("Decimal%d(%d,%d)", bits, precision, scale)
	const most = 76 // digits of 256 bits
	switch bits {
	case 32, 64, 128, 256:
	default:
		return fmt.Errorf("its decimals have %d bits", bits)
	}
	if precision < 1 || precision > most || scale > most || scale < -most {
		return fmt.Errorf("its type is %s", n.kind)
	}
	n.printer.Zeros = max(0, -scale)
	n.set(untyped.Decimal, source.Type{
		Class: source.DecimalClass, Precision: max(precision+n.printer.Zeros, scale), Scale: max(0, scale),
	})
	return nil
}

var unitNames = [...]string{"s", "ms", "us", "ns"}

// setTime sets the type of days, times and spans of time.
func (n *node) setTime(number int, t table) error {
	const months, dayTime, monthDayNano = 0, 1, 2
	usual := 1 // milliseconds
	if number == timestampType || number == intervalType {
		usual = 0
	}
	unit := t.enum(usual)
	if unit < 0 || unit >= len(unitNames) {
		return fmt.Errorf("its unit of time has the number %d", unit)
	}
	n.size, n.printer.Unit = 8, untyped.Unit(unit)
	name, digits := unitNames[unit], n.printer.Unit.Digits()
	interval := source.Type{Class: source.IntervalClass}
	switch number {
	case dateType:
		n.kind = "Date64"
		n.set(untyped.DateTime, source.Type{Class: source.DateClass})
		if unit == 0 {
			n.size, n.kind, n.printer.Form = 4, "Date32", untyped.Date
		} else if unit != usual {
			return errSchema
		}
	case timeType:
		bits := t.i32(1, 32)
		n.size, n.kind = bits/8, fmt.Sprintf("Time%d(%s)", bits, name)
		n.set(untyped.Time, source.Type{Class: source.TimeClass, Precision: digits})
		if bits != 32 && bits != 64 {
			return errSchema
		}
	case timestampType:
		n.kind = fmt.Sprintf("Timestamp(%s)", name)
		n.set(untyped.Moment, source.Type{Class: source.TimestampClass, Precision: digits})
		if zone := t.text(1); zone != "" {
			n.kind = fmt.Sprintf("Timestamp(%s, %s)", name, zone[:min(len(zone), longestName)])
			n.printer.Logical.Class = source.InstantClass
		}
	case durationType:
		n.kind = fmt.Sprintf("Duration(%s)", name)
		n.set(untyped.Duration, interval)
	default:
		switch unit {
		case months:
			n.size, n.kind = 4, "Interval(months)"
			n.set(untyped.Months, interval)
		case dayTime:
			n.kind = "Interval(days, ms)"
			n.set(untyped.DayTime, interval)
		case monthDayNano:
			n.size, n.kind = 16, "Interval(months, days, ns)"
			n.set(untyped.MonthDayNano, interval)
		default:
			return errSchema
		}
	}
	return nil
}
