package fill

import "culvert/sink/grammar"

// firstOfInstallation is FirstGenbkiObjectId. Types from this number on were made at the server's setup, or by users.
const firstOfInstallation = "10000"

// partsSQL are the parts of the type u.type, with its kind: d for a domain, c for a composite type, a for an array, and
// r for a range or a list of ranges.
const partsSQL = `(
	SELECT t.typtype::text AS kind, t.typbasetype AS part, t.typtypmod AS modifier, 0 AS place
	FROM pg_catalog.pg_type t WHERE t.oid = u.type AND t.typtype = 'd'
	UNION ALL SELECT 'a', t.typelem, -1, 0
	FROM pg_catalog.pg_type t WHERE t.oid = u.type AND t.typtype = 'b' AND t.typcategory = 'A'
	UNION ALL SELECT 'c', f.atttypid, f.atttypmod, f.attnum
	FROM pg_catalog.pg_type t JOIN pg_catalog.pg_attribute f ON f.attrelid = t.typrelid
	WHERE t.oid = u.type AND t.typtype = 'c' AND f.attnum > 0 AND NOT f.attisdropped
	UNION ALL SELECT 'r', r.rngsubtype, -1, 0 FROM pg_catalog.pg_range r
	WHERE u.type IN (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)) AS p` // which PostgreSQL 13 does not have

// typesSQL looks up the types of users in the columns of the tables with the numbers $1, and the types of their parts
// in turn. It returns a row for each part of a type, in order.
const typesSQL = `
WITH RECURSIVE u(type) AS (
	SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY ($1::oid[])
		AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= ` + firstOfInstallation + `
	UNION SELECT p.part FROM u CROSS JOIN LATERAL ` + partsSQL + ` WHERE p.part >= ` + firstOfInstallation + `)
SELECT u.type, p.kind, p.part, pg_catalog.format_type(p.part, p.modifier)
FROM u CROSS JOIN LATERAL ` + partsSQL + ` ORDER BY u.type, p.place`

// madeOf are types of users by their numbers.
type madeOf map[string]*composed

// composed is a type that is made of others.
type composed struct {
	kind  string // as in partsSQL
	parts []part

	known   bool // the grammar is
	grammar grammar.Grammar
}

// part is a type by its number, and its name with modifiers.
type part struct{ oid, name string }

// madeOfIn returns the types of rows of typesSQL.
func madeOfIn(rows [][][]byte) madeOf {
	types := madeOf{}
	for _, row := range rows {
		one := types[string(row[0])]
		if one == nil {
			one = &composed{kind: string(row[1])}
			types[string(row[0])] = one
		}
		one.parts = append(one.parts, part{string(row[2]), string(row[3])})
	}
	return types
}

// grammar returns the grammar of a type, which may be a part of another one. A type may be a part of many.
func (types madeOf) grammar(p part) grammar.Grammar {
	of := types[p.oid]
	if of == nil {
		return grammar.Part(p.name)
	}
	if !of.known {
		of.known, of.grammar = true, types.compose(of)
	}
	return of.grammar
}

func (types madeOf) compose(of *composed) grammar.Grammar {
	parts := make([]grammar.Grammar, len(of.parts))
	for i, one := range of.parts {
		parts[i] = types.grammar(one)
	}
	switch of.kind {
	case "a":
		return grammar.Array(parts[0])
	case "r":
		return grammar.Range(parts[0])
	case "c":
		return grammar.Composite(parts)
	}
	return parts[0]
}

// ofColumn returns the grammar of a column whose type is made of others. It is nil for a domain of a plain type.
// Another database may have other types of the same names, so the grammar does not depend on the type in the source.
func (types madeOf) ofColumn(oid string) grammar.Grammar {
	of := types[oid]
	for of != nil && of.kind == "d" {
		oid = of.parts[0].oid
		of = types[oid]
	}
	if of == nil {
		return nil
	}
	return types.grammar(part{oid: oid})
}
