package read

import (
	"context"

	"culvert/postgres/internal/pgdump"
	"culvert/source"
)

// largeObjectsSQL returns the numbers of large objects, a thousand in a text, with the size of a page: a quarter of a
// block, which is built into the server.
const largeObjectsSQL = `
SELECT pg_catalog.string_agg(oid::text, ',' ORDER BY oid),
	pg_catalog.current_setting('block_size')::pg_catalog.int4 / 4
FROM (SELECT oid, (pg_catalog.row_number() OVER (ORDER BY oid) - 1) / 1000 AS place
	FROM pg_catalog.pg_largeobject_metadata) AS objects GROUP BY place ORDER BY place`

// largeCommentsSQL and largeRightsSQL return statements about large objects. Privileges that somebody else than the
// owner has granted become those of the owner.
const (
	largeCommentsSQL = `
SELECT 'COMMENT ON LARGE OBJECT ' || objoid || ' IS ' || pg_catalog.quote_literal(description)
FROM pg_catalog.pg_description WHERE classoid = 'pg_catalog.pg_largeobject'::pg_catalog.regclass ORDER BY objoid`
	largeRightsSQL = `
WITH objects AS (SELECT oid, pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(lomowner)) AS owner, lomowner, lomacl
	FROM pg_catalog.pg_largeobject_metadata)
SELECT sql FROM (
	SELECT oid, 1, pg_catalog.format('ALTER LARGE OBJECT %s OWNER TO %s', oid, owner) FROM objects
	UNION ALL SELECT oid, 2, pg_catalog.format('REVOKE ALL ON LARGE OBJECT %s FROM %s', oid, owner)
	FROM objects WHERE lomacl IS NOT NULL
	UNION ALL SELECT oid, 3, pg_catalog.format('GRANT %s ON LARGE OBJECT %s TO %s%s', a.privilege_type, oid,
		CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END,
		CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
	FROM objects, pg_catalog.aclexplode(lomacl) AS a) AS statements(oid, step, sql) ORDER BY oid, step, sql`
)

// addLargeObjects adds what makes large objects again, with comments and, if wanted, their owners and rights.
func (db *DB) addLargeObjects(ctx context.Context, schema *source.Schema, rights bool) error {
	found, err := db.session.query(ctx, 2, largeObjectsSQL)
	if err != nil || len(found) == 0 {
		return db.session.failed(ctx, readingSchema, err)
	}
	var size int64
	var numbers []string
	for _, row := range found {
		numbers = append(numbers, string(row[0]))
		if err := scanInts([][][]byte{row[1:]}, &size); err != nil {
			return db.session.failed(ctx, readingSchema, err)
		}
	}
	pgdump.StageLargeObjects(schema, numbers, size)
	about := []string{largeCommentsSQL}
	if rights {
		about = append(about, largeRightsSQL)
	}
	for _, sql := range about {
		statements, err := db.session.list(ctx, sql)
		if err != nil {
			return db.session.failed(ctx, readingSchema, err)
		}
		for _, one := range statements {
			schema.Statements = append(schema.Statements, source.Statement{SQL: one, After: true})
		}
	}
	return nil
}
