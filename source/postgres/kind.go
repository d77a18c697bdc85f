package postgres

import "culvert/source"

// Object identifiers of built-in types, which never change (pg_type.dat in the PostgreSQL sources).
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidOID         = 26
	oidJSON        = 114
	oidFloat4      = 700
	oidFloat8      = 701
	oidDate        = 1082
	oidTimestamp   = 1114
	oidTimestampTZ = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
	oidJSONB       = 3802
)

// Formats of values in the protocol.
const (
	formatText   = 0
	formatBinary = 1
)

// encoding is how the values of a type are requested and printed.
type encoding struct {
	kind   source.Kind
	format int16
	print  printer // nil if the bytes are copied
}

// encodingOf returns the encoding of a type. The server describes a domain by its base type.
//
// The binary format of bytea is its bytes. Times and UUIDs are the most expensive values of their size for the server
// to print, so they are printed here: a table with one time in eight columns takes the server an eighth less time. For
// numbers, booleans and text the binary format saves nothing.
func encodingOf(oid uint32) encoding {
	switch oid {
	case oidBool:
		return encoding{kind: source.Bool}
	case oidInt2, oidInt4, oidInt8, oidOID, oidFloat4, oidFloat8, oidNumeric:
		return encoding{kind: source.Number}
	case oidBytea:
		return encoding{kind: source.Bytes, format: formatBinary}
	case oidJSON, oidJSONB:
		return encoding{kind: source.JSON}
	case oidDate:
		return encoding{source.Text, formatBinary, appendDate}
	case oidTimestamp:
		return encoding{source.Text, formatBinary, appendTimestamp}
	case oidTimestampTZ:
		return encoding{source.Text, formatBinary, appendTimestampTZ}
	case oidUUID:
		return encoding{source.Text, formatBinary, appendUUID}
	}
	return encoding{kind: source.Text}
}
