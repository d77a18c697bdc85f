package fill

import (
	"context"

	"culvert/sink"
)

// referencesSQL are the foreign keys by which other tables refer to the table $1 or its partitions, and the statements
// that remove them. A key that belongs to another one of them goes with it.
const referencesSQL = `
WITH RECURSIVE emptied AS (
	SELECT $1::oid AS oid
	UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN emptied e ON e.oid = i.inhparent
		JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition),
keys AS (
	SELECT k.* FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND k.confrelid IN (SELECT oid FROM emptied)
		AND k.conrelid NOT IN (SELECT oid FROM emptied))
SELECT pg_catalog.format('%I of %I.%I', k.conname, n.nspname, c.relname),
	pg_catalog.format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname)
FROM keys k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.conparentid NOT IN (SELECT oid FROM keys)
ORDER BY 1`

// references returns the error of a table to which foreign keys of other tables refer, or nil.
func (s *session) references(ctx context.Context, t *target) error {
	found, err := s.query(ctx, 2, referencesSQL, t.oid)
	if err != nil {
		return s.failed(ctx, "looking for what refers to table "+t.sql, err)
	}
	if len(found) == 0 {
		return nil
	}
	refused := &sink.ReferencedError{Table: t.sql}
	for _, row := range found {
		refused.Keys = append(refused.Keys, string(row[0]))
		refused.Drop = append(refused.Drop, string(row[1]))
	}
	return refused
}
