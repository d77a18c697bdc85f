package sqlsource

import (
	"strings"

	"culvert/source"
)

// kinds are the kinds of values by the first word of the type of their column, in lower case.
var kinds = map[string]source.Kind{
	"bool": source.Bool, "boolean": source.Bool,

	"smallint": source.Number, "integer": source.Number, "bigint": source.Number, "int": source.Number,
	"int2": source.Number, "int4": source.Number, "int8": source.Number, "tinyint": source.Number,
	"mediumint": source.Number, "numeric": source.Number, "decimal": source.Number, "real": source.Number,
	"double": source.Number, "float": source.Number, "float4": source.Number, "float8": source.Number,
	"oid": source.Number, "year": source.Number,

	"bytea": source.Bytes, "blob": source.Bytes, "tinyblob": source.Bytes, "mediumblob": source.Bytes,
	"longblob": source.Bytes, "binary": source.Bytes, "varbinary": source.Bytes,

	"geometry": source.Bytes, "point": source.Bytes, "linestring": source.Bytes, "polygon": source.Bytes,
	"multipoint": source.Bytes, "multilinestring": source.Bytes, "multipolygon": source.Bytes,
	"geometrycollection": source.Bytes, "geomcollection": source.Bytes, "vector": source.Bytes,

	"json": source.JSON, "jsonb": source.JSON,

	"any": source.Null, // in SQLite, a column of any values
}

// KindOf returns the kind of the values of a type, as a database names it: Null if the name is "" or says nothing.
func KindOf(name string) source.Kind {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return source.Null
	}
	word := name
	if end := strings.IndexAny(name, " ("); end >= 0 {
		word = name[:end]
	}
	if strings.HasSuffix(name, "[]") {
		return source.Text
	}
	if kind, found := kinds[word]; found {
		return kind
	}
	return source.Text
}
