package fill

import (
	"slices"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/copybinary"
	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// baseTypesSQL returns what the types with the names $1 are made of: of a domain its type, and of an enum the name that
// stands for them all. Types that do not exist are left out.
const baseTypesSQL = `
SELECT name, (
	WITH RECURSIVE base(type, modifier, depth) AS (
		SELECT pg_catalog.to_regtype(name)::oid, -1, 0
		UNION ALL SELECT t.typbasetype, t.typtypmod, depth + 1
		FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type WHERE t.typtype = 'd')
	SELECT CASE t.typtype WHEN 'e' THEN '` + copybinary.Enum + `'
		ELSE pg_catalog.format_type(base.type, base.modifier) END
	FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type ORDER BY depth DESC LIMIT 1) AS base
FROM unnest($1::text[]) AS wanted(name) WHERE pg_catalog.to_regtype(name) IS NOT NULL`

// plainName matches the names of types that the server is asked for.
var plainName = lazyregexp.New(`^(?:\w+|"[^"]+")(?:\.(?:\w+|"[^"]+"))?$`)

// setBinary finds the binary form of the rows. The types of the columns exist.
func (t *table) setBinary() error {
	types := typesOf(t.columns)
	if t.binary = copybinary.New(types); t.binary != nil {
		return nil
	}
	var unknown []string
	for _, name := range types {
		if copybinary.Knows(name) {
			continue
		}
		if !plainName.MatchString(name) {
			return nil // such as an array of a type of users
		}
		unknown = append(unknown, name)
	}
	rows, err := t.loaders[0].s.query(t.ctx, 2, baseTypesSQL, sqltext.Array(unknown))
	if err != nil {
		return t.loaders[0].s.failed(t.ctx, "looking for the types of table "+t.target.sql, err)
	}
	base := map[string]string{}
	for _, row := range rows {
		base[string(row[0])] = string(row[1])
	}
	for i, name := range types {
		if of := base[name]; of != "" {
			types[i] = of
		}
	}
	t.binary = copybinary.New(types)
	return nil
}

// typesOf returns the names of the types of columns.
func typesOf(columns []source.Column) []string {
	types := make([]string, len(columns))
	for i, c := range columns {
		types[i] = c.Type
	}
	return types
}

// AppendBinary appends rows in the binary form of COPY.
func (t *table) AppendBinary(dst []byte, b *source.Batch) ([]byte, bool) {
	if t.binary == nil {
		return dst, false
	}
	return t.binary.AppendRows(dst, b)
}

// AppendTextAsBinary appends the rows of a text of CSV in the binary form of COPY.
func (t *table) AppendTextAsBinary(dst, text []byte) ([]byte, bool) {
	if t.binary == nil {
		return dst, false
	}
	return t.binary.AppendText(dst, text)
}

// TakesBinary has the rows read back in the form in which they come.
func (t *table) TakesBinary(columns []source.Column) bool {
	same := func(a, b source.Column) bool { return a.Type == b.Type && copybinary.Keeps(a.Type) }
	if len(columns) == 0 || !slices.EqualFunc(columns, t.columns, same) || len(t.Logical) > 0 ||
		t.db.session.conn.ParameterStatus("server_encoding") == "SQL_ASCII" {
		return false
	}
	t.printed = binaryForm
	return true
}
