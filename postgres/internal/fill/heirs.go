package fill

import (
	"context"
	"fmt"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// heirsSQL returns the tables that inherit from the table $1, also through others, and whether the user may read all
// their rows. Temporary ones are those of other sessions, and nobody else reads them with the table.
const heirsSQL = `
WITH RECURSIVE heirs(oid) AS (
	SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = $1::oid
	UNION SELECT i.inhrelid FROM heirs h JOIN pg_catalog.pg_inherits i ON i.inhparent = h.oid)
SELECT n.nspname, c.relname, c.relkind = 'r' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
	AND pg_catalog.has_table_privilege(c.oid, 'SELECT') AND NOT pg_catalog.row_security_active(c.oid)
FROM heirs h JOIN pg_catalog.pg_class c ON c.oid = h.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relpersistence <> 't'
ORDER BY n.nspname, c.relname`

// heirs returns the tables that inherit from a table. It reads a row of each only if the rows of the table are to be
// replaced, since it then matters whether there is one. A row that the user may not see counts as one.
func (s *session) heirs(ctx context.Context, t *target, existing sink.Existing) ([]sink.Heir, error) {
	if t.kind == "p" || !t.inherited {
		return nil, nil // partitions are parts of it
	}
	found, err := s.query(ctx, 3, heirsSQL, t.oid)
	if err != nil {
		return nil, s.failed(ctx, "looking for what inherits from table "+t.sql, err)
	}
	var heirs []sink.Heir
	for _, row := range found {
		heir := sink.Heir{Table: sqltext.Quote(string(row[0])) + "." + sqltext.Quote(string(row[1])), Filled: true}
		if existing == sink.Truncate && string(row[2]) == "t" {
			rows, err := s.count(ctx, t, "ONLY "+heir.Table+" LIMIT 1")
			if err != nil {
				return nil, fmt.Errorf("%w: reading %s", err, heir.Table)
			}
			heir.Filled = rows > 0
		}
		heirs = append(heirs, heir)
	}
	return heirs, nil
}
