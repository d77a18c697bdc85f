package read

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/plantext"
	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// OutsideSnapshot returns foreign tables, tables with foreign children, and views that read such tables, also by other
// views and by functions: their rows are those of another server, or of a file, when they are read. See outsideSQL.
func (db *DB) OutsideSnapshot(ctx context.Context, names []string) ([]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	var outside, foreign []string
	asked := false // only if it matters: the server has to read all of pg_class
	for _, name := range names {
		if db.known.of(name) != nil {
			continue // an ordinary table
		}
		r, err := db.session.findRelation(ctx, name)
		if _, unknown := errors.AsType[*source.UnknownError](err); unknown {
			continue
		}
		if err != nil {
			return nil, err
		}
		if r.plain {
			continue
		}
		if r.kind != "v" && !asked {
			if foreign, err = db.session.list(ctx, anyForeignSQL); err != nil {
				return nil, db.session.failed(ctx, "looking for foreign tables", err)
			}
			asked = true
		}
		if r.kind != "v" && len(foreign) == 0 {
			continue
		}
		read, err := db.session.list(ctx, outsideSQL, r.oid, "{}", "{}")
		if err != nil {
			return nil, db.session.failed(ctx, r.String(), err)
		}
		if len(read) > 0 {
			outside = append(outside, name)
		}
	}
	return outside, nil
}

// QueryOutsideSnapshot reports whether the plan of a query reads foreign tables, or whether functions or operators that
// the query or its plan names may read them.
func (db *DB) QueryOutsideSnapshot(ctx context.Context, sql string) (bool, error) {
	if err := db.begin(ctx); err != nil {
		return false, err
	}
	s := db.session
	results, err := s.probe(ctx, func(batch *pgconn.Batch) {
		batch.ExecParams("EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON)\n"+sql, nil, nil, nil, nil)
	})
	if wire.IsRefusal(ctx, err) {
		return false, nil // it is not valid, or has no plan
	}
	var plan any
	if err == nil && (len(results) != 1 || !haveColumns(results[0].Rows, 1) || len(results[0].Rows) != 1 ||
		json.Unmarshal(results[0].Rows[0][0], &plan) != nil) {
		err = errAnswer
	}
	if err != nil || plantext.ReadsForeign(plan) {
		return err == nil, s.failed(ctx, "looking for foreign tables", err)
	}
	mentions := plantext.Of(plan)
	read, err := s.list(ctx, outsideSQL, "0", sqltext.Array(append(calls(sql), mentions.Calls...)),
		sqltext.Array(mentions.Operators))
	return len(read) > 0, s.failed(ctx, "looking for foreign tables", err)
}

const anyForeignSQL = "SELECT oid::text FROM pg_catalog.pg_class WHERE relkind = 'f' LIMIT 1"

var call = lazyregexp.New(`("(?:[^"]|"")+"|[\pL_][\pL\pN_$]*)\s*\(`)

// calls returns the names that a statement may call. The plan has no call that the server has made while it planned.
func calls(sql string) []string {
	var names []string
	for _, found := range call.FindAllStringSubmatch(sql, -1) {
		name := strings.ToLower(found[1])
		if found[1][0] == '"' {
			name = strings.ReplaceAll(found[1][1:len(found[1])-1], `""`, `"`)
		}
		names = append(names, name)
	}
	return names
}

// outsideSQL returns a row if the relation $1, or a function named in $2, or an operator named in $3, may read rows
// that are not of the snapshot. It follows what the catalogs say: the rules of views, children, and what functions with
// a body in the standard's form, aggregates and operators depend on. Of other functions, which depend on nothing, it
// follows every word that is the name of a function, of a view, of a foreign table, or of a parent of one; so it finds
// too much rather than too little. It follows no function of an extension, which was written for any database.
//
// Rows may be those of another time if a foreign table is found, a function of dblink, one that reads a file of the
// server, or, in a database with foreign tables or dblink, a function that makes its statements while it runs, or whose
// language is neither SQL nor PL/pgSQL, if it is not immutable.
const outsideSQL = `
WITH RECURSIVE remote AS (
	SELECT d.objid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.extname = 'dblink'
		AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.deptype = 'e'),
own AS (
	SELECT f.*, l.lanname FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_language l ON l.oid = f.prolang
	WHERE f.oid::int8 >= 16384 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
		WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = f.oid AND d.deptype = 'e')),
named AS (
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid AS class, oid, pg_catalog.lower(relname) AS name
	FROM pg_catalog.pg_class WHERE oid::int8 >= 16384 AND (relkind IN ('f', 'v')
		OR oid IN (SELECT i.inhparent FROM pg_catalog.pg_inherits i))
	UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::oid, oid, pg_catalog.lower(proname)
	FROM pg_catalog.pg_proc WHERE oid IN (SELECT oid FROM own UNION ALL SELECT objid FROM remote)),
reads(class, oid) AS (
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid, $1::oid
	UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::oid, oid FROM pg_catalog.pg_proc
	WHERE proname = ANY ($2::text[]) AND oid::int8 >= 16384
	UNION ALL SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass::oid, oid FROM pg_catalog.pg_operator
	WHERE oprname = ANY ($3::text[]) AND oid::int8 >= 16384
	UNION SELECT found.class, found.oid FROM reads r, LATERAL (
		SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_depend d
		WHERE d.classid = r.class AND d.objid = r.oid AND (r.oid IN (SELECT oid FROM own)
			OR r.class = 'pg_catalog.pg_operator'::pg_catalog.regclass)
		UNION ALL SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_rewrite w ON w.ev_class = c.oid AND w.ev_type = '1'
		JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
		WHERE r.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND c.oid = r.oid AND c.relkind = 'v'
		UNION ALL SELECT r.class, i.inhrelid FROM pg_catalog.pg_inherits i
		WHERE r.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND i.inhparent = r.oid AND NOT ` + detaching + `
		UNION ALL SELECT n.class, n.oid FROM (
			SELECT text, pg_catalog.regexp_split_to_array(text, '[^[:alnum:]_$]+') AS words
			FROM own f, pg_catalog.lower(f.prosrc) AS text
			WHERE r.class = 'pg_catalog.pg_proc'::pg_catalog.regclass AND f.oid = r.oid
				AND f.lanname NOT IN ('c', 'internal')
			OFFSET 0) AS body, named n -- once for each function, not for each name
		WHERE n.name OPERATOR(pg_catalog.=) ANY (body.words)
			OR n.name ~ '[^[:alnum:]_$]' AND pg_catalog.strpos(body.text, n.name) > 0
		OFFSET 0) AS found(class, oid)
	WHERE found.class IN ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass,
		'pg_catalog.pg_operator'::pg_catalog.regclass))
SELECT '' WHERE EXISTS (
	SELECT FROM reads r JOIN pg_catalog.pg_class c USING (oid)
	WHERE r.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND (c.relkind = 'f'
		OR c.relkind = 'v' AND pg_catalog.pg_get_viewdef(c.oid) ~ '` + readsFiles + `'))
OR EXISTS (
	SELECT FROM reads r
	WHERE r.class = 'pg_catalog.pg_proc'::pg_catalog.regclass AND r.oid IN (SELECT objid FROM remote))
OR EXISTS (
	SELECT FROM reads r JOIN own f USING (oid) WHERE r.class = 'pg_catalog.pg_proc'::pg_catalog.regclass
		AND (f.prosrc ~* '` + readsFiles + `' OR f.provolatile <> 'i'
			AND (f.lanname = 'plpgsql' AND f.prosrc ~* '\mexecute\M'
				OR f.lanname NOT IN ('sql', 'plpgsql', 'c', 'internal'))
			AND (EXISTS (SELECT FROM remote) OR EXISTS (SELECT FROM pg_catalog.pg_class WHERE relkind = 'f'))))
OR EXISTS (SELECT FROM unnest($2::text[]) AS name WHERE name ~ '` + readsFiles + `')`

// readsFiles finds the functions of the server that read its files.
const readsFiles = `\mpg_(read_file|read_binary_file|stat_file|ls_[a-z]+|current_logfile)\M`
