package read

import (
	"context"
	"strconv"

	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// numberedSQL lists the columns that belong to the sequences $1, or draw their defaults from them, or whose types are
// domains that do. The rows of a partition are read with its root, and those of other tables with all from which they
// inherit the column, unless each table is read with its own rows ($2).
const numberedSQL = `
WITH RECURSIVE used AS (
	SELECT s.name, d.refobjid AS oid, d.refobjsubid AS number
	FROM pg_catalog.unnest($1::text[]) AS s(name) JOIN pg_catalog.pg_depend d ON d.objid = s.name::pg_catalog.regclass
	WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
		AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjsubid > 0
	UNION
	SELECT s.name, coalesce(f.adrelid, a.attrelid), coalesce(f.adnum, a.attnum)
	FROM pg_catalog.unnest($1::text[]) AS s(name)
	JOIN pg_catalog.pg_depend d ON d.refobjid = s.name::pg_catalog.regclass
		AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
	LEFT JOIN pg_catalog.pg_attrdef f ON f.oid = d.objid
		AND d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass
	LEFT JOIN pg_catalog.pg_attribute a ON a.atttypid = d.objid
		AND d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
), read AS (
	SELECT u.name, c.oid, a.attname, c.relispartition FROM used u
	JOIN pg_catalog.pg_class c ON c.oid = u.oid AND c.relkind IN ('r', 'p', 'f')
	JOIN pg_catalog.pg_attribute a ON a.attrelid = u.oid AND a.attnum = u.number AND NOT a.attisdropped
	UNION
	SELECT r.name, p.oid, r.attname, p.relispartition FROM read r
	JOIN pg_catalog.pg_inherits i ON i.inhrelid = r.oid AND (r.relispartition OR NOT $2::bool)
	JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
	JOIN pg_catalog.pg_attribute a ON a.attrelid = p.oid AND a.attname = r.attname AND NOT a.attisdropped
)
SELECT r.name, n.nspname, c.relname, r.attname FROM read r
JOIN pg_catalog.pg_class c ON c.oid = r.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE NOT r.relispartition AND ($2::bool OR NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i
	JOIN pg_catalog.pg_attribute a ON a.attrelid = i.inhparent AND a.attname = r.attname AND NOT a.attisdropped
	WHERE i.inhrelid = r.oid))`

// numberedBy returns what sequences number, by the names of these. With own, each table that is no partition is read
// with its own rows.
func (s *session) numberedBy(
	ctx context.Context, sequences []*source.Sequence, own bool,
) (map[string]*source.Numbering, error) {
	if len(sequences) == 0 {
		return nil, nil
	}
	numbered := map[string]*source.Numbering{}
	names := make([]string, len(sequences))
	for i, one := range sequences {
		names[i] = one.Name
		numbered[one.Name] = &source.Numbering{Sequence: one.Name}
	}
	found, err := s.query(ctx, 4, numberedSQL, sqltext.Array(names), strconv.FormatBool(own))
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		n := numbered[string(row[0])]
		table := source.TableName{Schema: string(row[1]), Name: string(row[2])}
		n.Columns = append(n.Columns, source.ColumnName{Table: table, Column: string(row[3])})
	}
	return numbered, nil
}
