package postgres

import (
	"context"

	"culvert/source"
)

var _ source.Omitter = (*DB)(nil)

// Omitted names the sequences of a schema, or of all schemas for "", that belong to no column, so that no definition of
// a table has them.
func (db *DB) Omitted(ctx context.Context, schema string) ([]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	omitted, err := db.session.list(ctx, freeSequencesSQL, schema)
	return omitted, db.session.failed(ctx, "listing the sequences", err)
}

// freeSequencesSQL lists the sequences of the schema $1 that neither a column nor an extension owns.
const freeSequencesSQL = `
SELECT pg_catalog.format('the sequence %s.%s, which belongs to no column', n.nspname, c.relname)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND c.relpersistence <> 't' AND $1::text IN ('', n.nspname) AND ` + ofUsers + `
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
			AND d.deptype IN ('a', 'i', 'e'))
ORDER BY n.nspname, c.relname`
