package pgdump

import (
	"fmt"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// Large objects are read as the rows of the table of the server that has their pages. Nobody can write that table, so
// the rows are loaded into another one, from which the server writes the objects.
const (
	LargeObjects = "pg_catalog.pg_largeobject"
	pages        = Restoring + ".large_object_pages"
)

// StageLargeObjects adds to a schema what makes large objects again: the statements that create those with the numbers
// of each text, which are separated by commas, and the one that writes them. The size of their pages is in bytes.
func StageLargeObjects(schema *source.Schema, numbers []string, pageSize int64) {
	before := []source.Statement{{SQL: "CREATE TABLE " + pages +
		" (loid oid NOT NULL, pageno integer NOT NULL, data bytea NOT NULL)"}}
	for _, some := range numbers {
		before = append(before, source.Statement{SQL: "SELECT pg_catalog.lo_create(loid) FROM pg_catalog.unnest('{" +
			some + "}'::pg_catalog.oid[]) AS loid"})
	}
	schema.Statements = append(before, schema.Statements...)
	schema.Statements = append(schema.Statements, source.Statement{SQL: writePages(pageSize), After: true})
	schema.Staged = []source.Staged{{Table: LargeObjects, Into: pages}}
}

// writePages returns the statement that writes large objects. An empty page, which truncating leaves, may say how large
// an object is; nothing can be written there.
func writePages(pageSize int64) string {
	return fmt.Sprintf(`SELECT pg_catalog.count(CASE WHEN data = '' THEN pg_catalog.lo_truncate64(
	pg_catalog.lo_open(loid, 131072), pageno * %[1]d::pg_catalog.int8)
	ELSE pg_catalog.length(pg_catalog.lo_put(loid, pageno * %[1]d::pg_catalog.int8, data)::pg_catalog.text) END)
FROM (SELECT loid, pageno, data FROM %[2]s ORDER BY loid, pageno) AS pages`, pageSize, pages)
}

var (
	createsObjects = lazyregexp.New(`^SELECT pg_catalog\.lo_create\(loid\) FROM pg_catalog\.unnest\('\{[0-9,]+\}'` +
		`::pg_catalog\.oid\[\]\) AS loid$`)
	pageSizes = lazyregexp.New(`\* ([0-9]{1,6})::`)
)

// isOfLargeObjects reports whether a statement is one of StageLargeObjects.
func isOfLargeObjects(sql string) bool {
	if createsObjects.MatchString(sql) {
		return true
	}
	var size int64
	match := pageSizes.FindStringSubmatch(sql)
	if match == nil {
		return false
	}
	_, err := fmt.Sscan(match[1], &size)
	return err == nil && sql == writePages(size)
}
