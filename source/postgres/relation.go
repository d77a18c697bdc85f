package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// relation is a table, or what is read like one.
type relation struct {
	oid, schema, name string

	plain bool // a table without children, which COPY reads by itself
}

func (r *relation) String() string { return "table " + strconv.Quote(r.schema+"."+r.name) }

// relationSQL finds relations with rows to read: tables, partitioned tables, views, materialized views and foreign
// tables. Visible ones, which a name without a schema means, come first.
const relationSQL = `
SELECT c.oid, n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid) AND c.relname = $1,
	c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND `

const (
	exactlyNamed = `
	(c.relname = $1 AND pg_catalog.pg_table_is_visible(c.oid) OR n.nspname || '.' || c.relname = $1) ORDER BY 4 DESC`
	namedAsSQL = `c.oid = pg_catalog.to_regclass($1)`
)

// findRelation finds the relation that a name means.
func (s *session) findRelation(ctx context.Context, name string) (*relation, error) {
	table := "table " + strconv.Quote(name)
	found, err := s.query(ctx, relationSQL+exactlyNamed, name)
	if err != nil {
		return nil, s.failed(ctx, table, err)
	}
	if len(found) == 0 {
		found, err = s.query(ctx, relationSQL+namedAsSQL, name)
		if err != nil && !isNoName(err) {
			return nil, s.failed(ctx, table, err)
		}
	}
	if len(found) == 0 {
		known, err := s.knownRelations(ctx, name)
		if err != nil {
			return nil, err
		}
		return nil, &source.UnknownError{What: "table", Name: name, Known: known}
	}
	first := found[0]
	if visible := string(first[3]) == "t"; len(found) > 1 && !visible {
		other := found[1]
		return nil, fmt.Errorf("postgres: %s may mean %s.%s or %s.%s", table,
			quote(string(first[1])), quote(string(first[2])), quote(string(other[1])), quote(string(other[2])))
	}
	return &relation{
		oid: string(first[0]), schema: string(first[1]), name: string(first[2]), plain: string(first[4]) == "t",
	}, nil
}

// isNoName reports whether to_regclass has refused a text because it cannot be the name of a table: wrong quotes, too
// many dots, or another database.
func isNoName(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{"42602", "42601", "0A000"}, refused.Code)
}

// knownSQL lists the names of relations as findRelation takes them. If there are too many, those stay whose length is
// nearest to what was asked for, since a name with a slip is about as long as the right one.
const knownSQL = `
SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE n.nspname || '.' END || c.relname AS known
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
	AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
ORDER BY pg_catalog.abs(pg_catalog.length(c.relname::text) - pg_catalog.length($1::text)), known LIMIT 1000`

func (s *session) knownRelations(ctx context.Context, name string) ([]string, error) {
	if err := s.recover(ctx); err != nil {
		return nil, err
	}
	found, err := s.query(ctx, knownSQL, name)
	if err != nil {
		return nil, s.failed(ctx, "listing the tables", err)
	}
	known := make([]string, len(found))
	for i, row := range found {
		known[i] = string(row[0])
	}
	slices.Sort(known)
	return known, nil
}

// columns gives the columns of a relation that can be loaded back: those neither dropped nor generated.
func (s *session) columns(ctx context.Context, r *relation) ([]source.Column, error) {
	found, err := s.query(ctx, `
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`, r.oid)
	if err != nil {
		return nil, s.failed(ctx, r.String(), err)
	}
	columns := make([]source.Column, len(found))
	for i, row := range found {
		columns[i] = source.Column{Name: string(row[0]), Type: string(row[1])}
	}
	return columns, nil
}

// checkUnchanged fails if the transaction would see the relation, or one of its children, without its rows. That is so
// if the file of a table has been replaced since the transaction began. The catalog is read as it was then; the
// function tells of now. System catalogs have no file in the catalog.
func (s *session) checkUnchanged(ctx context.Context, r *relation) error {
	found, err := s.query(ctx, `
WITH RECURSIVE family(oid) AS (
	SELECT $1::oid UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN family f ON f.oid = i.inhparent)
SELECT n.nspname || '.' || c.relname
FROM family f JOIN pg_catalog.pg_class c ON c.oid = f.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relfilenode <> 0 AND c.relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(c.oid)
LIMIT 1`, r.oid)
	if err != nil {
		return s.failed(ctx, r.String(), err)
	}
	if len(found) > 0 {
		return fmt.Errorf("postgres: table %q was truncated or rewritten after the transaction began; begin again",
			found[0][0])
	}
	return nil
}

// selectSQL is the statement that reads all rows of the relation.
func (r *relation) selectSQL(columns []source.Column) string {
	return "SELECT " + nameList(columns) + " FROM " + quote(r.schema) + "." + quote(r.name)
}

// copySQL is the statement that prints all rows of the relation as CSV.
func (r *relation) copySQL(columns []source.Column) string {
	if !r.plain {
		return copySQL(r.selectSQL(columns))
	}
	table := quote(r.schema) + "." + quote(r.name)
	if len(columns) > 0 {
		table += " (" + nameList(columns) + ")"
	}
	return "COPY " + table + " TO STDOUT (FORMAT csv)"
}

func nameList(columns []source.Column) string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = quote(column.Name)
	}
	return strings.Join(names, ", ")
}

// quote writes a name as an SQL identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
