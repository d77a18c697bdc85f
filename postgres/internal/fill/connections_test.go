package fill_test

import (
	"fmt"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// limited makes a role that may have so many connections and owns table t, and returns its connection string.
func limited(tb testing.TB, database *testkit.PostgresDatabase, limit int) string {
	tb.Helper()
	role := database.NewRole(tb, "few", fmt.Sprint("CONNECTION LIMIT ", limit))
	database.Exec(tb, "GRANT ALL ON SCHEMA public TO "+role+"; ALTER TABLE t OWNER TO "+role)
	return database.ConnStringAs(role)
}

// TestFewConnections fills a table of a server that accepts fewer connections than are wanted: with those that there
// are, and with a reason.
func TestFewConnections(t *testing.T) {
	ledger := &sink.Ledger{Table: "ledger", Load: "x"}
	for name, test := range map[string]struct {
		filling sink.Filling
		loaders map[int]int // by the limit
	}{
		"guarded": {sink.Filling{}, map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 5: 4}},
		"parts":   {sink.Filling{Ledger: ledger, EachPart: true}, map[int]int{2: 1, 3: 2, 5: 4}},
		"swapped": {sink.Filling{Existing: sink.Swap}, map[int]int{1: 1, 2: 1, 3: 2, 5: 4}},
	} {
		for limit, want := range test.loaders {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				database := testkit.Postgres(t).NewDatabase(t)
				database.Exec(t, "CREATE TABLE t (id bigint)")
				db := openAgain(t, limited(t, database, limit))
				test.filling.Loaders = 4
				table := beginTable(t, db, "t", test.filling)
				reason := table.(sink.Limited).Alone()
				if few := strings.Contains(reason, "no more connections"); few != (want < 4) {
					t.Errorf("%d loaders, and the reason is %q", len(table.Loaders()), reason)
				}
				if len(table.Loaders()) != want {
					t.Errorf("%d loaders, want %d", len(table.Loaders()), want)
				}
				loadRows(t, table)
				if err := table.Commit(); err != nil {
					t.Fatal(err)
				}
				expectCount(t, database, "t", fmt.Sprint(want))
			})
		}
	}
}

// TestFewConnectionsLock has the only connection that is accepted keep others from writing, as several would.
func TestFewConnectionsLock(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id bigint)")
	db := openAgain(t, limited(t, database, 2))
	beginTable(t, db, "t", sink.Filling{Loaders: 3})
	const modeSQL = `SELECT string_agg(mode, ' ' ORDER BY mode) FROM pg_locks WHERE relation = 't'::regclass`
	if modes := database.Query(t, modeSQL)[0][0]; !strings.Contains(modes, "ShareRowExclusiveLock") {
		t.Errorf("the locks are %s", modes)
	}
}
