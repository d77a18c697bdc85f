package needs

// These are object identifiers of catalogs.
const (
	classes     = "'pg_catalog.pg_class'::pg_catalog.regclass"
	types       = "'pg_catalog.pg_type'::pg_catalog.regclass"
	procedures  = "'pg_catalog.pg_proc'::pg_catalog.regclass"
	constraints = "'pg_catalog.pg_constraint'::pg_catalog.regclass"
	defaults    = "'pg_catalog.pg_attrdef'::pg_catalog.regclass"
	namespaces  = "'pg_catalog.pg_namespace'::pg_catalog.regclass"
	extensions  = "'pg_catalog.pg_extension'::pg_catalog.regclass"
	collations  = "'pg_catalog.pg_collation'::pg_catalog.regclass"
)

// printedSQL prints the object n(classid, objid): the statement that makes it, or NULL if there is none, and its kind
// in a comment.
const printedSQL = `
	SELECT 'CREATE SCHEMA ' || quote_ident(o.nspname), 'SCHEMA'
	FROM pg_catalog.pg_namespace o WHERE n.classid = ` + namespaces + ` AND o.oid = n.objid
	UNION ALL SELECT 'CREATE EXTENSION ' || quote_ident(o.extname) || ' WITH SCHEMA ' || quote_ident(s.nspname), NULL
	FROM pg_catalog.pg_extension o JOIN pg_catalog.pg_namespace s ON s.oid = o.extnamespace
	WHERE n.classid = ` + extensions + ` AND o.oid = n.objid
	UNION ALL (` + typeSQL + `)
	UNION ALL (` + collationSQL + `)
	UNION ALL SELECT 'CREATE ' || CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END || 'SEQUENCE '
		|| quote_ident(s.nspname) || '.' || quote_ident(c.relname) || ' AS ' || format_type(q.seqtypid, NULL)
		|| format(' START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s %s', q.seqstart, q.seqincrement,
			q.seqmin, q.seqmax, q.seqcache, CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END), 'SEQUENCE'
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_sequence q ON q.seqrelid = c.oid
	JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
	WHERE n.classid = ` + classes + ` AND c.oid = n.objid AND NOT EXISTS (` + ownerSQL + `)
	UNION ALL SELECT regexp_replace(rtrim(pg_get_functiondef(o.oid), E'\n'), '^CREATE OR REPLACE ', 'CREATE '),
		'FUNCTION'
	FROM pg_catalog.pg_proc o JOIN pg_catalog.pg_language l ON l.oid = o.prolang
	WHERE n.classid = ` + procedures + ` AND o.oid = n.objid AND o.prokind = 'f' AND l.lanname NOT IN ('c', 'internal')`

// ownerSQL finds the column that owns the sequence n.
const ownerSQL = `SELECT FROM pg_catalog.pg_depend d WHERE d.classid = ` + classes + ` AND d.objid = n.objid
		AND d.refclassid = ` + classes + ` AND d.deptype IN ('a', 'i')`

// typeSQL prints enum, domain, composite and range types. A function makes values of a range canonical before the range
// is there, so it must be one in C. A constraint of a domain that its values need not fulfil cannot be made before
// them.
const typeSQL = `
	SELECT CASE t.typtype
		WHEN 'e' THEN 'CREATE TYPE ' || name.sql || ' AS ENUM (' || coalesce((
			SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
			FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid), '') || ')'
		WHEN 'd' THEN CASE WHEN NOT EXISTS (
			SELECT FROM pg_catalog.pg_constraint c WHERE c.contypid = t.oid AND NOT c.convalidated) THEN
			'CREATE DOMAIN ' || name.sql || ' AS ' || format_type(t.typbasetype, t.typtypmod)
			|| CASE WHEN t.typcollation <> b.typcollation THEN coalesce(' COLLATE ' || ` + collatedSQL + `,
				'') ELSE '' END
			|| coalesce(' DEFAULT ' || pg_get_expr(t.typdefaultbin, 0), '')
			|| CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END || coalesce((
				SELECT string_agg(' CONSTRAINT ' || quote_ident(c.conname) || ' ' || pg_get_constraintdef(c.oid), ''
					ORDER BY c.conname)
				FROM pg_catalog.pg_constraint c WHERE c.contypid = t.oid AND c.contype = 'c'), '') END
		WHEN 'c' THEN CASE WHEN r.relkind = 'c' THEN 'CREATE TYPE ' || name.sql || ' AS (' || coalesce((
			SELECT string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
				|| CASE WHEN a.attcollation <> b.typcollation THEN coalesce(' COLLATE ' || (
					SELECT quote_ident(m.nspname) || '.' || quote_ident(o.collname) FROM pg_catalog.pg_collation o
					JOIN pg_catalog.pg_namespace m ON m.oid = o.collnamespace WHERE o.oid = a.attcollation), '')
				ELSE '' END, ', ' ORDER BY a.attnum)
			FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type b ON b.oid = a.atttypid
			WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped), '') || ')' END
		WHEN 'r' THEN (
			SELECT 'CREATE TYPE ' || name.sql || ' AS RANGE (SUBTYPE = ' || format_type(g.rngsubtype, NULL)
				|| CASE WHEN p.opcdefault THEN '' ELSE ', SUBTYPE_OPCLASS = ' || quote_ident(m.nspname) || '.'
					|| quote_ident(p.opcname) END
				|| coalesce(', COLLATION = ' || (
					SELECT quote_ident(m.nspname) || '.' || quote_ident(o.collname) FROM pg_catalog.pg_collation o
					JOIN pg_catalog.pg_namespace m ON m.oid = o.collnamespace
					WHERE o.oid = g.rngcollation AND g.rngcollation <> b.typcollation), '')
				|| CASE WHEN g.rngsubdiff <> 0 THEN ', SUBTYPE_DIFF = ' || (
					SELECT quote_ident(m.nspname) || '.' || quote_ident(f.proname) FROM pg_catalog.pg_proc f
					JOIN pg_catalog.pg_namespace m ON m.oid = f.pronamespace WHERE f.oid = g.rngsubdiff) ELSE '' END
				|| coalesce(', MULTIRANGE_TYPE_NAME = ' || (
					SELECT quote_ident(m.nspname) || '.' || quote_ident(u.typname) FROM pg_catalog.pg_type u
					JOIN pg_catalog.pg_namespace m ON m.oid = u.typnamespace
					WHERE u.oid::text = to_jsonb(g) ->> 'rngmultitypid'), '') || ')'
			FROM pg_catalog.pg_range g JOIN pg_catalog.pg_opclass p ON p.oid = g.rngsubopc
			JOIN pg_catalog.pg_namespace m ON m.oid = p.opcnamespace
			JOIN pg_catalog.pg_type b ON b.oid = g.rngsubtype
			WHERE g.rngtypid = t.oid AND g.rngcanonical = 0)
		END, CASE t.typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END
	FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace
	CROSS JOIN LATERAL (SELECT quote_ident(s.nspname) || '.' || quote_ident(t.typname)) AS name(sql)
	LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype LEFT JOIN pg_catalog.pg_class r ON r.oid = t.typrelid
	WHERE n.classid = ` + types + ` AND t.oid = n.objid`

// collatedSQL is the name of the collation of the type t.
const collatedSQL = `(
	SELECT quote_ident(m.nspname) || '.' || quote_ident(o.collname) FROM pg_catalog.pg_collation o
	JOIN pg_catalog.pg_namespace m ON m.oid = o.collnamespace WHERE o.oid = t.typcollation)`

// collationSQL prints a collation. The columns for locales other than those of the C library have changed in
// PostgreSQL 15 and 17.
const collationSQL = `
	SELECT 'CREATE COLLATION ' || quote_ident(s.nspname) || '.' || quote_ident(o.collname) || ' (PROVIDER = '
		|| CASE o.collprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END
		|| CASE o.collprovider WHEN 'c' THEN ', LC_COLLATE = ' || quote_literal(o.collcollate) || ', LC_CTYPE = '
			|| quote_literal(o.collctype)
		ELSE ', LOCALE = ' || quote_literal(coalesce(f.fields ->> 'colllocale', f.fields ->> 'colliculocale',
			o.collcollate)) END
		|| coalesce(', RULES = ' || quote_literal(f.fields ->> 'collicurules'), '')
		|| CASE WHEN o.collisdeterministic THEN '' ELSE ', DETERMINISTIC = false' END || ')', 'COLLATION'
	FROM pg_catalog.pg_collation o JOIN pg_catalog.pg_namespace s ON s.oid = o.collnamespace
	CROSS JOIN LATERAL (SELECT to_jsonb(o)) AS f(fields)
	WHERE n.classid = ` + collations + ` AND o.oid = n.objid`

// nameSQL is the name of an object whose identity is i, in the words of the server.
const nameSQL = `i.type || ' ' || i.identity`

// ExistingSQL returns the name and the statement of each object whose name is in $1.
const ExistingSQL = `
SELECT ` + nameSQL + `, coalesce(p.sql, '')
FROM (
	SELECT ` + namespaces + `, oid FROM pg_catalog.pg_namespace
	UNION ALL SELECT ` + extensions + `, oid FROM pg_catalog.pg_extension
	UNION ALL SELECT ` + types + `, oid FROM pg_catalog.pg_type WHERE oid >= 16384
	UNION ALL SELECT ` + collations + `, oid FROM pg_catalog.pg_collation WHERE oid >= 16384
	UNION ALL SELECT ` + classes + `, oid FROM pg_catalog.pg_class WHERE relkind = 'S'
	UNION ALL SELECT ` + procedures + `, oid FROM pg_catalog.pg_proc WHERE oid >= 16384) AS n(classid, objid)
CROSS JOIN LATERAL pg_catalog.pg_identify_object(n.classid, n.objid, 0) AS i
LEFT JOIN LATERAL (` + printedSQL + `) AS p(sql, kind) ON true
WHERE ` + nameSQL + ` = ANY ($1::text[])`

// edgesSQL finds what the object n needs. A member of an extension needs only that. Constraints of a domain and the
// attributes of a composite type are parts of it. LATERAL and OFFSET 0 have the planner, which expects many objects,
// look up single rows in place of reading all of pg_depend for each object.
const edgesSQL = `
	SELECT d.refclassid, d.refobjid FROM (
		SELECT n.classid, n.objid, 0
		UNION ALL SELECT ` + classes + `, t.typrelid, 1 FROM pg_catalog.pg_type t
		JOIN pg_catalog.pg_class r ON r.oid = t.typrelid AND r.relkind = 'c'
		WHERE n.classid = ` + types + ` AND t.oid = n.objid
		UNION ALL SELECT ` + constraints + `, c.oid, 0 FROM pg_catalog.pg_constraint c
		WHERE n.classid = ` + types + ` AND c.contypid = n.objid) AS part(classid, objid, least)
	CROSS JOIN LATERAL (
		SELECT d.refclassid, d.refobjid, d.deptype FROM pg_catalog.pg_depend d
		WHERE d.classid = part.classid AND d.objid = part.objid AND d.objsubid >= part.least OFFSET 0) AS d
	WHERE (d.refclassid <> n.classid OR d.refobjid <> n.objid)
		AND (n.classid <> ` + classes + ` OR d.refclassid = ` + namespaces + `)
		AND (d.deptype = 'e') = EXISTS (SELECT FROM pg_catalog.pg_depend e
			WHERE e.classid = n.classid AND e.objid = n.objid AND e.deptype = 'e')
	OFFSET 0`

// ClosureSQL returns all that the tables $1 need: its key, its name, the statement that makes it, or "", the kind and
// the text of its comment, whether it comes with what it needs, such as an array with the type of its elements, whether
// it is one of the tables, and the keys of what it needs, and the places of the tables that need it themselves, both as
// JSON. Sequences that the tables make are left out.
const ClosureSQL = `
WITH RECURSIVE chosen(oid, place) AS (SELECT u.oid, u.place - 1 FROM unnest($1::oid[]) WITH ORDINALITY AS u(oid,
	place)),
parts(place, classid, objid, least) AS (
	SELECT c.place, ` + classes + `::oid, c.oid, 1 FROM chosen c
	UNION ALL SELECT c.place, ` + defaults + `, d.oid, 0 FROM chosen c JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid
	UNION ALL SELECT c.place, ` + constraints + `, o.oid, 0
	FROM chosen c JOIN pg_catalog.pg_constraint o ON o.conrelid = c.oid AND o.contype IN ('c', 'x')
	UNION ALL SELECT c.place, ` + classes + `, i.indexrelid, 0
	FROM chosen c JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisvalid),
owned(oid) AS MATERIALIZED (
	SELECT d.objid FROM chosen c JOIN pg_catalog.pg_depend d ON d.refclassid = ` + classes + ` AND d.refobjid = c.oid
	WHERE d.classid = ` + classes + ` AND d.deptype IN ('a', 'i')),
direct(place, classid, objid) AS MATERIALIZED (
	SELECT DISTINCT p.place, d.refclassid, d.refobjid
	FROM parts p JOIN pg_catalog.pg_depend d ON d.classid = p.classid AND d.objid = p.objid AND d.objsubid >= p.least
	WHERE d.refclassid NOT IN (` + constraints + `, ` + defaults + `) AND (d.refclassid <> ` + classes + `
		OR EXISTS (SELECT FROM pg_catalog.pg_class s WHERE s.oid = d.refobjid AND s.relkind = 'S'
			AND s.oid NOT IN (SELECT o.oid FROM owned o)))),
needed(classid, objid) AS (
	SELECT classid, objid FROM direct
	UNION SELECT e.classid, e.objid FROM needed n CROSS JOIN LATERAL (` + edgesSQL + `) AS e(classid, objid))
SELECT n.classid || '/' || n.objid, ` + nameSQL + `, coalesce(p.sql, ''), coalesce(p.kind || ' ' || i.identity, ''),
	coalesce(obj_description(n.objid, (SELECT c.relname FROM pg_catalog.pg_class c WHERE c.oid = n.classid)), ''),
	p.sql IS NULL AND EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.classid = n.classid AND d.objid = n.objid AND d.deptype IN ('i', 'e')),
	n.classid = ` + classes + ` AND n.objid IN (SELECT oid FROM chosen),
	coalesce((SELECT json_agg(e.classid || '/' || e.objid) FROM (` + edgesSQL + `) AS e(classid, objid)), '[]'),
	coalesce((SELECT json_agg(d.place) FROM direct d WHERE d.classid = n.classid AND d.objid = n.objid), '[]')
FROM needed n CROSS JOIN LATERAL pg_catalog.pg_identify_object(n.classid, n.objid, 0) AS i
LEFT JOIN LATERAL (` + printedSQL + `) AS p(sql, kind) ON true
WHERE coalesce(i.schema, '') NOT IN ('pg_catalog', 'information_schema')
	AND i.identity NOT IN ('pg_catalog', 'information_schema')
ORDER BY 2`
