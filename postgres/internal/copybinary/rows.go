package copybinary

import (
	"bytes"
	"errors"
	"slices"

	"culvert/internal/typename"
	"culvert/source"
)

// kept are the types whose binary form is the same in all versions of the server, and means the same in each database.
// What one server sends of a value, another one with the same type receives as that value, and sends again byte for
// byte, since it stores nothing else. Others are not of that kind:
//
//   - of an array, the server says that it may have NULL, which is forgotten if it has none;
//   - an interval of all the greatest numbers is infinite since version 17;
//   - money has as many decimals as the locale of the database;
//   - domains, enumerations, composite types and ranges are what the user has made them;
//   - what names an object, such as regclass, sends its number.
var kept = []string{
	"smallint", "integer", "bigint", "oid", "real", "double precision", "numeric", "boolean",
	"date", "time without time zone", "time with time zone",
	"timestamp without time zone", "timestamp with time zone",
	"uuid", "bytea", "bit", "bit varying", "inet", "cidr", "macaddr", "macaddr8",
	"text", "character varying", "character", "name", "json", "jsonb",
}

// Keeps reports whether all servers have one binary form of the values of a type, as the catalog names it.
func Keeps(name string) bool {
	base, _ := typename.Cut(name)
	return slices.Contains(kept, base)
}

// KeepsAll is Keeps for the types of all columns.
func KeepsAll(columns []source.Column) bool {
	return !slices.ContainsFunc(columns, func(c source.Column) bool { return !Keeps(c.Type) })
}

// Rows takes the messages of a COPY TO in this format apart. The server sends each row in a message of its own, the
// first one with the header, and then the trailer. The zero value is ready.
type Rows struct{ begun, ended bool }

var errRows = errors.New("postgres: the server sent something other than rows in the binary format of COPY")

// Row returns the row in a message, or nil if it has none.
func (r *Rows) Row(message []byte) ([]byte, error) {
	if !r.begun {
		var is bool
		if message, is = bytes.CutPrefix(message, []byte(Header)); !is {
			return nil, errRows
		}
		r.begun = true
		if len(message) == 0 {
			return nil, nil
		}
	}
	switch {
	case r.ended || len(message) < len(Trailer):
		return nil, errRows
	case string(message) == Trailer:
		r.ended = true
		return nil, nil
	}
	return message, nil
}
