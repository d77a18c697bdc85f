package postgres

import "culvert/source"

// Object identifiers of built-in types, which never change (pg_type.dat in the sources of PostgreSQL).
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

// encoding is how the values of a type are asked for, and what becomes of them.
type encoding struct {
	kind   source.Kind
	format int16
	print  printer // nil if the bytes are taken as they come
}

// encodingOf gives the encoding of a type. The server describes a domain by the type below it.
//
// The binary format of bytea is its bytes. Times and UUIDs cost the server more to print than anything else of their
// size, and are printed here: a table with one time in eight columns takes it an eighth less time. For numbers,
// booleans and text the binary format saves it nothing.
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
