package read

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/postgres/internal/pgdump"
	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

var _ source.SchemaStarter = (*DB)(nil)

// Schema returns what pg_dump prints of the database in the snapshot, which is shared for it. After that come the
// positions of sequences, as they are now or were when Prepare read them, and the refreshing of materialized views that
// have rows.
func (db *DB) Schema(ctx context.Context, config source.SchemaConfig) (*source.Schema, error) {
	_, finish, err := db.StartSchema(ctx, config)
	if err != nil {
		return nil, err
	}
	return finish(ctx)
}

// StartSchema begins what Schema does: pg_dump runs over connections of its own. What it does not print is read in the
// end.
func (db *DB) StartSchema(ctx context.Context, config source.SchemaConfig) (
	ownRows bool, finish func(context.Context) (*source.Schema, error), err error,
) {
	if err := db.begin(ctx); err != nil {
		return false, nil, err
	}
	facts, err := db.session.query(ctx, 4, schemaFactsSQL)
	if err == nil && len(facts) != 1 {
		err = errAnswer
	}
	var server, large int64
	if err == nil {
		err = scanInts([][][]byte{facts[0][:2]}, &server, &large)
	}
	if err != nil {
		return false, nil, db.session.failed(ctx, readingSchema, err)
	}
	if chunk := string(facts[0][3]); chunk != "" {
		return false, nil, &source.NoSchemaError{
			Reason: "an extension keeps rows of other tables in tables of its own, such as " + strconv.Quote(chunk),
		}
	}
	snapshot, err := db.Share(ctx)
	if err != nil && (db.session.conn.IsClosed() || ctx.Err() != nil) {
		return false, nil, err
	}
	if err != nil {
		return false, nil, &source.NoSchemaError{Reason: "pg_dump cannot read the snapshot", Err: err}
	}
	without, err := db.session.findWithout(ctx, config)
	if err != nil {
		return false, nil, db.session.failed(ctx, readingSchema, err)
	}
	ownRows = string(facts[0][2]) == "t"
	dump := pgdump.Config{
		Snapshot: snapshot.Token, Server: int(server), Grants: config.Grants, LockTimeout: dumpTimeout,
	}
	if without != nil {
		dump.Without = without.relations
	}
	dumped := db.dump(ctx, dump)
	var forTables []source.Statement
	if config.ForTables { // while pg_dump runs
		if forTables, err = db.forTables(ctx, ownRows); err != nil {
			return false, nil, err
		}
	}
	return ownRows, func(ctx context.Context) (*source.Schema, error) {
		if err := db.begin(ctx); err != nil {
			return nil, err
		}
		rest := &source.Schema{OwnRows: ownRows, ForTables: forTables}
		populated, err := db.complete(ctx, rest, config, large, without) // while pg_dump runs
		if err != nil {
			return nil, err
		}
		schema, late, err := dumped()
		if late {
			schema, err = db.dumpAgain(ctx, dump, err)
		}
		if err != nil {
			return nil, err
		}
		printed := slices.DeleteFunc(schema.Statements, func(one source.Statement) bool {
			return without.leavesOut(one.SQL)
		})
		rest.Dialect, rest.By, rest.Tables = schema.Dialect, schema.By, schema.Tables
		before := 0 // the rows
		for before < len(rest.Statements) && !rest.Statements[before].After {
			before++
		}
		rest.Statements = slices.Concat(
			rest.Statements[:before], printed, rest.Statements[before:], refreshes(printed, populated))
		return rest, nil
	}, nil
}

// forTables returns what each table needs.
func (db *DB) forTables(ctx context.Context, ownRows bool) ([]source.Statement, error) {
	s := db.session
	tables, err := db.list(ctx, "", s.own || ownRows)
	if err != nil || len(tables) == 0 {
		return nil, s.failed(ctx, listing, err)
	}
	needs, err := db.Needs(ctx, tables)
	if err != nil {
		return nil, err
	}
	return needs.Statements, nil
}

// complete adds to a schema what pg_dump does not print, and returns the materialized views that have rows.
func (db *DB) complete(
	ctx context.Context, schema *source.Schema, config source.SchemaConfig, large int64, w *without,
) (populated []string, err error) {
	if w == nil {
		w = new(without)
	}
	if schema.Lacks, err = db.session.list(ctx, schemaLacksSQL); err != nil {
		return nil, db.session.failed(ctx, readingSchema, err)
	}
	schema.Lacks = append(schema.Lacks, w.lacks...)
	switch {
	case config.LargeObjects:
		if err := db.addLargeObjects(ctx, schema, config.Grants); err != nil {
			return nil, err
		}
	case large == 1:
		schema.Lacks = append(schema.Lacks, "1 large object")
	case large > 1:
		schema.Lacks = append(schema.Lacks, fmt.Sprintf("%d large objects", large))
	}
	if err := db.addPositions(ctx, schema, w); err != nil {
		return nil, err
	}
	if err := db.addComments(ctx, schema); err != nil {
		return nil, err
	}
	found, err := db.session.query(ctx, 2, populatedSQL)
	for _, row := range found {
		switch name := string(row[0]); {
		case slices.Contains(w.views, name):
		case string(row[1]) == "t":
			schema.Lacks = append(schema.Lacks, "the rows of the materialized view "+name+
				", since one that it reads was refreshed WITH NO DATA")
		default:
			populated = append(populated, name)
		}
	}
	return populated, db.session.failed(ctx, readingSchema, err)
}

// commentsSQL returns statements that make the comments of extensions that are not those that the extensions make.
const commentsSQL = `
SELECT 'COMMENT ON EXTENSION ' || quote_ident(e.extname) || ' IS ' || quote_nullable(c.comment)
FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_available_extensions a ON a.name = e.extname
CROSS JOIN LATERAL (SELECT pg_catalog.obj_description(e.oid, 'pg_extension')) AS c(comment)
WHERE c.comment IS DISTINCT FROM a.comment ORDER BY 1`

// addComments adds the comments of extensions that a user has changed. Those of pg_dump say nothing of that, and only
// the owner of an extension may run them.
func (db *DB) addComments(ctx context.Context, schema *source.Schema) error {
	comments, err := db.session.list(ctx, commentsSQL)
	if err != nil {
		return db.session.failed(ctx, readingSchema, err)
	}
	for _, sql := range comments {
		schema.Statements = append(schema.Statements, source.Statement{SQL: sql, After: true})
	}
	return nil
}

// readingSchema is what fails.
const readingSchema = "reading the schema"

// schemaFactsSQL returns the major version of the server, the number of large objects, whether a table inherits from
// another one and is not a partition, and such a table in a schema of an extension. Only its extension can make that
// again, such as a chunk of TimescaleDB.
const schemaFactsSQL = `
WITH heirs AS (
	SELECT n.nspname || '.' || c.relname AS name, EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.objid = n.oid AND d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND d.deptype = 'e')
		AS extended
	FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition AND c.relpersistence <> 't' AND ` + ofUsers + `)
SELECT pg_catalog.current_setting('server_version_num')::int / 10000,
	(SELECT pg_catalog.count(*) FROM pg_catalog.pg_largeobject_metadata),
	EXISTS (SELECT FROM heirs), coalesce((SELECT pg_catalog.min(name) FROM heirs WHERE extended), '')`

// schemaLacksSQL lists what [pgdump.Dump] leaves out. What is of the database itself, such as its settings, is not made
// in another one, which may have its own.
const schemaLacksSQL = `
SELECT 'the subscription "' || s.subname || '"' FROM pg_catalog.pg_subscription s
	JOIN pg_catalog.pg_database d ON d.oid = s.subdbid WHERE d.datname = pg_catalog.current_database()
UNION ALL SELECT 'a load that has not ended (the schema ' || nspname || ')' FROM pg_catalog.pg_namespace
	WHERE nspname = '` + pgdump.Restoring + `'
UNION ALL SELECT 'the user mapping of "' || usename || '" for the server "' || srvname || '"'
	FROM pg_catalog.pg_user_mappings
UNION ALL SELECT 'the setting "' || pg_catalog.split_part(s.setting, '=', 1) || '" of ' || CASE s.setrole WHEN 0 THEN
	'the database' ELSE '"' || pg_catalog.pg_get_userbyid(s.setrole) || '" in the database' END
	FROM (SELECT setrole, pg_catalog.unnest(setconfig) AS setting FROM pg_catalog.pg_db_role_setting
		WHERE setdatabase = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())) AS s
UNION ALL SELECT 'the comment of the database' FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()
	AND pg_catalog.shobj_description(oid, 'pg_database') IS NOT NULL
ORDER BY 1`

// allSequencesSQL lists the sequences, as SQL, and whether the user may read each. Those that belong to the tables $1
// are left out.
const allSequencesSQL = `
SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
	pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_sequence_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'S' AND c.relpersistence <> 't' AND ` + ofUsers + `
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = c.oid
		AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND (d.deptype = 'e'
			OR d.deptype IN ('a', 'i') AND d.refobjid = ANY ($1::oid[])))
ORDER BY n.nspname, c.relname`

// sequencesAtOnce is the number of sequences that are read in one round trip, each of which takes a lock.
const sequencesAtOnce = 100

// addPositions adds statements that set the positions of all sequences.
func (db *DB) addPositions(ctx context.Context, schema *source.Schema, w *without) error {
	found, err := db.session.query(ctx, 2, allSequencesSQL, sqltext.Array(w.oids))
	if err != nil {
		return db.session.failed(ctx, readingSchema, err)
	}
	var readable, unread []*source.Sequence
	for _, row := range found {
		if string(row[1]) != "t" {
			schema.Lacks = append(schema.Lacks, "the position of the sequence "+string(row[0])+", not to be read")
			continue
		}
		sequence, read := db.known.sequence(string(row[0]))
		if !read {
			sequence.Name = string(row[0])
			unread = append(unread, &sequence)
		}
		readable = append(readable, &sequence)
	}
	for some := range slices.Chunk(unread, sequencesAtOnce) {
		if err := db.session.readSequences(ctx, some); err != nil {
			return db.session.failed(ctx, readingSchema, err)
		}
	}
	numbers, err := db.session.numberedBy(ctx, readable, schema.OwnRows)
	if err != nil {
		return db.session.failed(ctx, readingSchema, err)
	}
	for _, s := range readable {
		sql := setPositionSQL(s)
		if sql == "" {
			schema.Lacks = append(schema.Lacks, "the position of the sequence "+s.Name)
			continue
		}
		schema.Statements = append(schema.Statements, source.Statement{After: true, SQL: sql, Tells: numbers[s.Name]})
	}
	return nil
}

// setPositionSQL returns the statement that sets the position of a sequence as it was read, or "" if it was not.
func setPositionSQL(s *source.Sequence) string {
	position, called := s.Last, "true"
	if position == nil {
		position, called = s.Next, "false"
	}
	if position == nil {
		return ""
	}
	return fmt.Sprintf("SELECT pg_catalog.setval(%s, %d, %s)", sqltext.Literal(s.Name), *position, called)
}

// populatedSQL lists the materialized views that have rows, as SQL, and whether they cannot be filled, since they read
// one, also through views, that has none and may not be read.
const populatedSQL = `
WITH RECURSIVE unread AS (
	SELECT oid FROM pg_catalog.pg_class WHERE relkind = 'm' AND NOT relispopulated
	UNION
	SELECT r.ev_class FROM unread JOIN pg_catalog.pg_depend d ON d.refobjid = unread.oid
		AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
		AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
	JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid AND r.ev_type = '1'
)
SELECT pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
	EXISTS (SELECT FROM unread WHERE unread.oid = c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'm' AND c.relispopulated AND ` + ofUsers + `
	AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e'
		AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass)
ORDER BY n.nspname, c.relname`

// refreshes returns statements that fill the materialized views that have rows. They are in the order in which pg_dump
// makes the views: each comes after those that it reads.
func refreshes(printed []source.Statement, populated []string) (all []source.Statement) {
	const making = "CREATE MATERIALIZED VIEW "
	var made []string
	for i := 0; i < len(printed) && len(populated) > 0; i++ {
		rest, is := strings.CutPrefix(printed[i].SQL, making)
		for _, name := range populated {
			if is && (strings.HasPrefix(rest, name+" ") || strings.HasPrefix(rest, name+"\n")) {
				made = append(made, name)
			}
		}
	}
	for _, name := range populated {
		if !slices.Contains(made, name) {
			made = append(made, name)
		}
	}
	for _, name := range made {
		all = append(all, source.Statement{After: true, SQL: "REFRESH MATERIALIZED VIEW " + name})
	}
	return all
}
