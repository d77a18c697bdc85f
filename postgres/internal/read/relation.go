package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// relation is a table, or a view or the like that is read like one.
type relation struct {
	oid, schema, name string
	file              string // its filenode; 0 if it has none, or one of the system's
	kind              string // of pg_class.relkind

	plain bool   // a table without children, or read without their rows: COPY reads all of it by itself
	own   bool   // a table that has children, and is read without their rows
	list  string // the selected columns, as SQL

	family *familySize // nil if it is not known
	source.Selection
}

func (r *relation) String() string { return "table " + strconv.Quote(r.schema+"."+r.name) }

// visible is true if the name of a relation c in a schema n, without a schema, means this relation on the user's search
// path, $2. The function pg_table_is_visible would use the search path of this package's statements.
const visible = `(pg_catalog.array_position($2::name[], n.nspname) IS NOT NULL AND NOT EXISTS (
	SELECT FROM pg_catalog.pg_class c2 JOIN pg_catalog.pg_namespace n2 ON n2.oid = c2.relnamespace
	WHERE c2.relname = c.relname AND pg_catalog.array_position($2::name[], n2.nspname)
		< pg_catalog.array_position($2::name[], n.nspname)))`

// relationSQL finds tables, partitioned tables, views, materialized views and foreign tables. Visible ones come first.
const relationSQL = `
SELECT c.oid, n.nspname, c.relname, c.relname = $1::text AND ` + visible + `,
	c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid), c.relfilenode,
	c.relkind
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND `

// The name is text, since PostgreSQL would cut a name, also in parse_ident, to 63 bytes. $3 has all that the table's
// name can be in it, for which there is an index.
const (
	exactlyNamed = `
	c.relname = ANY ($3::name[])
	AND (c.relname = $1::text AND ` + visible + ` OR n.nspname || '.' || c.relname = $1::text)
ORDER BY 4 DESC`
	namedAsSQL = `
	(ARRAY[c.relname::text] = pg_catalog.parse_ident($1::text) AND ` + visible + `
	OR ARRAY[n.nspname::text, c.relname::text] = pg_catalog.parse_ident($1::text)
	OR ARRAY[pg_catalog.current_database()::text, n.nspname::text, c.relname::text] = pg_catalog.parse_ident($1::text))`
)

// findRelation finds the relation that a name stands for.
func (s *session) findRelation(ctx context.Context, name string) (*relation, error) {
	table := "table " + strconv.Quote(name)
	found, err := s.query(ctx, 7, relationSQL+exactlyNamed, name, s.schemas, sqltext.Array(endsOfName(name)))
	if err != nil {
		return nil, s.failed(ctx, table, err)
	}
	if len(found) == 0 {
		found, err = s.query(ctx, 7, relationSQL+namedAsSQL, name, s.schemas)
		if err != nil && !isNoName(err) {
			return nil, s.failed(ctx, table, err)
		}
	}
	if len(found) == 0 {
		known, err := s.knownRelations(ctx, name)
		if err != nil {
			return nil, err
		}
		return nil, &source.UnknownError{What: "table", Name: name, Known: known}
	}
	first := found[0]
	r := newRelation(first)
	if visible := string(first[3]) == "t"; len(found) > 1 && !visible {
		other := found[1]
		return nil, fmt.Errorf("postgres: %s may mean %s or %s", table,
			r.sqlName(), newRelation(other).sqlName())
	}
	if s.own {
		r.separate()
	}
	return r, nil
}

// newRelation returns the relation of a row of relationSQL.
func newRelation(row [][]byte) *relation {
	return &relation{
		oid: string(row[0]), schema: string(row[1]), name: string(row[2]), file: string(row[5]),
		kind: string(row[6]), plain: string(row[4]) == "t",
	}
}

// separate has a table that is not partitioned read without the rows of its children.
func (r *relation) separate() {
	if r.kind == "r" && !r.plain {
		r.plain, r.own = true, true
	}
}

// relationOf returns the relation with an object identifier, or nil if there is none.
func (s *session) relationOf(ctx context.Context, oid string) (*relation, error) {
	found, err := s.query(ctx, 7, relationSQL+"c.oid = $1::text::oid", oid, s.schemas)
	if err != nil || len(found) == 0 {
		return nil, s.failed(ctx, "looking for the table of a part", err)
	}
	return newRelation(found[0]), nil
}

// endsOfName returns a name and all its parts that follow a period.
func endsOfName(name string) []string {
	const longest = 255 // bytes; no server is built for longer names
	var ends []string
	for i := max(0, len(name)-longest); i < len(name); i++ {
		if i == 0 || name[i-1] == '.' {
			ends = append(ends, name[i:])
		}
	}
	return ends
}

// isNoName reports whether parse_ident has refused a text because it is not a valid name.
func isNoName(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == codeInvalidParameterValue
}

// knownSQL lists the names of relations for findRelation. If there are too many, it keeps names of a similar length as
// $1, since a mistyped name is about as long as the right one.
const knownSQL = `
SELECT CASE WHEN ` + visible + ` THEN '' ELSE n.nspname || '.' END || c.relname AS known
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
	AND ` + ofUsers + `
ORDER BY pg_catalog.abs(pg_catalog.length(c.relname::text) - pg_catalog.length($1::text)), known LIMIT 1000`

func (s *session) knownRelations(ctx context.Context, name string) ([]string, error) {
	if err := s.recover(ctx); err != nil {
		return nil, err
	}
	known, err := s.list(ctx, knownSQL, name, s.schemas)
	if err != nil {
		return nil, s.failed(ctx, listing, err)
	}
	slices.Sort(known)
	return known, nil
}

// columns returns the columns of a relation.
func (s *session) columns(ctx context.Context, r *relation) ([]sqlsource.Column, error) {
	with, notNull := r.notNull()
	found, err := s.query(ctx, 5, with+`
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), `+madeOf("a.atttypid", "a.atttypmod")+`,
	a.attgenerated <> '', `+notNull+`
FROM pg_catalog.pg_attribute a, LATERAL (SELECT a.attname) AS parent
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, r.oid)
	if err != nil {
		return nil, s.failed(ctx, r.String(), err)
	}
	columns := make([]sqlsource.Column, len(found))
	for i, row := range found {
		columns[i].Column = typed(string(row[0]), row[1], row[2])
		columns[i].Generated = string(row[3]) == "t"
		columns[i].NotNull = string(row[4]) == "t"
	}
	return columns, nil
}

// refusesNull is SQL that is true if the constraint of the column a of a table keeps NULL out of all its rows. A
// constraint that is NOT VALID does not. Nor does a domain that is NOT NULL: a subquery without rows puts NULL into it.
const refusesNull = `(a.attnotnull AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint n
	WHERE n.conrelid = a.attrelid AND n.contype = 'n' AND NOT n.convalidated AND a.attnum = ANY (n.conkey)))`

// notNull returns SQL that is true if the column a of the relation has no NULL, and the WITH that it needs. Tables that
// inherit may lack the constraint. Tables on other servers are not trusted to keep it.
func (r *relation) notNull() (with, sql string) {
	const others = " AND NOT EXISTS (SELECT FROM family f JOIN pg_catalog.pg_class k ON k.oid = f.oid"
	switch {
	case r.kind == "r" && r.plain:
		return "", refusesNull
	case r.kind == "p":
		return withFamily, refusesNull + others + " WHERE k.relkind = 'f')"
	case r.kind == "r":
		return withFamily, "a.attnotnull" + others + ` JOIN LATERAL (
			SELECT a.attrelid, a.attnum, a.attnotnull FROM pg_catalog.pg_attribute a WHERE a.attrelid = f.oid
				AND a.attname = parent.attname) AS a ON true WHERE k.relkind = 'f' OR NOT ` + refusesNull + ")"
	}
	return "", "false"
}

// detaching is true if pg_inherits i is of a partition whose rows no longer come with its parent, such as after an
// interrupted ALTER TABLE DETACH PARTITION CONCURRENTLY. The column is new in PostgreSQL 14.
const detaching = `coalesce((pg_catalog.to_jsonb(i) ->> 'inhdetachpending')::bool, false)`

// with begins a statement on the family of the relation $1: what is read with it.
func (r *relation) with() string {
	if r.own {
		return "WITH RECURSIVE family(oid) AS (SELECT $1::oid)"
	}
	return withFamily
}

// withFamily begins a statement on the relation $1 and its children. The planner expects ten thousand rows of it, and
// would read whole catalogs to join them. LATERAL and OFFSET 0 make it look up single rows.
const withFamily = `
WITH RECURSIVE family(oid) AS (
	SELECT $1::oid
	UNION SELECT child.oid FROM family f, LATERAL (
		SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = f.oid
			AND NOT ` + detaching + ` OFFSET 0) AS child(oid))`

// from returns what statements read. A table without children may have got one, with older rows.
func (r *relation) from() string {
	if r.plain {
		return "ONLY " + r.sqlName()
	}
	return r.sqlName()
}

// sqlName returns the name for statements.
func (r *relation) sqlName() string { return sqltext.Quote(r.schema) + "." + sqltext.Quote(r.name) }
