package testkit

import (
	"strings"
	"testing"
)

// NewRole creates a role that may log in, with options of CREATE ROLE, and returns its name: the given one with that of
// the database, since all databases of a server have the same roles. At the end of the test the role is dropped, with
// what it may do in the database, and what it owns goes to the superuser.
func (db *PostgresDatabase) NewRole(tb testing.TB, name, options string) string {
	tb.Helper()
	role := name + "_of_" + db.Name
	db.Exec(tb, "CREATE ROLE "+role+" LOGIN "+options)
	tb.Cleanup(func() {
		// A session of the test that has not ended could keep its tables locked.
		db.Exec(tb, "SET lock_timeout = '1min'; REASSIGN OWNED BY "+role+" TO postgres; DROP OWNED BY "+role+
			"; DROP ROLE "+role)
	})
	return role
}

// ConnStringAs is ConnString for a role other than the superuser.
func (db *PostgresDatabase) ConnStringAs(role string) string {
	return strings.Replace(db.ConnString(), "user=postgres", "user="+role, 1)
}
