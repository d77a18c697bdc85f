package sink

import (
	"fmt"
	"slices"
	"strings"

	"culvert/source"
)

// virtualTable begins the statement by which SQLite makes a virtual table, as SQLite keeps it.
const virtualTable = "CREATE VIRTUAL TABLE "

// MakesVirtualTable reports whether a statement of a definition of SQLite makes a virtual table.
func MakesVirtualTable(sql string) bool { return strings.HasPrefix(sql, virtualTable) }

// CheckStatements returns an error if a statement of a definition does not begin with CREATE TABLE, CREATE INDEX or
// CREATE UNIQUE INDEX, as PostgreSQL and SQLite print them, or in SQLite with CREATE VIRTUAL TABLE, which can also make
// an index. It does not look further: expressions in the statements can call any function. Definitions of MySQL and
// MariaDB have no whole statements for indexes; package mysql checks them.
func CheckStatements(d *source.Definition) error {
	begins := func(sql string, allowed ...string) bool {
		if d.Dialect == source.SQLite {
			allowed = append(allowed, virtualTable)
		}
		return slices.ContainsFunc(allowed, func(beginning string) bool { return strings.HasPrefix(sql, beginning) })
	}
	if d.Create != "" && !begins(d.Create, "CREATE TABLE ") {
		return fmt.Errorf("sink: table %q: this does not make a table: %s", d.Name, Shorten(d.Create))
	}
	for _, index := range d.Indexes {
		if !begins(index.Definition, "CREATE INDEX ", "CREATE UNIQUE INDEX ") {
			return fmt.Errorf("sink: table %q: this does not make an index: %s", d.Name, Shorten(index.Definition))
		}
	}
	return nil
}
