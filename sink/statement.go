package sink

import (
	"fmt"
	"strings"

	"culvert/source"
)

// CheckStatements returns an error if a definition would make anything else than a table and its indexes, where its
// author writes whole statements: PostgreSQL and SQLite print CREATE TABLE, CREATE INDEX and CREATE UNIQUE INDEX in
// these very words. Expressions in these statements can still call any function.
func CheckStatements(d *source.Definition) error {
	if d.Create != "" && !strings.HasPrefix(d.Create, "CREATE TABLE ") {
		return fmt.Errorf("sink: table %q: this does not make a table: %s", d.Name, Shorten(d.Create))
	}
	for _, index := range d.Indexes {
		if !strings.HasPrefix(index.Definition, "CREATE INDEX ") &&
			!strings.HasPrefix(index.Definition, "CREATE UNIQUE INDEX ") {
			return fmt.Errorf("sink: table %q: this does not make an index: %s", d.Name, Shorten(index.Definition))
		}
	}
	return nil
}
