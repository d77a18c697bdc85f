package grammar

import (
	"math"
	"strings"

	"culvert/internal/typename"
	"culvert/sink"
	"culvert/source"
)

// Narrow returns what is left of the grammar of a column of a type, if the type of the source's column guarantees the
// rest: nil if the column keeps every value that the source can have. It refuses the same values as the grammar, except
// for zeros before the digits of numbers, which then are numbers for certain, and a zero with a sign, which no number
// has but a floating-point one.
//
// The values of SQLite are of any type, whatever their column, so they guarantee nothing.
func Narrow(g Grammar, to source.Dialect, name string, from sink.Origin) Grammar {
	if g == nil || from.Dialect == "" {
		return g
	}
	element, isArray := strings.CutSuffix(name, "[]")
	if fromElement, is := strings.CutSuffix(from.Type, "[]"); is && isArray && from.Dialect == source.PostgreSQL {
		from.Type = fromElement
		return Array(Narrow(Part(element), to, element, from))
	}
	given, wanted := classOf(from.Dialect, from.Type), classOf(to, name)
	isNumber := wanted.family == integer || wanted.family == decimalNumber
	if isNumber && (given.family == floating || from.Dialect == source.SQLite) {
		return g.withoutSign()
	}
	if from.Dialect == source.SQLite && (wanted.family == day || wanted.family == dayAndTime) {
		return g.ofYears()
	}
	same := to.Family() == from.Dialect.Family() && to != source.SQLite
	if same && strings.EqualFold(name, from.Type) && name != moneyType && !dropsSign(to, name) {
		return nil
	}
	if wanted.family == filledUp && given.family == filledUp {
		g = g.withoutPadding()
	}
	guaranteed := guarantees[wanted.family][given.family]
	if from.Dialect == source.SQLite || guaranteed == nil || !guaranteed(given, wanted) {
		return g
	}
	isOrdinary := ordinary[from.Dialect.Family()][given.family]
	if isOrdinary == nil || to == source.SQLite && given.family != floating {
		return nil
	}
	return func(kind source.Kind, value []byte) string {
		if isOrdinary(value) {
			return ""
		}
		return g(kind, value)
	}
}

// dropsSign reports whether a column of a type has floating-point numbers, but no zero with a sign: MySQL reads none.
func dropsSign(to source.Dialect, name string) bool {
	lower := strings.ToLower(name)
	return to.Family() == source.MySQL && (strings.HasPrefix(lower, "float") || strings.HasPrefix(lower, "double"))
}

// moneyType has amounts whose text depends on a setting.
const moneyType = "money"

// kindOfType says how the values of a type are written.
type kindOfType uint8

const (
	unlisted kindOfType = iota
	integer
	decimalNumber
	floating
	boolean
	day
	clockTime
	dayAndTime
	characters
	filledUp    // characters, after which spaces mean nothing
	dynamic     // what SQLite stores as INTEGER or REAL, and other text as it is
	dynamicReal // the same, but always as REAL
)

// class is what a type can hold.
type class struct {
	family kindOfType
	size   int  // digits; bits of floating-point numbers; characters
	places int  // digits after the point, or of a second
	signed bool // of 64 bits at most
}

// guarantees say by the type of the column, and that of the source, when the column keeps all values.
var guarantees = map[kindOfType]map[kindOfType]func(given, wanted class) bool{
	integer: {
		integer: always, boolean: always,
		decimalNumber: func(given, _ class) bool { return given.places == 0 },
	},
	decimalNumber: {
		integer:       func(_, wanted class) bool { return wanted.places >= 0 },
		decimalNumber: hasPlaces, boolean: always,
	},
	floating: {
		integer: hasDigits, decimalNumber: hasDigits, boolean: always,
		floating: func(given, wanted class) bool { return given.size <= wanted.size },
	},
	day:        {day: always},
	dayAndTime: {day: always, dayAndTime: hasPlaces},
	clockTime:  {clockTime: hasPlaces},
	characters: {characters: isShorter, filledUp: isShorter},
	filledUp:   {filledUp: isShorter},
	dynamic: {
		integer:       func(given, _ class) bool { return given.signed || given.size <= digitsOfDouble },
		decimalNumber: func(given, _ class) bool { return given.size <= digitsOfDouble },
		floating:      always, boolean: always, day: always, dayAndTime: always, clockTime: always,
	},
	dynamicReal: {
		integer:       func(given, _ class) bool { return given.size <= digitsOfDouble },
		decimalNumber: func(given, _ class) bool { return given.size <= digitsOfDouble },
		floating:      always, boolean: always, day: always, dayAndTime: always, clockTime: always,
	},
}

// Digits of a number that a floating-point number of 64 or 32 bits always prints again.
const digitsOfDouble, digitsOfSingle = 15, 6

func always(_, _ class) bool { return true }

func isShorter(given, wanted class) bool { return given.size <= wanted.size }

func hasPlaces(given, wanted class) bool { return given.places <= wanted.places }

func hasDigits(given, wanted class) bool {
	return given.size <= digitsOfSingle || given.size <= digitsOfDouble && wanted.size == 64
}

// ordinary are quick tests of the values of a type that need no other check. All values are ordinary if there is none.
var ordinary = map[source.Dialect]map[kindOfType]func(value []byte) bool{
	source.PostgreSQL: {
		decimalNumber: isFinite, floating: isFinite, day: isModern, dayAndTime: isModern, clockTime: isOfDay,
	},
	source.MySQL: {floating: isFinite, day: isComplete, dayAndTime: isComplete, clockTime: isOfDay},
}

func endsInDigit(value []byte) bool {
	last := len(value) - 1
	return last >= 0 && '0' <= value[last] && value[last] <= '9'
}

// isFinite excludes NaN and infinite numbers, and zero with a sign.
func isFinite(value []byte) bool {
	return endsInDigit(value) && (value[0] != '-' || len(value) > 1 && value[1] != '0')
}

const lengthOfDate = len("2026-01-31")

// isModern excludes infinity, and years before Christ and of more than four digits.
func isModern(value []byte) bool {
	return len(value) >= lengthOfDate && value[4] == '-' && endsInDigit(value)
}

// isComplete excludes dates without a month or a day, too.
func isComplete(value []byte) bool {
	return isModern(value) && (value[5] != '0' || value[6] != '0') && (value[8] != '0' || value[9] != '0')
}

// isOfDay excludes what is longer than a day, or negative.
func isOfDay(value []byte) bool {
	return len(value) >= len("10:00:00") && value[2] == ':' && endsInDigit(value) &&
		(value[0] < '2' || value[0] == '2' && value[1] < '4')
}

// classOf returns the class of a type. Without a family, nothing is known of it.
func classOf(d source.Dialect, name string) class {
	base, modifiers := typename.Cut(name)
	switch d.Family() {
	case source.PostgreSQL:
		return classOfPostgres(base, modifiers)
	case source.MySQL:
		return classOfMySQL(base, modifiers)
	case source.SQLite:
		return class{family: map[bool]kindOfType{true: dynamicReal, false: dynamic}[IsReal(name)]}
	}
	return class{}
}

func classOfPostgres(base string, modifiers []int) class {
	switch base {
	case "smallint":
		return class{family: integer, size: 5, signed: true}
	case "integer":
		return class{family: integer, size: 10, signed: true}
	case "bigint":
		return class{family: integer, size: 19, signed: true}
	case "numeric":
		if len(modifiers) == 0 {
			return class{family: decimalNumber, size: math.MaxInt, places: anyPlaces}
		}
		return class{family: decimalNumber, size: modifiers[0], places: scale(modifiers)}
	case "real":
		return class{family: floating, size: 32}
	case "double precision":
		return class{family: floating, size: 64}
	case "boolean":
		return class{family: boolean}
	case "date":
		return class{family: day}
	case "time without time zone":
		return class{family: clockTime, places: first(modifiers, placesOfTime)}
	case "timestamp without time zone", "timestamp with time zone": // which is printed in UTC
		return class{family: dayAndTime, places: first(modifiers, placesOfTime)}
	case "character varying":
		if len(modifiers) > 0 {
			return class{family: characters, size: modifiers[0]}
		}
	case "character":
		return class{family: filledUp, size: first(modifiers, 1)}
	case "uuid":
		return class{family: filledUp, size: 36}
	}
	return class{}
}

// sizes are the digits of the integers of MySQL.
var sizes = map[string]int{
	"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 19, "year": 4,
	"tinyint unsigned": 3, "smallint unsigned": 5, "mediumint unsigned": 8, "int unsigned": 10, "bigint unsigned": 20,
}

func classOfMySQL(base string, modifiers []int) class {
	base = strings.TrimSuffix(base, " zerofill") // zeros are read only of DECIMAL
	if size := sizes[base]; size > 0 {
		return class{family: integer, size: size, signed: base != "bigint unsigned"}
	}
	base = strings.TrimSuffix(base, " unsigned")
	switch {
	case base == "decimal" && len(modifiers) > 1:
		return class{family: decimalNumber, size: modifiers[0], places: modifiers[1]}
	case base == "float" && modifiers == nil:
		return class{family: floating, size: 32}
	case base == "double" && modifiers == nil:
		return class{family: floating, size: 64}
	case base == "date":
		return class{family: day}
	case base == "time":
		return class{family: clockTime, places: first(modifiers, 0)}
	case base == "datetime", base == "timestamp":
		return class{family: dayAndTime, places: first(modifiers, 0)}
	case base == "char":
		return class{family: filledUp, size: first(modifiers, 0)}
	case base == "varchar":
		return class{family: characters, size: first(modifiers, 0)}
	}
	return class{}
}

// IsReal reports whether a numeric column of SQLite stores whole numbers as REAL, too.
func IsReal(declared string) bool {
	declared = strings.ToUpper(declared)
	return !strings.Contains(declared, "INT") &&
		(strings.Contains(declared, "REAL") || strings.Contains(declared, "FLOA") || strings.Contains(declared, "DOUB"))
}
