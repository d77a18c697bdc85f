package fill

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"culvert/sink"
)

// hindersSQL are the things that would not survive if another table took the place of $1, in the words of the server.
// If $2 is true, foreign keys that refer to it do.
const hindersSQL = `
WITH t AS (SELECT c.*, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::oid),
privileges AS (
	SELECT (aclexplode(relacl)).grantor FROM t
	UNION SELECT (aclexplode(attacl)).grantor FROM pg_attribute WHERE attrelid = $1::oid AND attacl IS NOT NULL)
SELECT 'the ' || pg_describe_object(d.classid, d.objid, d.objsubid) AS what
FROM pg_depend d, t
WHERE (d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid OR d.refclassid = 'pg_type'::regclass
		AND d.refobjid IN (SELECT t.reltype UNION SELECT typarray FROM pg_type WHERE oid = t.reltype))
	AND NOT CASE d.classid
		WHEN 'pg_class'::regclass THEN d.objid IN (t.oid, t.reltoastrelid)
			OR d.objid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid)
			OR d.objid IN (SELECT oid FROM pg_class WHERE relkind = 'S') AND d.deptype IN ('a', 'i')
		WHEN 'pg_constraint'::regclass THEN
			d.objid IN (SELECT oid FROM pg_constraint
				WHERE contype = 'f' AND $2::bool OR conrelid = t.oid AND (contype <> 'f' OR confrelid <> t.oid))
		WHEN 'pg_attrdef'::regclass THEN d.objid IN (SELECT oid FROM pg_attrdef WHERE adrelid = t.oid)
		WHEN 'pg_type'::regclass THEN d.deptype = 'i'
		WHEN 'pg_statistic_ext'::regclass THEN d.objid IN (SELECT oid FROM pg_statistic_ext WHERE stxrelid = t.oid)
		WHEN 'pg_trigger'::regclass THEN d.objid IN (SELECT oid FROM pg_trigger WHERE tgisinternal)
		ELSE false END
UNION SELECT 'the ' || pg_describe_object(d.classid, d.objid, d.objsubid) || ', which uses the sequence of a column'
FROM pg_depend s JOIN pg_depend d ON d.refclassid = s.classid AND d.refobjid = s.objid
WHERE s.classid = 'pg_class'::regclass AND s.refclassid = 'pg_class'::regclass AND s.refobjid = $1::oid
	AND s.deptype = 'i' AND s.objid IN (SELECT oid FROM pg_class WHERE relkind = 'S')
	AND NOT (d.classid = 'pg_type'::regclass AND d.deptype = 'i')
UNION SELECT 'the table ' || inhparent::regclass::text || ', from which it inherits' FROM pg_inherits
	WHERE inhrelid = $1::oid
UNION SELECT 'row level security' FROM t WHERE relrowsecurity OR relforcerowsecurity
UNION SELECT 'the type ' || reloftype::regtype::text || ', of which it is' FROM t WHERE reloftype <> 0
UNION SELECT 'that it is temporary' FROM t WHERE relpersistence = 't'
UNION SELECT 'the publication ' || pubname FROM pg_publication_tables p, t
	WHERE p.schemaname = t.nspname AND p.tablename = t.relname
UNION SELECT 'a subscription, which fills it' FROM pg_subscription_rel WHERE srrelid = $1::oid
UNION SELECT 'a security label of ' || provider FROM pg_seclabel WHERE classoid = 'pg_class'::regclass
	AND objoid = $1::oid
UNION SELECT 'the ' || pg_describe_object(refclassid, refobjid, 0) || ', which it belongs to' FROM pg_depend
	WHERE classid = 'pg_class'::regclass AND objid = $1::oid AND deptype = 'e'
UNION SELECT 'the index ' || indexrelid::regclass::text || ', which is not valid' FROM pg_index
	WHERE indrelid = $1::oid AND NOT indisvalid
UNION SELECT 'privileges that ' || grantor::regrole::text || ' has granted' FROM privileges, t WHERE grantor <> relowner
ORDER BY what`

// The times at which a statement of swapSQL is run.
const (
	swapBefore  = "1" // the rows are loaded
	swapMade    = "2" // in the transaction that makes the new table, which exists
	swapRows    = "3" // after the rows
	swapLocked  = "4" // before the old table is dropped, when nobody else reads it
	swapNamed   = "5" // that give the new table, and what it has, their names
	swapKeys    = "6" // that add foreign keys: after the rows, or to tables of a group when all have their names
	swapDetails = "7" // the new table has its name
	swapDropped = "8" // that drops the old table
)

// swapSQL are the statements that make a table named $2 equal to $1, and have it take the place, with their time. $3
// is the table of that name, or 0 if it does not exist yet. Foreign keys are added to the table $4.
const swapSQL = `
WITH t AS (
	SELECT c.*, n.nspname, format('%I.%I', n.nspname, c.relname) AS sql, format('%I.%I', n.nspname, $2::text) AS new
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::oid),
options AS (
	SELECT format('%s%I = %L', prefix, split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)) AS option
	FROM (SELECT '' AS prefix, unnest(reloptions) AS o FROM t
		UNION ALL SELECT 'toast.', unnest(x.reloptions) FROM pg_class x JOIN t ON x.oid = t.reltoastrelid) AS every),
indexes AS (
	SELECT i.*, c.relname, s.spcname, pg_get_indexdef(c.oid) AS def, con.contype, con.oid AS con,
		con.condeferrable, con.condeferred, $2::text || '_' || row_number() OVER (ORDER BY c.oid) AS temporary,
		format('CREATE %sINDEX %I ON %s USING ', CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END, c.relname, t.sql)
			AS prefix
	FROM pg_index i JOIN t ON i.indrelid = t.oid JOIN pg_class c ON c.oid = i.indexrelid
	LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace
	LEFT JOIN pg_constraint con ON con.conindid = c.oid AND con.conrelid = t.oid AND con.contype IN ('p', 'u', 'x')),
sequences AS (
	SELECT s.*, a.attname, d.deptype, format('%I.%I', n.nspname, s.relname) AS sql
	FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
	JOIN pg_namespace n ON n.oid = s.relnamespace
	JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
	WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1::oid
		AND d.deptype IN ('a', 'i')),
made AS (
	SELECT s.relname, s.relacl, s.relowner, a.attname, format('%I.%I', n.nspname, s.relname) AS sql
	FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
	JOIN pg_namespace n ON n.oid = s.relnamespace
	JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
	WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $3::oid
		AND d.deptype = 'i'),
objects AS (
	SELECT 3 AS at, 100005 AS n, 'TABLE ' || t.new AS object, t.relacl, t.relowner,
		acldefault('r', t.relowner) AS initial, c.relacl AS made, c.relowner AS maker
		FROM t LEFT JOIN pg_class c ON c.oid = $3::oid
	UNION ALL SELECT 4, 2, 'SEQUENCE ' || made.sql, s.relacl, s.relowner, acldefault('s', s.relowner), made.relacl,
		made.relowner FROM sequences s JOIN made USING (attname) WHERE s.deptype = 'i'),
granted AS (
	SELECT at, n, object, '' AS of, a.* FROM objects, aclexplode(coalesce(relacl, initial)) AS a
		WHERE relacl IS NOT NULL OR made IS NOT NULL
	UNION ALL SELECT 3, 100005, 'TABLE ' || t.new, format(' (%I)', c.attname), a.*
		FROM t, pg_attribute c, aclexplode(c.attacl) AS a
		WHERE c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped),
revoked AS (
	SELECT 2 AS at, 0 AS n, object, a.grantee FROM objects, aclexplode(made) AS a WHERE a.grantee <> maker
	UNION SELECT at, n, object, CASE a.grantee WHEN maker THEN relowner ELSE a.grantee END
		FROM objects, aclexplode(coalesce(made, initial)) AS a WHERE relacl IS NOT NULL OR made IS NOT NULL),
statements AS (
	SELECT 1 AS at, 0 AS n, format('SET LOCAL default_tablespace = %L', coalesce(s.spcname, '')) AS sql
		FROM t LEFT JOIN pg_tablespace s ON s.oid = t.reltablespace
	UNION ALL SELECT 1, 1, 'CREATE ' || CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END || 'TABLE ' || new
			|| ' (LIKE ' || sql || ' INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS EXCLUDING CONSTRAINTS)'
			|| ' USING ' || quote_ident(am.amname)
			|| coalesce(' WITH (' || (SELECT string_agg(option, ', ') FROM options) || ')', '')
		FROM t JOIN pg_am am ON am.oid = t.relam
	UNION ALL SELECT CASE WHEN convalidated THEN 1 ELSE 3 END, 100001,
			format('ALTER TABLE %s ADD CONSTRAINT %I ', t.new, conname) || pg_get_constraintdef(c.oid)
		FROM pg_constraint c, t WHERE conrelid = t.oid AND contype = 'c'
	UNION ALL SELECT 3, (10 * row_number() OVER (ORDER BY indexrelid))::int + part, one
		FROM indexes, t, LATERAL (VALUES
			(0, format('SET LOCAL default_tablespace = %L', coalesce(spcname, ''))),
			(1, CASE WHEN contype IS DISTINCT FROM 'x' THEN CASE WHEN starts_with(def, prefix) THEN
				format('CREATE %sINDEX %I ON %s USING ', CASE WHEN indisunique THEN 'UNIQUE ' ELSE '' END, temporary,
				t.new) || substr(def, length(prefix) + 1) END
				ELSE format('ALTER TABLE %s ADD CONSTRAINT %I ', t.new, temporary) || pg_get_constraintdef(con) END),
			(2, CASE WHEN contype IN ('p', 'u') THEN format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I', t.new,
				temporary, CASE contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, temporary)
				|| CASE WHEN condeferrable THEN ' DEFERRABLE' ELSE '' END
				|| CASE WHEN condeferred THEN ' INITIALLY DEFERRED' ELSE '' END ELSE '' END)) AS parts (part, one)
	UNION ALL SELECT 6, 0, format('ALTER TABLE %s ADD CONSTRAINT %I ', $4::text, conname)
			|| pg_get_constraintdef(c.oid) FROM pg_constraint c, t WHERE conrelid = t.oid AND contype = 'f'
	UNION ALL SELECT 2, 2, format('ALTER SEQUENCE %s AS %s', made.sql, q.seqtypid::regtype)
		FROM sequences s JOIN made USING (attname) JOIN pg_sequence q ON q.seqrelid = s.oid WHERE s.deptype = 'i'
	UNION ALL SELECT 3, 100002, format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', t.new, attname,
			attstattarget)
		FROM pg_attribute, t WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0
	UNION ALL SELECT 3, 100002, format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', t.new, attname,
			array_to_string(attoptions, ', '))
		FROM pg_attribute, t WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attoptions IS NOT NULL
	UNION ALL SELECT 3, 100003, 'ANALYZE ' || new FROM t
	UNION ALL SELECT 3, 100004, format('ALTER TABLE %s OWNER TO %s', new, relowner::regrole) FROM t
		WHERE relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
	UNION ALL SELECT at, n, format('REVOKE ALL ON %s FROM %s', object,
			CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END) FROM revoked
	UNION ALL SELECT at, n + 1, 'GRANT ' || privilege_type || of || ' ON ' || object || ' TO '
			|| CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
			|| CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END FROM granted
	UNION ALL SELECT 4, 0, 'LOCK TABLE ' || sql || ' IN ACCESS EXCLUSIVE MODE' FROM t
	UNION ALL SELECT 4, 1, format('ALTER SEQUENCE %s OWNED BY %s.%I', s.sql, t.new, s.attname) FROM sequences s, t
		WHERE s.deptype = 'a'
	UNION ALL SELECT 4, 1, format('SELECT pg_catalog.setval(%L, o.last_value,
			o.is_called OR n.is_called AND n.last_value = o.last_value) FROM %s o, %s n
			WHERE (o.last_value::numeric - n.last_value::numeric) * (%s)::numeric >= 0::numeric',
			made.sql, s.sql, made.sql, q.seqincrement)
		FROM sequences s JOIN made USING (attname) JOIN pg_sequence q ON q.seqrelid = s.oid WHERE s.deptype = 'i'
	UNION ALL SELECT 8, 0, 'DROP TABLE ' || sql FROM t
	UNION ALL SELECT 5, 0, format('ALTER TABLE %s RENAME TO %I', new, relname) FROM t
	UNION ALL SELECT 5, 1, format('ALTER INDEX %I.%I RENAME TO %I', t.nspname, temporary, i.relname) FROM indexes i, t
	UNION ALL SELECT 5, 1, format('ALTER SEQUENCE %s RENAME TO %I', made.sql, s.relname)
		FROM sequences s JOIN made USING (attname) WHERE s.deptype = 'i'
	UNION ALL SELECT 7, 2, format('COMMENT ON TABLE %s IS %s', sql,
			coalesce(quote_literal(obj_description(oid, 'pg_class')), 'NULL')) FROM t
	UNION ALL SELECT 7, 2, format('COMMENT ON INDEX %I.%I IS %L', t.nspname, i.relname, d.description)
		FROM indexes i JOIN pg_description d ON d.objoid = i.indexrelid AND d.classoid = 'pg_class'::regclass
			AND d.objsubid = 0, t
	UNION ALL SELECT 7, 2, format('COMMENT ON CONSTRAINT %I ON %s IS %L', c.conname, t.sql, d.description)
		FROM pg_constraint c JOIN t ON c.conrelid = t.oid
		JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_constraint'::regclass
	UNION ALL SELECT 7, 2, format('COMMENT ON SEQUENCE %s IS %L', s.sql, d.description) FROM sequences s
		JOIN pg_description d ON d.objoid = s.oid AND d.classoid = 'pg_class'::regclass WHERE s.deptype = 'i'
	UNION ALL SELECT 7, 2, format('ALTER INDEX %I.%I ALTER COLUMN %s SET STATISTICS %s', t.nspname, i.relname, a.attnum,
			a.attstattarget) FROM indexes i JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attstattarget >= 0, t
	UNION ALL SELECT 7, 2, format('ALTER TABLE %s CLUSTER ON %I', t.sql, i.relname) FROM indexes i, t
		WHERE i.indisclustered
	UNION ALL SELECT 7, 2, format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', t.sql, i.relname) FROM indexes i, t
		WHERE i.indisreplident
	UNION ALL SELECT 7, 2, 'ALTER TABLE ' || sql || ' REPLICA IDENTITY '
			|| CASE relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END FROM t WHERE relreplident IN ('f', 'n')
	UNION ALL SELECT 7, 3 + part, format(one, n.nspname, stxname, of)
		FROM t JOIN pg_statistic_ext s ON stxrelid = t.oid JOIN pg_namespace n ON n.oid = stxnamespace, LATERAL (VALUES
			(0, '%3$s', pg_get_statisticsobjdef(s.oid)),
			(1, 'ALTER STATISTICS %I.%I SET STATISTICS %s', nullif(to_jsonb(s) ->> 'stxstattarget', '-1')),
			(2, 'COMMENT ON STATISTICS %I.%I IS %L', obj_description(s.oid, 'pg_statistic_ext')),
			(3, 'ALTER STATISTICS %I.%I OWNER TO %s', CASE WHEN stxowner <>
				(SELECT oid FROM pg_roles WHERE rolname = current_user) THEN stxowner::regrole::text END)
			) AS parts (part, one, of) WHERE of IS NOT NULL)
SELECT at, coalesce(sql, '-') FROM statements WHERE sql IS DISTINCT FROM '' ORDER BY at, n, sql`

// definitionSQL is what the new table has of the table $1 from the beginning, as far as it decides about rows.
const definitionSQL = `
SELECT concat_ws(' ', 1, a.attnum, quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), a.attcollation,
	a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, pg_get_expr(d.adbin, d.adrelid)) AS line
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT concat_ws(' ', 2, quote_ident(conname), pg_get_constraintdef(oid)) FROM pg_constraint
WHERE conrelid = $1::oid AND contype = 'c'
UNION ALL SELECT concat_ws(' ', 3, seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle)
FROM pg_sequence JOIN pg_depend ON objid = seqrelid AND classid = 'pg_class'::regclass
WHERE refclassid = 'pg_class'::regclass AND refobjid = $1::oid AND deptype = 'i'
UNION ALL SELECT concat_ws(' ', 4, relpersistence, relam, reltablespace, reloptions) FROM pg_class WHERE oid = $1::oid
ORDER BY line`

// hinders returns an error that names what would not survive a swap. Foreign keys that refer to the table survive that
// of a group.
func (s *session) hinders(ctx context.Context, old *target, isGrouped bool) error {
	if old.kind != "r" {
		return fmt.Errorf("postgres: table %s: %w: its partitions", old.sql, sink.ErrSwap)
	}
	found, err := s.query(ctx, 1, hindersSQL, old.oid, strconv.FormatBool(isGrouped))
	if err != nil {
		return s.failed(ctx, "looking for what depends on table "+old.sql, err)
	}
	if len(found) == 0 {
		return nil
	}
	var names []string
	for _, row := range found {
		names = append(names, string(row[0]))
	}
	lost := fmt.Errorf("postgres: table %s: %w: %s", old.sql, sink.ErrSwap, strings.Join(names, "; "))
	if isGrouped {
		return lost
	}
	if err := s.references(ctx, old); err != nil {
		return fmt.Errorf("%w; %w", lost, err)
	}
	return lost
}

// swapStatements returns the statements that have a table take the place of another, by their time.
func (s *session) swapStatements(ctx context.Context, p *plan, oid string) (map[string][]string, error) {
	old, name := p.swap.old, p.swap.newName()
	referring := p.target.sql
	if p.Grouped {
		referring = old.sql // when the new one has its name
	}
	found, err := s.query(ctx, 2, swapSQL, old.oid, name, oid, referring)
	if err != nil {
		return nil, s.failed(ctx, "reading the definition of table "+old.sql, err)
	}
	statements := map[string][]string{}
	for _, row := range found {
		at, sql := string(row[0]), string(row[1])
		if sql == "-" || !strings.Contains(sql, " ") {
			return nil, fmt.Errorf("postgres: table %s: an index has a definition that is not understood", old.sql)
		}
		statements[at] = append(statements[at], sql)
	}
	return statements, nil
}
