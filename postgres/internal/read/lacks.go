package read

// lacksSQL returns what each of the relations $1 has and its definition has not, by name. Rights are left out. Each
// catalog is asked once for all relations: to begin a statement on all of these catalogs for one relation takes longer
// than to answer it.
const lacksSQL = `
	SELECT l.of, pg_catalog.json_agg(l.name ORDER BY l.place, l.name COLLATE pg_catalog."C") FROM (` +
	lacksOfTableSQL + ` UNION ALL ` + lacksOfColumnsSQL + ` UNION ALL ` + lacksBesideSQL + `
	) AS l(of, place, name) GROUP BY l.of`

const lacksOfTableSQL = `
		SELECT c.oid, o.place, o.name FROM pg_catalog.pg_class c CROSS JOIN LATERAL (
			SELECT 1, 'UNLOGGED' WHERE c.relpersistence = 'u'
			UNION ALL SELECT 2, 'PARTITION BY ' || pg_catalog.pg_get_partkeydef(c.oid) WHERE c.relkind = 'p'
			UNION ALL SELECT 7, 'WITH (' || pg_catalog.array_to_string(c.reloptions, ', ') || ')'
				WHERE c.reloptions IS NOT NULL
			UNION ALL SELECT 8, 'REPLICA IDENTITY' WHERE c.relreplident <> 'd'
			UNION ALL SELECT 9, 'row security' WHERE c.relrowsecurity OR c.relforcerowsecurity) AS o(place, name)
			WHERE c.oid = ANY ($1::oid[])
		UNION ALL SELECT c.oid, 3, pg_catalog.format(CASE WHEN c.relispartition
			THEN 'its place among the partitions of "%s"' ELSE 'INHERITS "%s"' END, p.relname)
			FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
			JOIN pg_catalog.pg_class p ON p.oid = i.inhparent WHERE i.inhrelid = ANY ($1::oid[])
		UNION ALL SELECT c.oid, 4, pg_catalog.format('the type "%s" that it is of', t.typname)
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_type t ON t.oid = c.reloftype
			WHERE c.oid = ANY ($1::oid[]) AND c.reloftype <> 0
		UNION ALL SELECT c.oid, 5, pg_catalog.format('the access method "%s"', m.amname)
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am m ON m.oid = c.relam
			WHERE c.oid = ANY ($1::oid[]) AND m.amname <> 'heap'
		UNION ALL SELECT c.oid, 6, pg_catalog.format('the tablespace "%s"', t.spcname)
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace
			WHERE c.oid = ANY ($1::oid[]) AND c.reltablespace <> 0
		UNION ALL SELECT c.oid, 7, 'WITH (toast.' || pg_catalog.array_to_string(t.reloptions, ', toast.') || ')'
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid
			WHERE c.oid = ANY ($1::oid[]) AND t.reloptions IS NOT NULL`

// lacksOfColumnsSQL is run by servers whose pg_attribute has no attcompression, too: there, the name is that of none.
const lacksOfColumnsSQL = `
		SELECT a.attrelid, 20, pg_catalog.format('%s of column "%s"', o.option, a.attname)
		FROM (SELECT ''::text AS attcompression) AS none CROSS JOIN LATERAL (
			SELECT a.attrelid, a.attname, a.attstorage, a.attstattarget, a.attoptions, a.atttypid,
				a.attlen = -1 AND attcompression::text <> '' AS compressed
			FROM pg_catalog.pg_attribute a
			WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped OFFSET 0) AS a
		JOIN pg_catalog.pg_type t ON t.oid = a.atttypid CROSS JOIN LATERAL (
			SELECT 'STORAGE' WHERE a.attstorage <> t.typstorage
			UNION ALL SELECT 'COMPRESSION' WHERE a.compressed
			UNION ALL SELECT 'STATISTICS' WHERE coalesce(a.attstattarget, -1) >= 0
			UNION ALL SELECT 'options' WHERE a.attoptions IS NOT NULL) AS o(option)`

const lacksBesideSQL = `
		SELECT t.tgrelid, 30, pg_catalog.format('the trigger "%s"', t.tgname)
			FROM pg_catalog.pg_trigger t WHERE t.tgrelid = ANY ($1::oid[]) AND NOT t.tgisinternal
		UNION ALL SELECT r.ev_class, 31, pg_catalog.format('the rule "%s"', r.rulename)
			FROM pg_catalog.pg_rewrite r WHERE r.ev_class = ANY ($1::oid[])
		UNION ALL SELECT p.polrelid, 32, pg_catalog.format('the policy "%s"', p.polname)
			FROM pg_catalog.pg_policy p WHERE p.polrelid = ANY ($1::oid[])
		UNION ALL SELECT s.stxrelid, 33, pg_catalog.format('the statistics "%s"', s.stxname)
			FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = ANY ($1::oid[])
		UNION ALL SELECT r.prrelid, 34, pg_catalog.format('its place in the publication "%s"', p.pubname)
			FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
			WHERE r.prrelid = ANY ($1::oid[])
		UNION ALL SELECT i.indrelid, 35, pg_catalog.format(CASE o.kind
				WHEN 1 THEN 'the index "%s", which is not valid' WHEN 2 THEN 'CLUSTER ON "%s"'
				ELSE 'the comment of the index "%s"' END, r.relname)
			FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class r ON r.oid = i.indexrelid
			LEFT JOIN pg_catalog.pg_description m ON m.objoid = i.indexrelid AND m.objsubid = 0
				AND m.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
			CROSS JOIN LATERAL (SELECT 1 WHERE NOT i.indisvalid
				UNION ALL SELECT 2 WHERE i.indisclustered
				UNION ALL SELECT 3 WHERE m.objoid IS NOT NULL) AS o(kind)
			WHERE i.indrelid = ANY ($1::oid[])
		UNION ALL SELECT o.conrelid, 36, pg_catalog.format('the comment of the constraint "%s"', o.conname)
			FROM pg_catalog.pg_constraint o JOIN pg_catalog.pg_description m ON m.objoid = o.oid AND m.objsubid = 0
				AND m.classoid = 'pg_catalog.pg_constraint'::pg_catalog.regclass
			WHERE o.conrelid = ANY ($1::oid[])`
