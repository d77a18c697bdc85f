package sqldb

import (
	"slices"
	"strings"

	"culvert/source"
)

// columnType is how the values of a column are read, by the name of its type.
type columnType struct {
	text, bytes source.Kind // of a string, and of a []byte
	single      bool        // a float64 has the digits of a float32
	clock       clock       // how a time is written
	uuid        uuidOrder   // of 16 bytes
	scale       int         // the number of decimal places; 0 if not known
	element     string      // for a list, the type of its elements
	list        bool
}

// maxScale is larger than any scale of a database, and smaller than what drivers report for "unlimited".
const maxScale = 1000

// uuidOrder is the order in which a driver returns the bytes of a UUID.
type uuidOrder uint8

const (
	noUUID uuidOrder = iota
	inOrder
	mixedOrder // the first three groups are little-endian, as in Windows
)

// typeOf reads the name of a type. Databases have different names for the same type.
func typeOf(typeName string) columnType {
	name := strings.ToUpper(unwrapped(typeName))
	t := columnType{clock: clockOf(name), single: name == "FLOAT4"}
	t.text, t.bytes = source.Text, source.Bytes
	if t.element, t.list = elementOf(name); !t.list {
		t.text, t.bytes = kinds(name)
	}
	switch name {
	case "UUID":
		t.uuid = inOrder
	case "UNIQUEIDENTIFIER":
		t.uuid = mixedOrder
	}
	return t
}

// unwrapped returns the name of a type without what ClickHouse wraps around it.
func unwrapped(typeName string) string {
	name := strings.TrimSpace(typeName)
	for _, wrapper := range []string{"LowCardinality(", "Nullable("} {
		for inner, ok := cutWrapper(name, wrapper); ok; inner, ok = cutWrapper(name, wrapper) {
			name = inner
		}
	}
	return name
}

// cutWrapper returns the type in the parentheses of a type such as Nullable(Int32).
func cutWrapper(name, wrapper string) (inner string, ok bool) {
	if len(name) <= len(wrapper) || !strings.EqualFold(name[:len(wrapper)], wrapper) {
		return name, false
	}
	return strings.CutSuffix(name[len(wrapper):], ")")
}

// elementOf returns the element type of a list type: INTEGER[], INTEGER[3] or Array(Int32).
func elementOf(name string) (element string, ok bool) {
	if inner, ok := cutWrapper(name, "ARRAY("); ok {
		return inner, true
	}
	if at := strings.LastIndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		return name[:at], true
	}
	return "", false
}

var numberTypes = strings.Fields(`BDOUBLE BFLOAT BIGINT BIGNUM BIGNUMERIC DEC DECFLOAT DECIMAL DOUBLE FIXED FLOAT
	HUGEINT IBDOUBLE IBFLOAT INT INTEGER MEDIUMINT MONEY NUMBER NUMERIC OID REAL SMALLINT SMALLMONEY TINYINT UBIGINT
	UHUGEINT UINT UINTEGER USMALLINT UTINYINT`)

// textTypes are types whose values some drivers return as []byte, as the server prints them.
var textTypes = strings.Fields(`BOX CID CIDR CIRCLE DATE DATETIME ENUM INET INTERVAL JSONPATH LINE LSEG MACADDR NAME
	OIDVECTOR PATH PG_LSN POINT POLYGON REFCURSOR SET TID TIME TIMESTAMP TIMESTAMPTZ TIMETZ TSQUERY TSVECTOR
	TXID_SNAPSHOT UNIQUEIDENTIFIER UUID VARBIT XID XML YEAR`)

// kinds returns the kinds of a string and of a []byte in a column of a type.
func kinds(name string) (text, bytes source.Kind) {
	array := strings.HasPrefix(name, "_") // of PostgreSQL, such as _INT4
	name, _, _ = strings.Cut(name, "(")
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(name, " UNSIGNED"), "UNSIGNED "))
	sizeless := strings.TrimRight(name, "0123456789") // INT8, FLOAT64, MACADDR8
	if slices.Contains(numberTypes, sizeless) || name == "DOUBLE PRECISION" {
		return source.Number, source.Number
	}
	switch name {
	case "JSON", "JSONB", "VARIANT", "OBJECT", "ARRAY", "MAP", "STRUCT":
		return source.JSON, source.JSON
	}
	if array || slices.Contains(textTypes, sizeless) {
		return source.Text, source.Text
	}
	for _, part := range []string{"CHAR", "TEXT", "CLOB", "RANGE"} {
		if strings.Contains(name, part) {
			return source.Text, source.Text
		}
	}
	if strings.HasPrefix(name, "REG") { // of PostgreSQL, such as REGCLASS
		return source.Text, source.Text
	}
	return source.Text, source.Bytes
}
