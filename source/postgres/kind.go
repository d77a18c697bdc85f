package postgres

import "culvert/source"

// Object identifiers of built-in types, which never change (pg_type.dat in the sources of PostgreSQL).
const (
	oidBool    = 16
	oidBytea   = 17
	oidInt8    = 20
	oidInt2    = 21
	oidInt4    = 23
	oidOID     = 26
	oidJSON    = 114
	oidFloat4  = 700
	oidFloat8  = 701
	oidNumeric = 1700
	oidJSONB   = 3802
)

// Formats of values in the protocol.
const (
	formatText   = 0
	formatBinary = 1
)

// kindOf gives the kind of the values of a type, and the format to ask the server for. The binary format of bytea is
// its bytes; all else is text. The server describes a domain by the type below it.
func kindOf(oid uint32) (kind source.Kind, format int16) {
	switch oid {
	case oidBool:
		return source.Bool, formatText
	case oidInt2, oidInt4, oidInt8, oidOID, oidFloat4, oidFloat8, oidNumeric:
		return source.Number, formatText
	case oidBytea:
		return source.Bytes, formatBinary
	case oidJSON, oidJSONB:
		return source.JSON, formatText
	}
	return source.Text, formatText
}
