package fill

import (
	"strings"
	"testing"
)

// Exec runs SQL on the connection of a sink, such as a limit that holds for this connection alone.
func Exec(t *testing.T, db *DB, sql string) {
	t.Helper()
	if err := db.conn.Exec(sql); err != nil {
		t.Fatal(err)
	}
}

// GrammarOf is the grammar of a numeric column.
var GrammarOf = grammarOf

// TypeIn returns where the type of a column is in a statement.
var TypeIn = typeIn

// InTransaction reports whether a transaction is open.
func InTransaction(db *DB) bool { return !db.conn.GetAutocommit() }

// Pragmas returns the values of PRAGMAs on the connection of a sink.
func Pragmas(t *testing.T, db *DB, names ...string) string {
	t.Helper()
	var values []string
	for _, name := range names {
		found, err := db.textRows(t.Context(), "PRAGMA "+name)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, found[0][0])
	}
	return strings.Join(values, " ")
}
