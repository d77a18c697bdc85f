package sqldb

import (
	"database/sql"
	"math"
	"strings"

	"culvert/internal/sqlsource"
	"culvert/internal/typename"
	"culvert/source"
)

// logicals are the texts of logical types by the names of types. Names in upper case stand for any case; the others are
// of ClickHouse. A name that several databases have for different types stands for one that holds the values of all.
var logicals = map[string]string{
	"BOOL": "bool", "BOOLEAN": "bool",

	"TINYINT": "int16", "SMALLINT": "int16", "MEDIUMINT": "int32", "INT": "int64", "INTEGER": "int64",
	"BIGINT": "int64", "INT2": "int16", "INT4": "int32", "INT8": "int64", "YEAR": "int16", "OID": "int64",
	"UNSIGNED TINYINT": "int16", "UNSIGNED SMALLINT": "int32", "UNSIGNED MEDIUMINT": "int32",
	"UNSIGNED INT": "int64", "UNSIGNED BIGINT": "decimal(20,0)", "UTINYINT": "int16", "USMALLINT": "int32",
	"UINTEGER": "int64", "UBIGINT": "decimal(20,0)", "Int8": "int16", "Int16": "int16", "Int32": "int32",
	"Int64": "int64", "UInt8": "int16", "UInt16": "int32", "UInt32": "int64", "UInt64": "decimal(20,0)",

	"FLOAT4": "float32", "Float32": "float32", "REAL": "float64", "FLOAT": "float64", "FLOAT8": "float64",
	"Float64": "float64", "DOUBLE": "float64", "DOUBLE PRECISION": "float64", "IBFLOAT": "float32",
	"IBDOUBLE": "float64",

	"NUMERIC": "decimal", "DECIMAL": "decimal", "DEC": "decimal", "NUMBER": "decimal", "FIXED": "decimal",

	"CHAR": "char", "NCHAR": "char", "BPCHAR": "char", "CHARACTER": "char", "VARCHAR": "string",
	"NVARCHAR": "string", "VARCHAR2": "string", "NVARCHAR2": "string", "CHARACTER VARYING": "string",
	"TEXT": "string", "NTEXT": "string", "TINYTEXT": "string", "MEDIUMTEXT": "string", "LONGTEXT": "string",
	"CLOB": "string", "NCLOB": "string", "STRING": "string", "NAME": "string", "CITEXT": "string",
	"SET": "string", "ENUM": "enum",

	"BYTEA": "bytes", "BINARY": "bytes", "VARBINARY": "bytes", "TINYBLOB": "bytes", "BLOB": "bytes",
	"MEDIUMBLOB": "bytes", "LONGBLOB": "bytes", "RAW": "bytes", "IMAGE": "bytes",

	"INTERVAL": "interval", "UUID": "uuid", "UNIQUEIDENTIFIER": "uuid", "JSON": "json", "JSONB": "json",
	"VARIANT": "json", "OBJECT": "json",
}

// logicalOf returns the logical type of a column, as far as the driver tells it.
func logicalOf(column *sql.ColumnType) source.Type {
	t := logicalOfName(column.DatabaseTypeName())
	if t.List {
		return t
	}
	switch t.Class {
	case source.DecimalClass:
		precision, scale, ok := column.DecimalSize()
		if ok && t == (source.Type{Class: source.DecimalClass}) && isDecimalSize(precision, scale) {
			t.Precision, t.Scale = int(precision), int(scale)
		}
	case source.StringClass, source.CharClass:
		if length, ok := column.Length(); ok && t.Length == 0 && length > 0 && length < math.MaxInt32 {
			t.Length = int(length)
		}
	default: // the name tells all
	}
	return t
}

// isDecimalSize reports whether the size of a decimal number bounds it. For numbers without bounds, drivers return
// sizes that no column has.
func isDecimalSize(precision, scale int64) bool {
	return 0 < precision && precision <= maxScale && 0 <= scale && scale <= precision
}

// logicalOfName returns the logical type by the name of a type alone.
func logicalOfName(typeName string) source.Type {
	name := unwrapped(typeName)
	upper := strings.ToUpper(name)
	element, list := elementOf(name)
	if rest, is := strings.CutPrefix(name, "_"); is { // of PostgreSQL, such as _INT4
		element, list = rest, true
	}
	if list {
		t := logicalOfName(element)
		if t.List {
			t = source.Type{}
		}
		t.List = true
		return t
	}
	_, modifiers := typename.Cut(name)
	base, _, _ := strings.Cut(name, "(")
	base = strings.TrimSpace(base)
	text, known := logicals[base]
	if !known {
		text = logicals[strings.ToUpper(base)]
	}
	if text == "" {
		text = clockLogicals[clockOf(upper)]
	}
	return sqlsource.Sized(text, modifiers)
}

// clockLogicals are the logical types of times. There is none for times of day in a zone.
var clockLogicals = map[clock]string{date: "date", timeOfDay: "time", wallClock: "timestamp", instant: "instant"}
