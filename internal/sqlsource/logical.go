package sqlsource

import (
	"strings"

	"culvert/internal/typename"
	"culvert/source"
)

// logicals are the texts of the logical types of the types of each system, by their names in lower case. What stands in
// parentheses in a name makes decimal numbers, texts and times of a size.
var logicals = map[source.Dialect]map[string]string{
	source.PostgreSQL: {
		"boolean": "bool", "smallint": "int16", "integer": "int32", "bigint": "int64", "oid": "int64",
		"real": "float32", "double precision": "float64", "numeric": "decimal",
		"character varying": "string", "text": "string", "name": "string", `"char"`: "string",
		"character": "char", "bpchar": "char", "bytea": "bytes", "date": "date",
		"time without time zone": "time", "timestamp without time zone": "timestamp",
		"timestamp with time zone": "instant", "interval": "interval", "uuid": "uuid", "json": "json", "jsonb": "json",
		"enum": "enum",
	},
	source.MySQL: {
		"tinyint": "int16", "tinyint unsigned": "int16", "smallint": "int16", "smallint unsigned": "int32",
		"mediumint": "int32", "mediumint unsigned": "int32", "int": "int32", "int unsigned": "int64",
		"bigint": "int64", "bigint unsigned": "decimal(20,0)", "year": "int16", "bit": "decimal(20,0)",
		"float": "float32", "double": "float64", "decimal": "decimal", "char": "char", "varchar": "string",
		"tinytext": "string", "text": "string", "mediumtext": "string", "longtext": "string", "set": "string",
		"enum": "enum", "binary": "bytes", "varbinary": "bytes", "tinyblob": "bytes", "blob": "bytes",
		"mediumblob": "bytes", "longblob": "bytes", "date": "date", "time": "time(0)", "datetime": "timestamp(0)",
		"timestamp": "instant(0)", "uuid": "uuid", "json": "json",
		"geometry": "bytes", "point": "bytes", "linestring": "bytes", "polygon": "bytes", "multipoint": "bytes",
		"multilinestring": "bytes", "multipolygon": "bytes", "geometrycollection": "bytes",
	},
	source.SQLite: {
		"boolean": "bool", "bool": "bool", "numeric": "decimal", "decimal": "decimal", "date": "date", "time": "time",
		"datetime": "timestamp", "timestamp": "timestamp", "timestamptz": "instant", "uuid": "uuid", "json": "json",
	},
}

// Logical returns the logical type of a type, as a system names it for a column, except that "enum" in PostgreSQL is
// any type of that kind. It is the zero value if nothing is known of the values.
func Logical(of source.Dialect, name string) source.Type {
	base, modifiers := typename.Cut(name)
	list := false
	switch of.Family() {
	case source.PostgreSQL:
		base, list = strings.CutSuffix(base, "[]")
		if strings.HasPrefix(base, "interval ") { // its fields follow
			base = "interval"
		}
	case source.MySQL:
		switch base = withoutWidth(base); {
		case base == "bit" && len(modifiers) == 1:
			return ofBits(modifiers[0])
		case base == "geomcollection" || base == "vector": // which not all servers have
			base = "blob"
		}
	}
	text, known := logicals[of.Family()][base]
	if !known && of == source.SQLite {
		return byAffinity(base, modifiers)
	}
	t := Sized(text, modifiers)
	t.List = list
	return t
}

// Sized returns the logical type with a text, of the size that the modifiers of a type give it: digits of a decimal
// number, unless the text has them, characters of a text, digits of a second. It is the zero value if there is no such
// text.
func Sized(text string, modifiers []int) source.Type {
	t, err := source.ParseType(text)
	if err != nil || len(modifiers) == 0 || modifiers[0] < 0 {
		return t
	}
	const secondDigits = 9
	switch t.Class {
	case source.DecimalClass:
		if t.Precision > 0 || modifiers[0] == 0 {
			return t
		}
		if t.Precision = modifiers[0]; len(modifiers) > 1 {
			t.Scale = modifiers[1]
		}
	case source.StringClass, source.CharClass:
		t.Length = modifiers[0]
	case source.TimeClass, source.TimestampClass, source.InstantClass:
		t.Precision = min(modifiers[0], secondDigits)
	default: // the others have no size, or always the same
	}
	return t
}

// withoutWidth returns the name of a type of MySQL without what says nothing of its values: the names of an ENUM or
// SET, ZEROFILL, and UNSIGNED except of integers. Both COLUMN_TYPE and the name of the driver, which begins with
// UNSIGNED, are read.
func withoutWidth(base string) string {
	if rest, is := strings.CutPrefix(base, "unsigned "); is {
		base = rest + " unsigned"
	}
	base = strings.TrimSuffix(base, " zerofill")
	base, _, _ = strings.Cut(base, "(")
	if unsized := strings.TrimSuffix(base, " unsigned"); !strings.HasSuffix(unsized, "int") {
		return unsized
	}
	return base
}

// ofBits returns the smallest type for the numbers in a BIT of n bits, which have no sign.
func ofBits(n int) source.Type {
	t := source.Type{Class: source.IntClass, Bits: 16}
	for t.Bits <= n {
		t.Bits *= 2
	}
	const most = 64
	if t.Bits > most {
		return source.Type{Class: source.DecimalClass, Precision: 20}
	}
	return t
}

// byAffinity returns the type of a column of SQLite whose type is not listed. Any that is numeric since no word says
// otherwise holds texts in practice, so nothing is known of it.
func byAffinity(base string, modifiers []int) source.Type {
	switch typename.AffinityOf(base) {
	case typename.Integer:
		return source.Type{Class: source.IntClass, Bits: 64}
	case typename.Real:
		return source.Type{Class: source.FloatClass, Bits: 64}
	case typename.Textual:
		if !strings.Contains(base, "char") {
			modifiers = nil
		}
		return Sized("string", modifiers)
	case typename.Blob:
		if base != "" {
			return source.Type{Class: source.BytesClass}
		}
	}
	return source.Type{}
}
