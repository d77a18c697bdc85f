package sink

import (
	"fmt"
	"strings"

	"culvert/source"
)

// CheckStatements returns an error if a statement of a definition does not begin with CREATE TABLE, CREATE INDEX or
// CREATE UNIQUE INDEX, as PostgreSQL and SQLite print them. It does not look further: expressions in the statements can
// call any function. Definitions of MySQL and MariaDB have no whole statements for indexes; package sink/mysql checks
// them.
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
