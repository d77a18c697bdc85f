package parquetread

import (
	"fmt"

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

// The numbers of the union TimeUnit.
const (
	millis = 1
	micros = 2
	nanos  = 3
)

// perSecond are the units of a second, and secondDigits the digits after one.
var (
	perSecond    = [...]int64{millis: 1e3, micros: 1e6, nanos: 1e9}
	secondDigits = [...]int{millis: 3, micros: 6, nanos: 9}
	unitNames    = [...]string{millis: "MILLIS", micros: "MICROS", nanos: "NANOS"}
)

// form is how the text of a value is made.
type form uint8

const (
	boolForm form = iota
	intForm
	unsignedForm // of 64 bits
	float16Form
	float32Form
	float64Form
	decimalForm
	dateForm
	timeForm
	momentForm // a timestamp or an instant
	int96Form
	intervalForm
	uuidForm
	textForm
	bytesForm
	jsonForm
)

// printer makes the text of the values of a leaf.
type printer struct {
	form    form
	logical source.Type
	name    string // what the file calls the type
	unit    int    // of times
	low     int64  // the bounds of integers, if they are not those of how they are stored
	high    int64
}

const (
	mostDigits     = 1000 // of decimals, as many as numeric(p,s) of PostgreSQL
	largestDecimal = 512  // bytes
	intervalSize   = 12
	uuidSize       = 16
	int96Size      = 12
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
		p.form, p.logical, p.name = dateForm, source.Type{Class: source.DateClass}, "DATE"
		err = e.mustBe(int32s)
	case logicalTime:
		err = p.setTime(e)
	case logicalTimestamp:
		err = p.setTimestamp(e)
	case logicalString, logicalEnum:
		p.form, p.logical, p.name = textForm, source.Type{Class: source.StringClass}, "STRING"
		err = e.mustBe(byteArrays)
	case logicalJSON:
		p.form, p.logical, p.name = jsonForm, source.Type{Class: source.JSONClass}, "JSON"
		err = e.mustBe(byteArrays)
	case logicalUUID:
		p.form, p.logical, p.name = uuidForm, source.Type{Class: source.UUIDClass}, "UUID"
		err = e.mustBeFixed(uuidSize)
	case logicalFloat16:
		p.form, p.logical, p.name = float16Form, source.Type{Class: source.FloatClass, Bits: 32}, "FLOAT16"
		err = e.mustBeFixed(2)
	case logicalNull:
		p.logical = source.Type{}
	case logicalInterval:
		p.form, p.logical, p.name = intervalForm, source.Type{Class: source.IntervalClass}, "INTERVAL"
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
		e.logical, e.unit, e.utc = logicalTime, millis+c-convertedTimeMillis, true
	case convertedTimestampMillis, convertedTimestampMicros:
		e.logical, e.unit, e.utc = logicalTimestamp, millis+c-convertedTimestampMillis, true
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
	name := physicalNames[p]
	switch p {
	case booleans:
		return printer{form: boolForm, name: name, logical: source.Type{Class: source.BoolClass}}
	case int32s:
		return printer{form: intForm, name: name, logical: source.Type{Class: source.IntClass, Bits: 32}}
	case int64s:
		return printer{form: intForm, name: name, logical: source.Type{Class: source.IntClass, Bits: 64}}
	case int96s:
		return printer{form: int96Form, name: name, logical: source.Type{
			Class: source.TimestampClass, Precision: secondDigits[nanos],
		}}
	case floats:
		return printer{form: float32Form, name: name, logical: source.Type{Class: source.FloatClass, Bits: 32}}
	case doubles:
		return printer{form: float64Form, name: name, logical: source.Type{Class: source.FloatClass, Bits: 64}}
	default:
		return printer{form: bytesForm, name: name, logical: source.Type{Class: source.BytesClass}}
	}
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
		p.logical.Bits = max(16, e.bits)
		if e.bits < 32 {
			p.low, p.high = -1<<(e.bits-1), 1<<(e.bits-1)-1
		}
	case e.bits == 64:
		const digits = 20
		p.form, p.logical = unsignedForm, source.Type{Class: source.DecimalClass, Precision: digits}
	default:
		p.form, p.logical.Bits = intForm, 2*e.bits
		p.low, p.high = 0, 1<<e.bits-1
	}
	return e.mustBe(stored)
}

// setDecimal sets the type of exact numbers.
func (p *printer) setDecimal(e *element) error {
	if e.precision < 1 || e.precision > mostDigits || e.scale < 0 || e.scale > e.precision {
		return fmt.Errorf("its type is DECIMAL(%d,%d)", e.precision, e.scale)
	}
	p.form = decimalForm
	p.logical = source.Type{Class: source.DecimalClass, Precision: e.precision, Scale: e.scale}
	p.name = fmt.Sprintf("DECIMAL(%d,%d)", e.precision, e.scale)
	switch e.physical {
	case int32s, int64s, byteArrays:
		return nil
	case fixed:
		if e.size <= largestDecimal {
			return nil
		}
	default:
	}
	return e.mustBe(byteArrays)
}

// setTime sets the type of times of day.
func (p *printer) setTime(e *element) error {
	if e.unit < millis || e.unit > nanos {
		return fmt.Errorf("its unit of time has the number %d", e.unit)
	}
	p.form, p.unit, p.name = timeForm, e.unit, "TIME("+unitNames[e.unit]+")"
	p.logical = source.Type{Class: source.TimeClass, Precision: secondDigits[e.unit]}
	if e.unit == millis {
		return e.mustBe(int32s)
	}
	return e.mustBe(int64s)
}

// setTimestamp sets the type of moments, and of times in no zone.
func (p *printer) setTimestamp(e *element) error {
	if e.unit < millis || e.unit > nanos {
		return fmt.Errorf("its unit of time has the number %d", e.unit)
	}
	class, zone := source.TimestampClass, ""
	if e.utc {
		class, zone = source.InstantClass, ", UTC"
	}
	p.form, p.unit, p.name = momentForm, e.unit, "TIMESTAMP("+unitNames[e.unit]+zone+")"
	p.logical = source.Type{Class: class, Precision: secondDigits[e.unit]}
	return e.mustBe(int64s)
}
