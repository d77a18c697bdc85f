package fill

import (
	"context"
	"slices"
	"strings"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// referencesSQL are the foreign keys by which other tables refer to the tables $1 or their partitions, the statements
// that remove them, and the table of $1. A key that belongs to another one of them goes with it.
const referencesSQL = `
WITH RECURSIVE emptied AS (
	SELECT oid, oid AS member FROM unnest($1::oid[]) AS oid
	UNION SELECT i.inhrelid, e.member FROM pg_catalog.pg_inherits i JOIN emptied e ON e.oid = i.inhparent
		JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition),
keys AS (
	SELECT k.* FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.confrelid IN (SELECT oid FROM emptied)
		AND k.conrelid NOT IN (SELECT oid FROM emptied))
SELECT pg_catalog.format('%I of %I.%I', k.conname, n.nspname, c.relname),
	pg_catalog.format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname),
	(SELECT min(member) FROM emptied e WHERE e.oid = k.confrelid)
FROM keys k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.conparentid NOT IN (SELECT oid FROM keys)
ORDER BY 1`

// references returns the error of tables to which foreign keys of other tables refer, or nil.
func (s *session) references(ctx context.Context, tables ...*target) error {
	tables = slices.DeleteFunc(slices.Clone(tables), s.facts.knowsUnkeyed)
	if len(tables) == 0 {
		return nil
	}
	var oids []string
	for _, t := range tables {
		oids = append(oids, t.oid)
	}
	found, err := s.query(ctx, 3, referencesSQL, "{"+strings.Join(oids, ",")+"}")
	if err != nil {
		return s.failed(ctx, "looking for what refers to table "+tables[0].sql, err)
	}
	if len(found) == 0 {
		return nil
	}
	refused := &sink.ReferencedError{}
	var referred []string
	for _, row := range found {
		refused.Keys = append(refused.Keys, string(row[0]))
		refused.Drop = append(refused.Drop, string(row[1]))
		if name := tables[slices.Index(oids, string(row[2]))].sql; !slices.Contains(referred, name) {
			referred = append(referred, name)
		}
	}
	refused.Table = strings.Join(referred, ", ")
	return refused
}

// linksSQL returns the tables to which foreign keys of the table $1 refer, with f, and those whose keys refer to it,
// with t. A partition stands for itself and for the table that it is of.
const linksSQL = `
WITH keys AS (
	SELECT conrelid AS child, coalesce(pg_partition_root(conrelid), conrelid) AS children,
		confrelid AS parent, coalesce(pg_partition_root(confrelid), confrelid) AS parents
	FROM pg_constraint WHERE contype = 'f'),
linked AS (
	SELECT false AS referred, parent AS oid FROM keys WHERE $1::oid IN (child, children)
	UNION SELECT false, parents FROM keys WHERE $1::oid IN (child, children)
	UNION SELECT true, child FROM keys WHERE $1::oid IN (parent, parents)
	UNION SELECT true, children FROM keys WHERE $1::oid IN (parent, parents))
SELECT l.referred, n.nspname, c.relname
FROM linked l JOIN pg_class c ON c.oid = l.oid JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY 1, 2, 3`

// links returns the tables that foreign keys link with a table.
func (s *session) links(ctx context.Context, t *target) (refers, referred []string, err error) {
	if s.facts.knowsUnkeyed(t) {
		return nil, nil, nil
	}
	found, err := s.query(ctx, 3, linksSQL, t.oid)
	if err != nil {
		return nil, nil, s.failed(ctx, "looking for the foreign keys of table "+t.sql, err)
	}
	for _, row := range found {
		name := sqltext.Quote(string(row[1])) + "." + sqltext.Quote(string(row[2]))
		if string(row[0]) == "t" {
			referred = append(referred, name)
		} else {
			refers = append(refers, name)
		}
	}
	return refers, referred, nil
}
