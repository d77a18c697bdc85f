package parquetread

import (
	"fmt"

	"culvert/format/internal/untyped"
	"culvert/source"
)

// physical is how values are stored, by the numbers of the specification.
type physical int

const (
	booleans   physical = 0
	int32s     physical = 1
	int64s     physical = 2
	int96s     physical = 3
	floats     physical = 4
	doubles    physical = 5
	byteArrays physical = 6
	fixed      physical = 7
)

var physicalNames = [...]string{
	"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY",
}

// The numbers of ConvertedType, which old files have.
const (
	convertedUTF8            = 0
	convertedMap             = 1
	convertedMapKeyValue     = 2
	convertedList            = 3
	convertedEnum            = 4
	convertedDecimal         = 5
	convertedDate            = 6
	convertedTimeMillis      = 7
	convertedTimeMicros      = 8
	convertedTimestampMillis = 9
	convertedTimestampMicros = 10
	convertedUint8           = 11
	convertedInt64           = 18
	convertedJSON            = 19
	convertedBSON            = 20
	convertedInterval        = 21
)

// The numbers of the union LogicalType.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalNull      = 11
	logicalJSON      = 12
	logicalUUID      = 14
	logicalFloat16   = 15
	logicalVariant   = 16
)

// unitNames are those of the union TimeUnit, whose numbers are those of package untyped.
var unitNames = [...]string{untyped.Millis: "MILLIS", untyped.Micros: "MICROS", untyped.Nanos: "NANOS"}

// printer makes the text of the values of a leaf.
type printer struct {
	untyped.Printer
	name string // what the file calls the type
}

const (
	mostDigits   = 1000 // of decimals, as many as numeric(p,s) of PostgreSQL
	intervalSize = 12
	uuidSize     = 16
	int96Size    = 12
)

// sizeOf returns the bytes of a fixed value, or 0.
func sizeOf(e *element) int {
	switch e.physical {
	case int32s, floats:
		return 4
	case int64s, doubles:
		return 8
	case int96s:
		return int96Size
	case fixed:
		return e.size
	default:
		return 0
	}
}

// printerOf finds what the values of an element are. An annotation that does not fit how they are stored is an error,
// one that is not known stands for none.
func printerOf(e *element) (printer, error) {
	if e.physical < 0 || int(e.physical) >= len(physicalNames) {
		return printer{}, fmt.Errorf("its type has the number %d, which is not known", e.physical)
	}
	const largestFixed = 1 << 20
	if e.physical == fixed && (e.size < 1 || e.size > largestFixed) {
		return printer{}, fmt.Errorf("its values have %d bytes each", e.size)
	}
	e.convert()
	p, err := plainPrinter(e.physical), error(nil)
	switch e.logical {
	case logicalInteger:
		err = p.setInteger(e)
	case logicalDecimal:
		err = p.setDecimal(e)
	case logicalDate:
		p.Form, p.Logical, p.name = untyped.Date, source.Type{Class: source.DateClass}, "DATE"
		err = e.mustBe(int32s)
	case logicalTime:
		err = p.setTime(e)
	case logicalTimestamp:
		err = p.setTimestamp(e)
	case logicalString, logicalEnum:
		p.Form, p.Logical, p.name = untyped.Text, source.Type{Class: source.StringClass}, "STRING"
		err = e.mustBe(byteArrays)
	case logicalJSON:
		p.Form, p.Logical, p.name = untyped.JSON, source.Type{Class: source.JSONClass}, "JSON"
		err = e.mustBe(byteArrays)
	case logicalUUID:
		p.Form, p.Logical, p.name = untyped.UUID, source.Type{Class: source.UUIDClass}, "UUID"
		err = e.mustBeFixed(uuidSize)
	case logicalFloat16:
		p.Form, p.Logical, p.name = untyped.Float16, source.Type{Class: source.FloatClass, Bits: 32}, "FLOAT16"
		err = e.mustBeFixed(2)
	case logicalNull:
		p.Logical = source.Type{}
	case logicalInterval:
		p.Form, p.Logical, p.name = untyped.Interval, source.Type{Class: source.IntervalClass}, "INTERVAL"
		err = e.mustBeFixed(intervalSize)
	}
	return p, err
}

// logicalInterval stands for the type of old files that has no number of its own.
const logicalInterval = -1

// convert brings the type of an old file to its number in the union.
func (e *element) convert() {
	if e.logical != 0 || e.converted < 0 {
		return
	}
	switch c := e.converted; c {
	case convertedUTF8:
		e.logical = logicalString
	case convertedEnum:
		e.logical = logicalEnum
	case convertedDecimal:
		e.logical = logicalDecimal
	case convertedDate:
		e.logical = logicalDate
	case convertedTimeMillis, convertedTimeMicros:
		e.logical, e.unit, e.utc = logicalTime, untyped.Millis+untyped.Unit(c-convertedTimeMillis), true
	case convertedTimestampMillis, convertedTimestampMicros:
		e.logical, e.unit, e.utc = logicalTimestamp, untyped.Millis+untyped.Unit(c-convertedTimestampMillis), true
	case convertedJSON:
		e.logical = logicalJSON
	case convertedInterval:
		e.logical = logicalInterval
	default:
		if c >= convertedUint8 && c <= convertedInt64 {
			const sizes = 4 // unsigned ones, and as many with a sign
			e.logical, e.bits = logicalInteger, 8<<((c-convertedUint8)%sizes)
			e.signed = c >= convertedUint8+sizes
		}
	}
}

func (e *element) mustBe(p physical) error {
	if e.physical == p {
		return nil
	}
	return fmt.Errorf("its type is stored as %s", physicalNames[e.physical])
}

func (e *element) mustBeFixed(size int) error {
	if e.size != size {
		return fmt.Errorf("its values have %d bytes each", e.size)
	}
	return e.mustBe(fixed)
}

// plainPrinter is that of values without an annotation.
func plainPrinter(p physical) printer {
	form, logical := untyped.Bytes, source.Type{Class: source.BytesClass}
	switch p {
	case booleans:
		form, logical = untyped.Bool, source.Type{Class: source.BoolClass}
	case int32s:
		form, logical = untyped.Int, source.Type{Class: source.IntClass, Bits: 32}
	case int64s:
		form, logical = untyped.Int, source.Type{Class: source.IntClass, Bits: 64}
	case int96s:
		form, logical = untyped.Int96, source.Type{Class: source.TimestampClass, Precision: untyped.Nanos.Digits()}
	case floats:
		form, logical = untyped.Float32, source.Type{Class: source.FloatClass, Bits: 32}
	case doubles:
		form, logical = untyped.Float64, source.Type{Class: source.FloatClass, Bits: 64}
	default:
	}
	return printer{untyped.Printer{Form: form, Logical: logical}, physicalNames[p]}
}

// setInteger sets the type of integers: the next larger one if they have no sign.
func (p *printer) setInteger(e *element) error {
	switch e.bits {
	case 8, 16, 32, 64:
	default:
		return fmt.Errorf("its integers have %d bits", e.bits)
	}
	stored := int32s
	if e.bits == 64 {
		stored = int64s
	}
	sign := "INT"
	if !e.signed {
		sign = "UINT"
	}
	p.name = fmt.Sprintf("%s_%d", sign, e.bits)
	switch {
	case e.signed:
		p.Logical.Bits = max(16, e.bits)
		if e.bits < 32 {
			p.Low, p.High = -1<<(e.bits-1), 1<<(e.bits-1)-1
		}
	case e.bits == 64:
		const digits = 20
		p.Form, p.Logical = untyped.Unsigned, source.Type{Class: source.DecimalClass, Precision: digits}
	default:
		p.Form, p.Logical.Bits = untyped.Int, 2*e.bits
		p.Low, p.High = 0, 1<<e.bits-1
	}
	return e.mustBe(stored)
}

// setDecimal sets the type of exact numbers.
func (p *printer) setDecimal(e *element) error {
	if e.precision < 1 || e.precision > mostDigits || e.scale < 0 || e.scale > e.precision {
		return fmt.Errorf("its type is DECIMAL(%d,%d)", e.precision, e.scale)
	}
	p.Form = untyped.Decimal
	p.Logical = source.Type{Class: source.DecimalClass, Precision: e.precision, Scale: e.scale}
	p.name = fmt.Sprintf("DECIMAL(%d,%d)", e.precision, e.scale)
	switch e.physical {
	case int32s, int64s, byteArrays:
		return nil
	case fixed:
		if e.size <= untyped.MostDecimal {
			return nil
		}
	default:
	}
	return e.mustBe(byteArrays)
}

// setTime sets the type of times of day.
func (p *printer) setTime(e *element) error {
	if e.unit < untyped.Millis || e.unit > untyped.Nanos {
		return fmt.Errorf("its unit of time has the number %d", e.unit)
	}
	p.Form, p.Unit, p.name = untyped.Time, e.unit, "TIME("+unitNames[e.unit]+")"
	p.Logical = source.Type{Class: source.TimeClass, Precision: e.unit.Digits()}
	if e.unit == untyped.Millis {
		return e.mustBe(int32s)
	}
	return e.mustBe(int64s)
}

// setTimestamp sets the type of moments, and of times in no zone.
func (p *printer) setTimestamp(e *element) error {
	if e.unit < untyped.Millis || e.unit > untyped.Nanos {
		return fmt.Errorf("its unit of time has the number %d", e.unit)
	}
	class, zone := source.TimestampClass, ""
	if e.utc {
		class, zone = source.InstantClass, ", UTC"
	}
	p.Form, p.Unit, p.name = untyped.Moment, e.unit, "TIMESTAMP("+unitNames[e.unit]+zone+")"
	p.Logical = source.Type{Class: class, Precision: e.unit.Digits()}
	return e.mustBe(int64s)
}

// isInt reports whether values are read as integers, and not as bytes. The bits of numbers with a binary exponent are.
func (p physical) isInt() bool { return p != int96s && p != byteArrays && p != fixed }
