package read

import (
	"context"
	"encoding/json"
	"fmt"

	"culvert/postgres/internal/plantext"
	"culvert/postgres/internal/sqltext"
)

// unchangedSQL finds tables of the family of a relation whose rows a statement would not return as they were when the
// transaction began: another relation has its name, a partition was attached or detached, or the file of a table was
// replaced. The catalogs show the state at that time; the functions show the current one. A partition that is not in
// the catalogs has no visible rows. System catalogs have no file in the catalogs.
const unchangedSQL = `
SELECT name, change FROM (
	SELECT n.nspname || '.' || c.relname, CASE
		WHEN f.oid IS NULL THEN 'attached'
		WHEN f.oid = $1::oid AND $2::text <> '' AND pg_catalog.to_regclass($2::text)::oid IS DISTINCT FROM f.oid
			THEN 'renamed'
		WHEN f.oid <> $1::oid AND c.relispartition AND t.relid IS NULL THEN 'detached or dropped'
		WHEN c.relfilenode <> 0 AND c.relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(c.oid)
			THEN 'truncated, rewritten or dropped'
		END
	FROM family f FULL JOIN pg_catalog.pg_partition_tree($1::oid) t ON t.relid::oid = f.oid
	CROSS JOIN LATERAL (
		SELECT * FROM pg_catalog.pg_class r WHERE r.oid = coalesce(f.oid, t.relid::oid) OFFSET 0) AS c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace) AS changes(name, change)
WHERE change IS NOT NULL LIMIT 1`

// checkUnchanged fails if a statement returns, or has returned, rows of the relation that are not those of the
// beginning of the transaction. Locks protect the relation once the statement is prepared, its partitions from here on,
// since pg_partition_tree locks them, and other children once they are planned. The name of a schema is never locked.
func (s *session) checkUnchanged(ctx context.Context, r *relation) error {
	if err := s.checkTable(ctx, r, r.oid, r.sqlName()); err != nil {
		return err
	}
	switch r.kind {
	case "v":
		return s.checkView(ctx, r)
	case "r":
		return s.checkChildren(ctx, r)
	}
	return nil
}

// checkTable checks a relation, and its name unless that is "".
func (s *session) checkTable(ctx context.Context, r *relation, oid, name string) error {
	found, err := s.query(ctx, 2, r.with()+unchangedSQL, oid, name)
	if err != nil {
		return s.failed(ctx, r.String(), err)
	}
	if len(found) > 0 {
		return changed(string(found[0][0]), string(found[0][1]))
	}
	return nil
}

func changed(table, how string) error {
	return fmt.Errorf("postgres: table %q was %s after the transaction began; begin again", table, how)
}

// childrenSQL compares the tables that inherit from the table $1, but are no partitions, with those of names that are
// in a plan, $2. The plan shows the current ones, whose names are current too. TimescaleDB leaves the table itself out,
// which has no rows. A table that is newer than the snapshot has no visible rows.
const childrenSQL = withFamily + `,
planned(oid) AS (SELECT pg_catalog.to_regclass(name)::oid FROM unnest($2::text[]) AS name)
SELECT n.nspname || '.' || c.relname FROM family f LEFT JOIN planned p ON p.oid = f.oid, LATERAL (
	SELECT * FROM pg_catalog.pg_class r WHERE r.oid = f.oid OFFSET 0) AS c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE p.oid IS NULL AND f.oid <> $1::oid AND NOT c.relispartition AND c.relkind <> 'p'
UNION ALL SELECT n.nspname || '.' || c.relname FROM planned p JOIN pg_catalog.pg_class c USING (oid)
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE p.oid NOT IN (SELECT oid FROM family) LIMIT 1`

// checkChildren fails if a table no longer has the children that it had. The server reads those that a table has when
// the statement is planned, and locks them then. No function tells them, but a plan does.
func (s *session) checkChildren(ctx context.Context, r *relation) error {
	if r.plain {
		return nil
	}
	var plan any
	found, err := s.query(ctx, 1, "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT FROM "+r.sqlName())
	if err == nil && (len(found) != 1 || json.Unmarshal(found[0][0], &plan) != nil) {
		err = errAnswer
	}
	if err != nil {
		return s.failed(ctx, r.String(), err)
	}
	var names []string
	for _, one := range plantext.Relations(plan) {
		names = append(names, sqltext.Quote(one.Schema)+"."+sqltext.Quote(one.Name))
	}
	missing, err := s.list(ctx, childrenSQL, r.oid, sqltext.Array(names))
	if err != nil {
		return s.failed(ctx, r.String(), err)
	}
	if len(missing) > 0 {
		return changed(missing[0], "made a child of "+r.sqlName()+", or was one,")
	}
	return nil
}

// readsSQL begins a statement on what a view reads, also through other views: reads has their object identifiers.
const readsSQL = `
WITH RECURSIVE reads(oid) AS (
	SELECT $1::oid
	UNION SELECT read.oid FROM reads v, LATERAL (
		SELECT d.refobjid FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d
			ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
				AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
		JOIN pg_catalog.pg_class c ON c.oid = w.ev_class AND c.relkind = 'v'
		WHERE w.ev_class = v.oid AND w.ev_type = '1'
		UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = v.oid AND NOT ` + detaching + `
		OFFSET 0) AS read(oid))`

// checkView checks the tables that a view reads. What its functions read is not known.
func (s *session) checkView(ctx context.Context, r *relation) error {
	tables, err := s.list(ctx, readsSQL+`
SELECT c.oid::text FROM reads JOIN pg_catalog.pg_class c USING (oid)
WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND c.oid::int8 >= 16384`, r.oid)
	if err != nil {
		return s.failed(ctx, r.String(), err)
	}
	for _, oid := range tables {
		if err := s.checkTable(ctx, r, oid, ""); err != nil {
			return fmt.Errorf("postgres: view %s.%s: %w", r.schema, r.name, err)
		}
	}
	return nil
}
