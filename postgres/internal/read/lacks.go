package read

// lacksSQL returns what the table c has and its definition has not, by name. Rights are left out.
const lacksSQL = `
	SELECT pg_catalog.json_agg(l.name ORDER BY l.place, l.name COLLATE pg_catalog."C") FROM (` +
	lacksOfTableSQL + ` UNION ALL ` + lacksOfColumnsSQL + ` UNION ALL ` + lacksBesideSQL + `
	) AS l(place, name)`

const lacksOfTableSQL = `
		SELECT 1, 'UNLOGGED' WHERE c.relpersistence = 'u'
		UNION ALL SELECT 2, 'PARTITION BY ' || pg_catalog.pg_get_partkeydef(c.oid) WHERE c.relkind = 'p'
		UNION ALL SELECT 3, pg_catalog.format(CASE WHEN c.relispartition
			THEN 'its place among the partitions of "%s"' ELSE 'INHERITS "%s"' END, p.relname)
			FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent WHERE i.inhrelid = c.oid
		UNION ALL SELECT 4, pg_catalog.format('the type "%s" that it is of', t.typname)
			FROM pg_catalog.pg_type t WHERE t.oid = c.reloftype
		UNION ALL SELECT 5, pg_catalog.format('the access method "%s"', m.amname)
			FROM pg_catalog.pg_am m WHERE m.oid = c.relam AND m.amname <> 'heap'
		UNION ALL SELECT 6, pg_catalog.format('the tablespace "%s"', t.spcname)
			FROM pg_catalog.pg_tablespace t WHERE t.oid = c.reltablespace
		UNION ALL SELECT 7, 'WITH (' || pg_catalog.array_to_string(c.reloptions, ', ') || ')'
			WHERE c.reloptions IS NOT NULL
		UNION ALL SELECT 7, 'WITH (toast.' || pg_catalog.array_to_string(t.reloptions, ', toast.') || ')'
			FROM pg_catalog.pg_class t WHERE t.oid = c.reltoastrelid AND t.reloptions IS NOT NULL
		UNION ALL SELECT 8, 'REPLICA IDENTITY' WHERE c.relreplident <> 'd'
		UNION ALL SELECT 9, 'row security' WHERE c.relrowsecurity OR c.relforcerowsecurity`

const lacksOfColumnsSQL = `
		SELECT 20, pg_catalog.format('%s of column "%s"', o.option, a.attname)
		FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid CROSS JOIN LATERAL (
			SELECT 'STORAGE' WHERE a.attstorage <> t.typstorage
			UNION ALL SELECT 'COMPRESSION' WHERE a.attlen = -1 AND pg_catalog.to_jsonb(a) ->> 'attcompression' <> ''
			UNION ALL SELECT 'STATISTICS' WHERE coalesce(a.attstattarget, -1) >= 0
			UNION ALL SELECT 'options' WHERE a.attoptions IS NOT NULL) AS o(option)
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped`

const lacksBesideSQL = `
		SELECT 30, pg_catalog.format('the trigger "%s"', t.tgname)
			FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
		UNION ALL SELECT 31, pg_catalog.format('the rule "%s"', r.rulename)
			FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid
		UNION ALL SELECT 32, pg_catalog.format('the policy "%s"', p.polname)
			FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid
		UNION ALL SELECT 33, pg_catalog.format('the statistics "%s"', s.stxname)
			FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = c.oid
		UNION ALL SELECT 34, pg_catalog.format('its place in the publication "%s"', p.pubname)
			FROM pg_catalog.pg_publication_rel r JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid
			WHERE r.prrelid = c.oid
		UNION ALL SELECT 35, pg_catalog.format(o.form, r.relname)
			FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class r ON r.oid = i.indexrelid CROSS JOIN LATERAL (
				SELECT 'the index "%s", which is not valid' WHERE NOT i.indisvalid
				UNION ALL SELECT 'CLUSTER ON "%s"' WHERE i.indisclustered
				UNION ALL SELECT 'the comment of the index "%s"'
				WHERE EXISTS (` + commentSQL + ` WHERE m.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
					AND m.objoid = r.oid AND m.objsubid = 0)) AS o(form)
			WHERE i.indrelid = c.oid
		UNION ALL SELECT 36, pg_catalog.format('the comment of the constraint "%s"', o.conname)
			FROM pg_catalog.pg_constraint o
			WHERE o.conrelid = c.oid AND EXISTS (` + commentSQL + `
				WHERE m.classoid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND m.objoid = o.oid)`
