package postgres

import (
	"context"

	"culvert/source"
)

// Tables gives the names of the tables of a schema, or of all schemas if it is "", each as schema.table, with quotes
// where without them Table would take it for another. They are in the order of schemas and names, byte by byte.
//
// Together they have every value that can be loaded back, as pg_dump would have it: ordinary and partitioned tables,
// also unlogged ones, but no views, foreign tables, temporary tables, tables of the system, or tables that belong to an
// extension. A table whose rows come with those of a parent in the list is left out, if all its columns do: partitions,
// unless one is being detached, and children that have no columns of their own. A child that has some is in the list;
// its rows are then given twice, by the parent with the columns of the parent, and by itself in full.
//
// A table that the user may not read is in the list, too. The name of a schema is taken as it is.
func (db *DB) Tables(ctx context.Context, schema string) ([]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	const doing = "listing the tables"
	if schema != "" {
		schemas, err := db.session.list(ctx, schemasSQL, schema)
		if err != nil {
			return nil, db.session.failed(ctx, doing, err)
		}
		if len(schemas) == 0 || schemas[0] != schema {
			return nil, &source.UnknownError{What: "schema", Name: schema, Known: schemas}
		}
	}
	tables, err := db.session.list(ctx, tablesSQL, schema, db.session.schemas)
	return tables, db.session.failed(ctx, doing, err)
}

// Describe says what the transaction shows. It is known since the transaction began, and not asked for again.
//
// The snapshot is what txid_current_snapshot gives: of the transactions before the second number, all are seen but
// those that follow, which were in progress; before the first, none was. The position is that of the write-ahead log
// just before; on a standby, as far as it was replayed. A transaction that was about to end then may be in the log
// before that position, and yet not be seen. Without the right to ask for it, the position is "".
func (db *DB) Describe(context.Context) (source.Description, error) {
	return db.session.description, nil
}

// list gives the rows of a statement of ours that has one column.
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

// ofUsers says whether a schema n is not one of the system. What a backslash is in a text is a setting of the user, so
// that there is none.
const ofUsers = `n.nspname <> 'information_schema' AND NOT pg_catalog.starts_with(n.nspname::text, 'pg_')`

// schemasSQL lists the schema of a name, and after it the others.
const schemasSQL = `
SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text OR ` + ofUsers + `
ORDER BY n.nspname = $1::text DESC, n.nspname LIMIT 1000`

// tablesSQL lists the tables of the schema that is the first parameter. The second is the search path of the user.
//
// Covered are the tables whose rows and columns come with those of a candidate.
//
// A name is right if findRelation takes nothing else for it. Another relation would have to be of exactly that name, by
// itself or behind its schema, and so have a point or a quote in one of both. A text of 128 bytes is longer than both
// can be.
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
	SELECT i.inhparent, i.inhrelid FROM pg_catalog.pg_inherits i
	WHERE NOT ` + detaching + ` AND NOT EXISTS (
		SELECT FROM pg_catalog.pg_attribute a
		WHERE a.attrelid = i.inhrelid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_attribute b WHERE b.attrelid = i.inhparent AND b.attname = a.attname
				AND b.attnum > 0 AND NOT b.attisdropped AND b.attgenerated = ''))),
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
