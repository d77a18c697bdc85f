package read_test

import (
	"context"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
)

// TestLockRefusesChanges has another session change a table between the snapshots, and after them.
func TestLockRefusesChanges(t *testing.T) {
	database := testkit.NewMariaDB(t, testkit.MariaDBConfig{}).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY) ENGINE InnoDB")
	read.UnderLock(t, func(context.Context, int64) {
		err := database.Try("SET SESSION lock_wait_timeout = 1; ALTER TABLE t ADD COLUMN c int")
		if err == nil || !strings.Contains(err.Error(), "Lock wait timeout exceeded") {
			t.Errorf("a change between the snapshots: %v", err)
		}
	})
	db := openTogether(t, database.URL(), 3)
	database.Exec(t, "ALTER TABLE t ADD COLUMN c int")
	closeNow(t, db)
}

// TestLockWaitsForChanges opens a database while a table is being changed. Nobody who writes waits for that.
func TestLockWaitsForChanges(t *testing.T) {
	if testkit.MySQL() == "" {
		t.Skip("only MySQL has LOCK INSTANCE")
	}
	database := testkit.NewMariaDB(t, testkit.MariaDBConfig{}).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY); CREATE TABLE u (i int PRIMARY KEY)")
	release := hold(t, database, "SELECT * FROM t")
	waits := func(state string) func() bool {
		return func() bool {
			return database.Query(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '"+state+
				"'")[0][0] != "0"
		}
	}
	altered := make(chan error)
	go func() { altered <- database.Try("ALTER TABLE t ADD COLUMN c int") }()
	testkit.WaitFor(t, "the change to wait", waits("Waiting for table metadata lock"))
	opened := make(chan *read.DB)
	go func() {
		db, err := read.Config{Connections: 3, LockWait: patience}.Open(context.Background(), database.URL())
		if err != nil {
			t.Error(err)
		}
		opened <- db
	}()
	testkit.WaitFor(t, "the lock to wait for the change", waits("Waiting for backup lock"))
	database.Exec(t, "INSERT INTO u VALUES (1)")
	release()
	if err := <-altered; err != nil {
		t.Error(err)
	}
	db := <-opened
	if db == nil {
		return
	}
	if moment := db.Moment(); moment.Connections != 3 {
		t.Errorf("%+v", moment)
	}
	expectRows(t, query(t, db, "SELECT * FROM u"), 1)
	closeNow(t, db)
}
