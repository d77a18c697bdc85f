package read

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

var _ source.Definer = (*DB)(nil)

// Define returns the definition of a table, partitioned table or child. Of views and foreign tables, it has only the
// columns. A partitioned table is defined as if it had none, and a child as if it had no parent.
//
// The catalogs are read in the transaction, but the server prints constraints, indexes and expressions with the current
// names of what they refer to. Those of a table cannot change while it is locked.
//
// A definition in a database of SQL_ASCII that has other text than UTF-8 is an error, since it would become another
// one.
//
// The numbers of sequences that the user may not read are not known. Prepare may have read all of this before.
func (db *DB) Define(ctx context.Context, name string) (*source.Definition, error) {
	if err := db.free(); err != nil {
		return nil, err
	}
	if d := db.known.takeDefinition(name); d != nil {
		return d, nil
	}
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	r, err := s.findRelation(ctx, name)
	if err != nil {
		return nil, err
	}
	found, err := s.query(ctx, 2, definitionsSQL, sqltext.Array([]string{r.oid}), s.schemas)
	if err == nil && len(found) != 1 {
		err = errAnswer
	}
	if err != nil {
		return nil, s.failed(ctx, r.String(), err)
	}
	d, sequences, err := s.readDefinition(r, found[0][1])
	if err != nil {
		return nil, err
	}
	return d, s.failed(ctx, r.String(), s.readSequences(ctx, sequences))
}

// lookUpDefinitions sets the definitions of tables, except of those that have other text than UTF-8.
func (s *session) lookUpDefinitions(ctx context.Context, byOID map[string]*known, oids string) error {
	found, err := s.query(ctx, 2, definitionsSQL, oids, s.schemas)
	if err != nil {
		return err
	}
	var sequences []*source.Sequence
	for _, row := range found {
		one := byOID[string(row[0])]
		if one == nil {
			return errAnswer
		}
		d, some, err := s.readDefinition(&one.relation, row[1])
		if err != nil {
			continue // Define says so
		}
		one.definition = d
		sequences = append(sequences, some...)
	}
	for some := range slices.Chunk(sequences, sequencesAtOnce) {
		if err := s.readSequences(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// readDefinition reads the JSON of a definition. It also returns those of its sequences that can be read.
func (s *session) readDefinition(r *relation, text []byte) (*source.Definition, []*source.Sequence, error) {
	var d struct {
		source.Definition
		Readable   []bool             `json:"readable"` // whether each of the sequences is
		Ancestors  []source.Ancestor  `json:"ancestors"`
		Partitions []source.Partition `json:"partitions"`
		Refusing   []string           `json:"refusing"` // columns whose domain refuses NULL
		Hidden     bool               `json:"hidden"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, nil, fmt.Errorf("postgres: %s: %w", r, err)
	}
	if !utf8.Valid(text) {
		return nil, nil, fmt.Errorf("postgres: %s: the text of its %s is not UTF-8, as a manifest has to be; "+
			"export the table by itself, into one file", r, brokenOf(&d.Definition))
	}
	for i := range d.Ancestors {
		d.Ancestors[i].HasRows = d.Ancestors[i].HasRows || !s.own
	}
	for i := range d.Columns {
		d.Columns[i].RefusesNull = slices.Contains(d.Refusing, d.Columns[i].Name)
	}
	d.Dialect, d.Schema, d.Name = source.PostgreSQL, r.schema, r.name
	d.Definition.Ancestors, d.Definition.Partitions, d.Definition.Hidden = d.Ancestors, d.Partitions, d.Hidden
	d.IsView = r.kind == "v" || r.kind == "m"
	var sequences []*source.Sequence
	for i := range min(len(d.Sequences), len(d.Readable)) {
		if d.Readable[i] {
			sequences = append(sequences, &d.Sequences[i])
		}
	}
	return &d.Definition, sequences, nil
}

// brokenOf names the first thing in a definition whose text was not UTF-8, so that JSON has replaced some of it.
func brokenOf(d *source.Definition) string {
	broken := func(texts ...string) bool {
		return strings.ContainsRune(strings.Join(texts, ""), utf8.RuneError)
	}
	for _, c := range d.Columns {
		if broken(c.Name, c.Type, c.Default, c.Expression, c.Collation, c.Comment, strings.Join(c.Values, "")) {
			return "column " + strconv.Quote(c.Name)
		}
	}
	for _, c := range d.Constraints {
		if broken(c.Name, c.Definition) {
			return "constraint " + strconv.Quote(c.Name)
		}
	}
	for _, i := range d.Indexes {
		if broken(i.Name, i.Definition) {
			return "index " + strconv.Quote(i.Name)
		}
	}
	for _, s := range d.Sequences {
		if broken(s.Name) {
			return "sequence " + strconv.Quote(s.Name)
		}
	}
	return "comment"
}

// readSequences reads the last numbers of sequences, and keeps no lock of them: a function that returns them would lock
// the sequences to the end of the transaction. Each has a statement of its own, all of them in one round trip: the
// server takes three times as long to plan one statement on all of them. If it refuses one, such as an unlogged one on
// a standby, each is read alone.
func (s *session) readSequences(ctx context.Context, sequences []*source.Sequence) error {
	if len(sequences) == 0 {
		return nil
	}
	var sql strings.Builder
	for _, sequence := range sequences {
		sql.WriteString("SELECT last_value, is_called FROM " + sequence.Name + ";\n")
	}
	found, err := s.probeAll(ctx, sql.String())
	if wire.IsRefusal(ctx, err) {
		for i := 0; i < len(sequences) && len(sequences) > 1; i++ {
			if err := s.readSequences(ctx, sequences[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	if err == nil && len(found) != len(sequences) {
		err = errAnswer
	}
	if err != nil {
		return err
	}
	for i, one := range found {
		if len(one.Rows) != 1 || len(one.Rows[0]) != 2 {
			return errAnswer
		}
		last, err := strconv.ParseInt(string(one.Rows[0][0]), 10, 64)
		switch called := string(one.Rows[0][1]); {
		case err != nil:
			return errAnswer
		case called == "t":
			sequences[i].Last = &last
		default:
			sequences[i].Next = &last
		}
	}
	return nil
}

// definitionsSQL returns the definition of each of the relations $1 as JSON, and for each of its sequences whether it
// can be read. The search path of the user is $2. A foreign key to a partitioned table has one constraint for the
// table, and one for each of its partitions.
const definitionsSQL = `
SELECT c.oid, pg_catalog.json_build_object(
	'comment', (` + commentSQL + ` WHERE m.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND m.objoid = c.oid
		AND m.objsubid = 0),
	'columns', (` + columnDefinitionsSQL + `),
	'constraints', CASE WHEN c.relkind IN ('r', 'p') THEN (` + constraintsSQL + `) END,
	'indexes', CASE WHEN c.relkind IN ('r', 'p') THEN (` + indexesSQL + `) END,
	'lacks', CASE WHEN c.relkind IN ('r', 'p') THEN l.list END,
	'refusing', (` + refusingSQL + `),
	'ancestors', CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid)
		THEN (` + ancestorsSQL + `) END,
	'partitions', CASE c.relkind WHEN 'p' THEN (` + partitionsSQL + `) END,
	'sequences', s.list, 'readable', s.readable, 'hidden', NOT ` + visible + `)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN (` + lacksSQL + `) AS l(of, list) ON l.of = c.oid
CROSS JOIN LATERAL (` + sequencesSQL + `) AS s(list, readable) WHERE c.oid = ANY ($1::oid[])`

// refusingSQL returns the columns of the relation c whose type is a domain that refuses NULL, or a domain over one.
const refusingSQL = `
	SELECT pg_catalog.json_agg(a.attname)
	FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND t.typtype = 'd'
	WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND EXISTS (
		WITH RECURSIVE domain AS (
			SELECT t.typnotnull, t.typbasetype
			UNION SELECT b.typnotnull, b.typbasetype FROM domain d JOIN pg_catalog.pg_type b ON b.oid = d.typbasetype)
		SELECT FROM domain WHERE domain.typnotnull)`

// ancestorsSQL returns the tables from which the relation c inherits, or of which it is a partition. A column has the
// same name in all of them. A partition comes with the rows of its ancestors in any case.
const ancestorsSQL = `
	WITH RECURSIVE ancestor AS (
		SELECT i.inhparent, 1 AS distance FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid
		UNION SELECT i.inhparent, a.distance + 1
		FROM ancestor a JOIN pg_catalog.pg_inherits i ON i.inhrelid = a.inhparent)
	SELECT pg_catalog.json_agg(pg_catalog.json_build_object('Schema', p.nspname, 'Name', p.relname,
		'Distance', a.distance, 'HasRows', c.relispartition, 'Hidden', NOT p.visible, 'Columns', (
			SELECT pg_catalog.json_agg(t.attname ORDER BY t.attnum) FROM pg_catalog.pg_attribute t
			WHERE t.attrelid = p.oid AND t.attnum > 0 AND NOT t.attisdropped)
		) ORDER BY a.distance, p.nspname, p.relname)
	FROM (SELECT inhparent, pg_catalog.min(distance) AS distance FROM ancestor GROUP BY inhparent) AS a
	JOIN LATERAL (
		SELECT c.oid, c.relname, n.nspname, ` + visible + ` AS visible
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = a.inhparent
	) AS p ON true`

// partitionsSQL returns the partitions of the relation c, also those of partitions. Each has the foreign keys that are
// its own: that it does not have from a table above it.
const partitionsSQL = `
	WITH RECURSIVE part AS (
		SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid
		UNION SELECT i.inhrelid FROM part JOIN pg_catalog.pg_inherits i ON i.inhparent = part.inhrelid)
	SELECT pg_catalog.json_agg(pg_catalog.json_build_object('Schema', n.nspname, 'Name', c.relname,
		'Keys', (` + constraintsSQL + ` AND o.contype = 'f' AND o.conparentid = 0)))
	FROM part JOIN pg_catalog.pg_class c ON c.oid = part.inhrelid
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`

// commentSQL begins a statement on the comment of an object. The functions that return comments are statements too,
// each of which takes five times as long to begin as this one to run.
const commentSQL = `SELECT m.description FROM pg_catalog.pg_description m`

const columnDefinitionsSQL = `
	SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
		'name', a.attname, 'type', pg_catalog.format_type(a.atttypid, a.atttypmod), 'not_null', a.attnotnull,
		'default', CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END,
		'expression', CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END,
		'generated', CASE a.attgenerated WHEN 's' THEN 'stored' WHEN 'v' THEN 'virtual' END,
		'comment', (` + commentSQL + ` WHERE m.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
			AND m.objoid = a.attrelid AND m.objsubid = a.attnum),
		'identity', CASE a.attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' END,
		'collation', CASE WHEN a.attcollation <> t.typcollation THEN (
			SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(o.collname)
			FROM pg_catalog.pg_collation o JOIN pg_catalog.pg_namespace n ON n.oid = o.collnamespace
			WHERE o.oid = a.attcollation) END,
		'ignores', CASE WHEN a.attcollation <> t.typcollation THEN (` + ignoresSQL + `) END,
		'values', CASE WHEN t.typtype = 'e' THEN (
			SELECT pg_catalog.json_agg(e.enumlabel ORDER BY e.enumsortorder)
			FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid) END,
		'others', CASE WHEN c.relhastriggers THEN (` + onUpdateSQL + `) END
		) ORDER BY a.attnum)
	FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
	LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef
	WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped`

// ignoresSQL returns what a collation of ICU ignores, if it does nothing else than that and the usual. The locale is in
// another column in each of PostgreSQL 14, 15 and 17.
const ignoresSQL = `
	SELECT CASE
		WHEN i.locale ~ '^(und|root|en(-[A-Z]{2})?)?(-u-ks-level2|@colStrength=secondary)$' THEN 'case'
		WHEN i.locale ~ '^(und|root|en(-[A-Z]{2})?)?(-u-ks-level1|@colStrength=primary)$' THEN 'case and accents' END
	FROM (
		SELECT o.j ->> 'collprovider' AS provider, o.j ->> 'collisdeterministic' AS deterministic,
			COALESCE(o.j ->> 'colllocale', o.j ->> 'colliculocale', o.j ->> 'collcollate') AS locale
		FROM (SELECT pg_catalog.to_jsonb(k) AS j FROM pg_catalog.pg_collation k WHERE k.oid = a.attcollation) AS o
	) AS i WHERE i.provider = 'i' AND i.deterministic = 'false'`

// onUpdateSQL returns the clause of MySQL for which a trigger stands that package culvert/sink/dialect has made.
const onUpdateSQL = `
	SELECT pg_catalog.json_build_array('ON UPDATE CURRENT_TIMESTAMP')
	FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
	WHERE g.tgrelid = a.attrelid AND g.tgname = 'on_update_current_timestamp' AND NOT g.tgisinternal
		AND pg_catalog.right(f.prosrc, 15) = 'RETURN NEW; END' AND pg_catalog.strpos(f.prosrc, pg_catalog.format(
			'IF NEW.%1$s IS NOT DISTINCT FROM OLD.%1$s THEN NEW.%1$s := ',
			'"' || pg_catalog.replace(a.attname, '"', '""') || '"')) > 0`

const constraintsSQL = `
	SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
		'name', o.conname, 'definition', text.definition,
		'kind', CASE o.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' WHEN 'c' THEN 'check'
			WHEN 'x' THEN 'exclude' ELSE 'foreign key' END,
		'columns', CASE WHEN o.contype IN ('p', 'u', 'f') THEN (
			SELECT pg_catalog.json_agg(a.attname ORDER BY k.place)
			FROM unnest(o.conkey) WITH ORDINALITY AS k(number, place)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = o.conrelid AND a.attnum = k.number) END
		) ORDER BY pg_catalog.strpos('puxcf', o.contype::text), o.conname)
	FROM pg_catalog.pg_constraint o
	CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_constraintdef(o.oid) OFFSET 0) AS text(definition)
	WHERE o.conrelid = c.oid AND o.contype IN ('p', 'u', 'c', 'x', 'f')
		AND text.definition IS NOT NULL
		AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint p WHERE p.oid = o.conparentid AND p.conrelid = o.conrelid)`

const indexesSQL = `
	SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
		'name', r.relname, 'unique', i.indisunique, 'definition', text.definition,
		'columns', CASE WHEN i.indexprs IS NULL AND i.indpred IS NULL THEN (
			SELECT pg_catalog.json_agg(a.attname ORDER BY k.place)
			FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
			WHERE k.place <= i.indnkeyatts) END
		) ORDER BY r.relname)
	FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class r ON r.oid = i.indexrelid
	CROSS JOIN LATERAL (SELECT pg_catalog.pg_get_indexdef(r.oid) WHERE NOT EXISTS (
		SELECT FROM pg_catalog.pg_constraint o
		WHERE o.conindid = i.indexrelid AND o.conrelid = i.indrelid AND o.contype IN ('p', 'u', 'x'))
		OFFSET 0) AS text(definition)
	WHERE i.indrelid = c.oid AND i.indisvalid AND text.definition IS NOT NULL`

const sequencesSQL = `
	SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
		'column', a.attname, 'name', pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(r.relname),
		'type', pg_catalog.format_type(q.seqtypid, NULL),
		'options', pg_catalog.format('START WITH %s INCREMENT BY %s MINVALUE %s MAXVALUE %s CACHE %s %s', q.seqstart,
			q.seqincrement, q.seqmin, q.seqmax, q.seqcache, CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END)
		) ORDER BY a.attnum, r.relname),
		pg_catalog.json_agg(coalesce(pg_catalog.has_schema_privilege(n.oid, 'USAGE')
			AND pg_catalog.has_sequence_privilege(r.oid, 'SELECT'), false) ORDER BY a.attnum, r.relname)
	FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class r ON r.oid = d.objid AND r.relkind = 'S'
	JOIN pg_catalog.pg_sequence q ON q.seqrelid = r.oid
	JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
	JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
	WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = c.oid AND d.refobjsubid > 0
		AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('a', 'i')`
