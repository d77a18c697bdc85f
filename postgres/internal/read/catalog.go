package read

import (
	"context"
	"strconv"

	"culvert/postgres/internal/pgdump"
	"culvert/source"
)

// Tables returns the names of the tables of a schema, or of all schemas for "", each as schema.table, with quotes if
// Table would otherwise find another table. They are sorted by schema and name, byte by byte.
//
// Together they have every value that pg_dump would dump. They are ordinary and partitioned tables, including unlogged
// ones, but not views, foreign tables, temporary tables, tables of the system or tables of extensions. Tables whose
// rows and columns all come with a parent in the list are left out: partitions, unless one is being detached, and
// children without columns of their own. The rows of other children are read twice: with the parent's columns, and in
// full. After Separate, all children that are no partitions are in the list.
//
// Tables that the user may not read are included. The name of a schema is taken as it is.
func (db *DB) Tables(ctx context.Context, schema string) ([]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if err := db.checkSchema(ctx, schema); err != nil {
		return nil, err
	}
	tables, err := db.list(ctx, schema, db.session.own)
	return tables, db.session.failed(ctx, listing, err)
}

// list returns the tables of a schema, as tablesSQL lists them. They are asked for once, since the snapshot stays.
func (db *DB) list(ctx context.Context, schema string, own bool) ([]string, error) {
	key := strconv.FormatBool(own) + " " + schema
	if tables, known := db.known.listed(key); known {
		return tables, context.Cause(ctx)
	}
	tables, err := db.session.list(ctx, tablesSQL, schema, db.session.schemas, strconv.FormatBool(own))
	if err == nil {
		db.known.keepList(key, tables)
	}
	return tables, err
}

// listing is what fails.
const listing = "listing the tables"

// checkSchema returns an error if there is no such schema.
func (db *DB) checkSchema(ctx context.Context, schema string) error {
	if schema == "" {
		return nil
	}
	schemas, err := db.session.list(ctx, schemasSQL, schema)
	if err != nil {
		return db.session.failed(ctx, listing, err)
	}
	if len(schemas) == 0 || schemas[0] != schema {
		return &source.UnknownError{What: "schema", Name: schema, Known: schemas}
	}
	return nil
}

// Separate has this DB, and those that it opens by Join, read ordinary tables without the rows of the tables that
// inherit from them, and list the latter. Parts that were cut before keep the rows that they have. Rows that are open
// are not affected.
func (db *DB) Separate() {
	if !db.session.own {
		db.session.own, db.known = true, newPrepared()
	}
}

// Omitted names the views, materialized views and foreign tables, and the sequences that belong to no column, except
// those of extensions. So are tables without columns of their own whose rows come with those of a table from which they
// inherit: these are not lost, but the tables are not made again. Partitions are not named.
func (db *DB) Omitted(ctx context.Context, schema string) ([]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if err := db.checkSchema(ctx, schema); err != nil {
		return nil, err
	}
	omitted, err := db.session.list(ctx, omittedSQL, schema, strconv.FormatBool(db.session.own))
	return omitted, db.session.failed(ctx, listing, err)
}

// omittedSQL lists what the tables of the schema $1 leave out.
const omittedSQL = `
SELECT 'the ' || CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table'
	WHEN 'S' THEN 'sequence' ELSE 'table' END || ' "' || n.nspname || '.' || c.relname || '"'
	|| CASE c.relkind WHEN 'r' THEN ', whose rows come with those of a table from which it inherits' ELSE '' END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm', 'f', 'S', 'r') AND c.relpersistence <> 't' AND $1::text IN ('', n.nspname)
	AND ` + ofUsers + `
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.objid = c.oid AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND (d.deptype = 'e'
			OR c.relkind = 'S' AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0))
	AND CASE c.relkind WHEN 'r' THEN NOT c.relispartition AND NOT $2::bool AND EXISTS (
			SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
				JOIN pg_catalog.pg_namespace m ON m.oid = p.relnamespace
			WHERE i.inhrelid = c.oid AND $1::text IN ('', m.nspname) AND ` + isComplete + `)
		ELSE NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid) END
ORDER BY n.nspname, c.relname`

// Describe returns the state that the transaction shows, which is known since the transaction began.
//
// The snapshot is the result of txid_current_snapshot: transactions before the first number are visible, and those
// before the second too, except the listed ones, which were in progress. The position is the place in the write-ahead
// log just before; on a standby, the place up to which it was replayed. A transaction that was about to end may be in
// the log before that position and yet be invisible. Without the right to read it, the position is "".
func (db *DB) Describe(context.Context) (source.Description, error) {
	return db.session.description, nil
}

// list returns the rows of a statement of this package that has one column.
func (s *session) list(ctx context.Context, sql string, parameters ...string) ([]string, error) {
	found, err := s.query(ctx, 1, sql, parameters...)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(found))
	for i, row := range found {
		list[i] = string(row[0])
	}
	return list, nil
}

// ofUsers is true for schemas n that are not the system's, and not that of a load that has not ended. It has no
// backslash, whose meaning is a setting of the user.
const ofUsers = `n.nspname <> 'information_schema' AND n.nspname <> '` + pgdump.Restoring + `'
	AND NOT pg_catalog.starts_with(n.nspname::text, 'pg_')`

// schemasSQL lists the named schema first, and then the others.
const schemasSQL = `
SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text OR ` + ofUsers + `
ORDER BY n.nspname = $1::text DESC, n.nspname LIMIT 1000`

// isComplete is true if the rows and columns of the child of pg_inherits i come with those of its parent.
const isComplete = `NOT ` + detaching + ` AND NOT EXISTS (
		SELECT FROM pg_catalog.pg_attribute a
		WHERE a.attrelid = i.inhrelid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_attribute b WHERE b.attrelid = i.inhparent AND b.attname = a.attname
				AND b.attnum > 0 AND NOT b.attisdropped AND b.attgenerated = ''))`

// tablesSQL lists the tables of the schema $1. The search path of the user is $2. If $3 is true, only those of
// partitioned tables are covered.
//
// Covered are the tables whose rows and columns come with those of a candidate. A name is right if findRelation finds
// no other relation by it. Such a relation would have exactly that name, with or without its schema, and so contain a
// period or a quote. A text of 128 bytes is longer than any name with its schema.
const tablesSQL = `
WITH RECURSIVE candidates AS MATERIALIZED (
	SELECT c.oid, n.nspname, c.relname, n.nspname || '.' || c.relname AS plain,
		'"' || pg_catalog.replace(n.nspname, '"', '""') || '"."'
			|| pg_catalog.replace(c.relname, '"', '""') || '"' AS quoted
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND $1::text IN ('', n.nspname) AND ` + ofUsers + `
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.deptype = 'e' AND d.objid = c.oid
			AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass)),
complete(parent, child) AS (
	SELECT i.inhparent, i.inhrelid FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
	WHERE ` + isComplete + ` AND (p.relkind = 'p' OR NOT $3::bool)),
covered(oid) AS (
	SELECT i.child FROM candidates c JOIN complete i ON i.parent = c.oid
	UNION SELECT i.child FROM covered c JOIN complete i ON i.parent = c.oid),
odd(oid, alone, plain) AS MATERIALIZED (
	SELECT c.oid, CASE WHEN ` + visible + ` THEN c.relname::text END, n.nspname || '.' || c.relname
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname || '.' || c.relname ~ '[."].*[."]')
SELECT CASE
	WHEN NOT EXISTS (SELECT FROM odd o WHERE o.alone = c.plain OR o.plain = c.plain AND o.oid <> c.oid) THEN c.plain
	WHEN NOT EXISTS (SELECT FROM odd o WHERE o.alone = c.quoted OR o.plain = c.quoted) THEN c.quoted
	ELSE pg_catalog.lpad(c.quoted, 128) END
FROM candidates c WHERE NOT EXISTS (SELECT FROM covered v WHERE v.oid = c.oid) ORDER BY c.nspname, c.relname`
