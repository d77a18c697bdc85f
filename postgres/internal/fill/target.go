package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// target is the table that is filled.
type target struct {
	oid    string
	schema string
	sql    string // its name with its schema, for statements
	shown  string // the same for errors, if it is another one
	kind   string // of pg_class.relkind: r or p, as a hypertable counts

	inherited bool // others may inherit from it
	chunked   bool // it is a hypertable of TimescaleDB

	copied string // the name of the table that COPY fills, without a schema, as the server says it in errors
	rows   string // about how many it has

	all       []sink.TableColumn         // all its columns
	sequences map[string]string          // of columns: see sequenceSQL
	grammars  map[string]grammar.Grammar // of columns of types that are made of others
}

// name is the name for errors.
func (t *target) name() string { return cmp.Or(t.shown, t.sql) }

// only is the table without those that inherit from it, which are tables of their own, but with its partitions.
func (t *target) only() string {
	if t.kind == "p" {
		return t.sql
	}
	return "ONLY " + t.sql
}

// describe returns the table for the decisions of the sink.
func (t *target) describe() *sink.Target {
	same := func(a, b string) bool { return a == b }
	return &sink.Target{Label: "postgres: table " + t.sql, Columns: t.all, Equal: same}
}

// visible is true if the name of a relation c in a schema n, without a schema, means this relation on the user's search
// path, $2.
const visible = `(pg_catalog.array_position($2::name[], n.nspname) IS NOT NULL AND NOT EXISTS (
	SELECT FROM pg_catalog.pg_class c2 JOIN pg_catalog.pg_namespace n2 ON n2.oid = c2.relnamespace
	WHERE c2.relname = c.relname AND pg_catalog.array_position($2::name[], n2.nspname)
		< pg_catalog.array_position($2::name[], n.nspname)))`

// targetSQL finds relations by the texts $1, as package read does: by their name as it is, with a schema or without, or
// as SQL reads it. Visible ones come first.
const (
	targetColumns = `c.oid, n.nspname, c.relname, c.relkind, greatest(c.reltuples, 0)::int8, c.relhassubclass,
	EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'timescaledb')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`
	ofTargetKind = `c.relkind IN ('r', 'p', 'v', 'm', 'f')`

	// The names $1 can be those of the relations $4 in the schemas $3, where '' is the search path.
	exactSQL = `
SELECT w.name, ` + targetColumns + ` JOIN unnest($1::text[], $3::text[], $4::text[]) AS w(name, schema, relation)
	ON c.relname = w.relation
WHERE ` + ofTargetKind + ` AND (w.schema = '' AND ` + visible + ` OR n.nspname = w.schema) ORDER BY w.schema`
	asSQL = `
SELECT $1::text, ` + targetColumns + `
WHERE ` + ofTargetKind + ` AND `
	namedAsSQL = `
	(ARRAY[c.relname::text] = pg_catalog.parse_ident($1::text) AND ` + visible + `
	OR ARRAY[n.nspname::text, c.relname::text] = pg_catalog.parse_ident($1::text)
	OR ARRAY[pg_catalog.current_database()::text, n.nspname::text, c.relname::text] = pg_catalog.parse_ident($1::text))`
	knownSQL = `
SELECT CASE WHEN ` + visible + ` THEN '' ELSE n.nspname || '.' END || c.relname AS known
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
	AND n.nspname <> 'information_schema' AND NOT pg_catalog.starts_with(n.nspname::text, 'pg_')
ORDER BY pg_catalog.abs(pg_catalog.length(c.relname::text) - pg_catalog.length($1::text)), known LIMIT 1000`
)

var kinds = map[string]string{"v": "a view", "m": "a materialized view", "f": "a foreign table"}

// findTarget finds the table that a name stands for. If it returns an error, the transaction may have failed.
func (s *session) findTarget(ctx context.Context, name string) (*target, error) {
	var t *target
	if s.facts != nil {
		t = s.facts.targets[name]
	}
	if t == nil {
		found, err := s.findExact(ctx, []string{name})
		if err != nil {
			return nil, err
		}
		t = found[name]
	}
	doing := "table " + strconv.Quote(name)
	if t == nil {
		found, err := s.findAsSQL(ctx, name)
		switch {
		case err != nil:
			return nil, s.failed(ctx, doing, err)
		case len(found) == 0:
			return nil, s.unknown(ctx, name)
		}
		t = targetOf(found[0])
		if err := s.findHypertables(ctx, found[:1], t); err != nil {
			return nil, err
		}
	}
	if kind := kinds[t.kind]; kind != "" {
		return nil, fmt.Errorf("postgres: %s is %s, which cannot be loaded", doing, kind)
	}
	if t.schema == "pg_catalog" {
		return nil, fmt.Errorf("postgres: %s is one of the system, which cannot be loaded; large objects are made "+
			"with the whole database", doing)
	}
	own := *t
	return &own, nil
}

// findExact finds the tables that names stand for as they are. It finds none for others.
func (s *session) findExact(ctx context.Context, names []string) (map[string]*target, error) {
	var wanted, schemas, relations []string
	want := func(name, schema, relation string) {
		wanted, schemas, relations = append(wanted, name), append(schemas, schema), append(relations, relation)
	}
	for _, name := range names {
		want(name, "", name)
		for at := range len(name) {
			if name[at] == '.' && at > 0 {
				want(name, name[:at], name[at+1:])
			}
		}
	}
	rows, err := s.query(ctx, 8, exactSQL, sqltext.Array(wanted), s.schemas, sqltext.Array(schemas),
		sqltext.Array(relations))
	if err != nil {
		doing := "looking for tables"
		if len(names) == 1 {
			doing = "table " + strconv.Quote(names[0])
		}
		return nil, s.failed(ctx, doing, err)
	}
	found := map[string]*target{}
	for _, row := range rows {
		if name := string(row[0]); found[name] == nil {
			found[name] = targetOf(row)
		}
	}
	return found, s.findHypertables(ctx, rows, slices.Collect(maps.Values(found))...)
}

// findHypertables sets the kind of the targets that TimescaleDB divides into chunks, if a row of exactSQL or asSQL says
// that it is there. Chunks inherit from their table, but its rows are all in them, as in partitions.
func (s *session) findHypertables(ctx context.Context, rows [][][]byte, targets ...*target) error {
	if len(rows) == 0 || string(rows[0][7]) != "t" {
		return nil
	}
	found, err := s.query(ctx, 1, `
SELECT c.oid FROM _timescaledb_catalog.hypertable h JOIN pg_catalog.pg_namespace n ON n.nspname = h.schema_name
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = h.table_name`)
	if err != nil {
		return s.failed(ctx, "looking for hypertables", err)
	}
	for _, row := range found {
		for _, t := range targets {
			if t.oid == string(row[0]) {
				t.kind, t.chunked = "p", true
			}
		}
	}
	return nil
}

// targetOf returns the relation of a row of exactSQL or asSQL.
func targetOf(row [][]byte) *target {
	schema, table := string(row[2]), string(row[3])
	return &target{
		oid: string(row[1]), schema: schema, sql: sqltext.Quote(schema) + "." + sqltext.Quote(table),
		kind: string(row[4]), copied: table, rows: string(row[5]), inherited: string(row[6]) == "t",
	}
}

// findAsSQL reads a name as SQL does. A text that is not a name of SQL names nothing.
func (s *session) findAsSQL(ctx context.Context, name string) ([][][]byte, error) {
	if err := s.exec(ctx, "SAVEPOINT culvert"); err != nil {
		return nil, err
	}
	found, err := s.query(ctx, 8, asSQL+namedAsSQL, name, s.schemas)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeInvalidParameterValue {
		err = s.exec(ctx, "ROLLBACK TO SAVEPOINT culvert")
	}
	if err != nil {
		return nil, err
	}
	return found, s.exec(ctx, "RELEASE SAVEPOINT culvert") // COPY FREEZE permits none
}

func (s *session) unknown(ctx context.Context, name string) error {
	found, err := s.query(ctx, 1, knownSQL, name, s.schemas)
	if err != nil {
		return s.failed(ctx, "listing the tables", err)
	}
	unknown := &source.UnknownError{What: "table", Name: name}
	for _, row := range found {
		unknown.Known = append(unknown.Known, string(row[0]))
	}
	slices.Sort(unknown.Known)
	return unknown
}

// lock locks the table, and reads its columns, which then do not change.
func (s *session) lock(ctx context.Context, t *target, mode string) error {
	if err := s.exec(ctx, lockSQL(t, mode)); err != nil {
		return s.failed(ctx, "locking table "+t.sql, err)
	}
	return s.check(ctx, t)
}

func lockSQL(t *target, mode string) string { return "LOCK TABLE " + t.sql + " IN " + mode + " MODE" }

// sequenceSQL is the sequence from which the column a of the table c takes its numbers, after the direction in which
// they go, if the user may read and set it. Without the CASE, the server may check rights on relations that are not
// sequences. Without the OFFSET, it would look at what all defaults depend on for each column of a new database, of
// whose catalogs it has no statistics.
const sequenceSQL = `(
	SELECT CASE WHEN q.seqincrement > 0 THEN '+' ELSE '-' END || pg_catalog.format('%I.%I', sn.nspname, s.relname)
	FROM pg_catalog.pg_class s JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.oid
	JOIN pg_catalog.pg_namespace sn ON sn.oid = s.relnamespace
	WHERE CASE WHEN s.relkind = 'S' THEN pg_catalog.has_sequence_privilege(s.oid, 'SELECT')
			AND pg_catalog.has_sequence_privilege(s.oid, 'UPDATE') ELSE false END AND s.oid IN (
			SELECT d.objid FROM pg_catalog.pg_depend d
			WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
				AND d.refobjid = c.oid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
			UNION ALL SELECT d.refobjid FROM pg_catalog.pg_attrdef e CROSS JOIN LATERAL (
				SELECT d.refobjid FROM pg_catalog.pg_depend d
				WHERE d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = e.oid
					AND d.refclassid = 'pg_catalog.pg_class'::regclass OFFSET 0) AS d
			WHERE e.adrelid = c.oid AND e.adnum = a.attnum)
	ORDER BY s.oid LIMIT 1)`

// columnsSQL returns the columns of the tables with the numbers $1, in order, and a row without a column of a table
// that has none. The type of a column of a domain is the one that the domain is made of, whose values it takes.
const columnsSQL = `
SELECT c.oid, n.nspname, c.relname, a.attname, CASE WHEN t.typtype = 'd' THEN (
	WITH RECURSIVE base(type, modifier, depth) AS (
		SELECT a.atttypid, a.atttypmod, 0
		UNION ALL SELECT t.typbasetype, t.typtypmod, depth + 1
		FROM base JOIN pg_catalog.pg_type t ON t.oid = base.type WHERE t.typtype = 'd')
	SELECT pg_catalog.format_type(type, modifier) FROM base ORDER BY depth DESC LIMIT 1)
	ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END, a.attgenerated <> '',
	CASE WHEN (a.atthasdef OR a.attidentity <> '') AND a.atttypid IN (20, 21, 23, 1700) THEN ` + sequenceSQL + ` END,
	a.atttypid
FROM unnest($1::oid[]) AS wanted JOIN pg_catalog.pg_class c ON c.oid = wanted
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
ORDER BY c.oid, a.attnum`

// tableColumns are the columns of a table, and the name that it has for statements.
type tableColumns struct {
	sql       string
	all       []sink.TableColumn
	sequences map[string]string          // by column
	grammars  map[string]grammar.Grammar // by column, of types that are made of others
}

// columnsOf asks for the columns of tables by their numbers, and other questions with that. Without types of users, the
// question about them is left out: planning it takes the server longer than all others.
func (s *session) columnsOf(
	ctx context.Context, tables []string, others ...question,
) (map[string]*tableColumns, [][][][]byte, error) {
	numbers := sqltext.Array(tables)
	questions := append([]question{{columnsSQL, 8, []string{numbers}}}, others...)
	answers, err := s.queries(ctx, questions...)
	if err != nil {
		return nil, nil, err
	}
	var types madeOf
	isOfUsers := func(row [][]byte) bool { return len(row[7]) >= len(firstOfInstallation) }
	if slices.ContainsFunc(answers[0], isOfUsers) {
		rows, err := s.query(ctx, 4, typesSQL, numbers)
		if err != nil {
			return nil, nil, err
		}
		types = madeOfIn(rows)
	}
	return columnsIn(answers[0], types), answers[1:], nil
}

// columnsIn returns the columns of tables by their numbers, of the rows of columnsSQL.
func columnsIn(rows [][][]byte, types madeOf) map[string]*tableColumns {
	found := map[string]*tableColumns{}
	for _, row := range rows {
		one := found[string(row[0])]
		if one == nil {
			one = &tableColumns{sql: sqltext.Quote(string(row[1])) + "." + sqltext.Quote(string(row[2]))}
			found[string(row[0])] = one
		}
		if row[3] != nil { // otherwise it has no columns
			c := source.Column{Name: string(row[3]), Type: string(row[4])}
			one.all = append(one.all, sink.TableColumn{Column: c, Computed: string(row[5]) == "t"})
			if row[6] != nil {
				if one.sequences == nil {
					one.sequences = map[string]string{}
				}
				one.sequences[c.Name] = string(row[6])
			}
			if g := types.ofColumn(string(row[7])); g != nil {
				if one.grammars == nil {
					one.grammars = map[string]grammar.Grammar{}
				}
				one.grammars[c.Name] = g
			}
		}
	}
	return found
}

// check reads the columns of a table, and fails if its name now means another one.
func (s *session) check(ctx context.Context, t *target) error {
	var found *tableColumns
	if s.facts != nil {
		found = s.facts.columns[t.oid]
	}
	if found == nil {
		columns, _, err := s.columnsOf(ctx, []string{t.oid})
		if err != nil {
			return s.failed(ctx, "reading the columns of table "+t.sql, err)
		}
		found = columns[t.oid]
	}
	if found == nil || found.sql != t.sql {
		return fmt.Errorf("postgres: table %s was replaced in this moment; begin again", t.sql)
	}
	t.all, t.sequences, t.grammars = found.all, found.sequences, found.grammars
	return nil
}

// list returns the names of columns as SQL.
func list(columns []source.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = sqltext.Quote(c.Name)
	}
	return strings.Join(names, ", ")
}
