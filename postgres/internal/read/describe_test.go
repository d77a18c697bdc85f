package read_test

import (
	"context"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

func describe(tb testing.TB, db *read.DB) source.Description {
	tb.Helper()
	description, err := db.Describe(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return description
}

func TestDescribe(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t ()")
	before := describe(t, db)
	database.Exec(t, "CREATE TABLE u ()")
	if after := describe(t, db); after != before {
		t.Errorf("the description has changed from %+v to %+v", before, after)
	}
	version, _, _ := strings.Cut(database.Query(t, "SHOW server_version")[0][0], " ")
	if before.System != "PostgreSQL "+version || before.Database != database.Name {
		t.Errorf("description is %+v", before)
	}
	// Transactions of other tests that run meanwhile are in the snapshot, between commas, which CSV quotes.
	rows := query(t, db, "SELECT replace(txid_current_snapshot()::text, ',', '+') AS snapshot")
	if got := encoded(t, rows); got != "snapshot\n"+strings.ReplaceAll(before.Snapshot, ",", "+")+"\n" {
		t.Errorf("snapshot is %q, described as %q", got, before.Snapshot)
	}
	found := database.Query(t, "SELECT '"+before.Position+"'::pg_lsn < pg_current_wal_lsn()")
	if found[0][0] != "t" {
		t.Errorf("position is %q", before.Position)
	}
}

// TestDescribeWithoutRight begins without the position.
func TestDescribeWithoutRight(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	role := database.NewRole(t, "reader", "")
	database.Exec(t, "CREATE TABLE t AS SELECT 1 AS id; GRANT SELECT ON t TO "+role+`;
		REVOKE EXECUTE ON FUNCTION pg_current_wal_lsn() FROM PUBLIC`)
	db := openAgain(t, database.ConnStringAs(role))
	description := describe(t, db)
	if description.Position != "" || description.Snapshot == "" || description.Database != database.Name {
		t.Errorf("description is %+v", description)
	}
	expectCSV(t, func() source.Rows { return table(t, db, "t") }, "id\n1\n")
}
