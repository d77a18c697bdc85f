package fill

import (
	"context"
	"fmt"

	"culvert/sink"
)

// triggersSQL returns the statements that disable the triggers of the table $1 and of its partitions that would fire,
// and those that enable them as they were. The triggers of foreign keys stay. Before PostgreSQL 15, the server marks a
// trigger that a partition has from its table as internal, too.
const triggersSQL = `
SELECT format('ALTER TABLE ONLY %s DISABLE TRIGGER %I', t.sql, g.tgname),
	format('ALTER TABLE ONLY %s ENABLE %sTRIGGER %I', t.sql, CASE g.tgenabled WHEN 'A' THEN 'ALWAYS ' ELSE '' END,
		g.tgname)
FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT format('%I.%I', n.nspname, c.relname)) AS t(sql)
WHERE (g.tgrelid = $1::oid OR g.tgrelid IN (SELECT relid FROM pg_partition_tree($1::oid)))
	AND (NOT g.tgisinternal OR g.tgparentid <> 0 AND NOT EXISTS (
		SELECT FROM pg_constraint WHERE oid = g.tgconstraint AND contype <> 't')) AND g.tgenabled IN ('O', 'A')
ORDER BY g.tgrelid <> $1::oid, t.sql, g.tgname`

// findTriggers finds the triggers of a table that is there, if they are to be off.
func (s *session) findTriggers(ctx context.Context, p *plan) error {
	p.disable, p.enable = nil, nil
	if !p.TriggersOff || p.Create != nil || p.swap != nil {
		return nil // a new table has none
	}
	found, err := s.query(ctx, 2, triggersSQL, p.target.oid)
	if len(found) > 0 && p.target.chunked {
		return fmt.Errorf("postgres: the triggers of table %s cannot be off: chunks that it makes have them too",
			p.target.sql)
	}
	for _, row := range found {
		p.disable, p.enable = append(p.disable, string(row[0])), append(p.enable, string(row[1]))
	}
	return s.failed(ctx, "looking for the triggers of table "+p.target.sql, err)
}

// switchTriggers runs the statements that disable or enable triggers.
func (s *session) switchTriggers(ctx context.Context, t *target, statements []string) error {
	for _, sql := range statements {
		if err := s.exec(ctx, sql); err != nil {
			return s.failed(ctx, "switching triggers of table "+t.sql+": "+sink.Shorten(sql), err)
		}
	}
	return nil
}
