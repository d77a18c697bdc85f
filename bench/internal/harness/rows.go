package harness

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed sql/postgres.sql
var postgresRows string

//go:embed sql/sqlite.sql
var sqliteRows string

// postgresQuery makes n rows without a table. They have a bigint, an int, a text, a numeric, a timestamptz, a bool, a
// jsonb, and a text that is NULL in one row of four: 166 bytes of CSV on average.
func postgresQuery(n int) string { return WithRows(postgresRows, n) }

// SqliteScript fills a new database with a table of n such rows.
func SqliteScript(n int) string { return WithRows(sqliteRows, n) }

// WithRows sets the number of rows in a statement.
func WithRows(sql string, n int) string {
	return strings.TrimSpace(strings.ReplaceAll(sql, ":rows", strconv.Itoa(n)))
}
