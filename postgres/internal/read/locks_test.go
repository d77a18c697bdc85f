package read_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// TestManyTables reads more tables than the server has room to lock, each after all have been looked up, as an export
// of a whole database does. At no time may that take more than half of the locks, beside those on the system's
// catalogs: another client goes on working. CULVERT_TEST_ROUNDS is the number of tables for a server with the locks
// that it has by default.
func TestManyTables(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	const catalogs = 40
	count, room := 100, 20*20
	config := testkit.PostgresConfig{Settings: []string{"max_locks_per_transaction = 20", "max_connections = 20"}}
	if rounds, err := strconv.Atoi(os.Getenv("CULVERT_TEST_ROUNDS")); err == nil {
		count, room, config = rounds, 64*100, testkit.PostgresConfig{}
	}
	read.ShrinkRanges(t)
	database := testkit.NewPostgres(t, config).NewDatabase(t)
	const batch = 40 // tables in one transaction, which has to lock them
	for from := 0; from < count; from += batch {
		database.Exec(t, fmt.Sprintf(`
			DO $do$ BEGIN FOR i IN %d .. %d LOOP
				EXECUTE format('CREATE TABLE t%%s (a int PRIMARY KEY, b int UNIQUE, c int UNIQUE, d int UNIQUE);
					INSERT INTO t%%1$s SELECT i, i, i, i FROM generate_series(1, %%s) AS i', i,
					CASE WHEN i %% 50 = 0 THEN 2000 ELSE 1 END);
			END LOOP; END $do$`, from, min(from+batch, count)-1))
	}
	db := openAgain(t, database.ConnString())
	most := otherClient(t, database, func() {
		for i := range count {
			rows := table(t, db, fmt.Sprint("t", i))
			size(t, rows)
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
		for i := range count {
			name, want, readers := fmt.Sprint("t", i), 1, 1
			if i%50 == 0 {
				want, readers = 2000, 4
			}
			rows := table(t, db, name)
			size(t, rows)
			all, err := rows.(source.Divider).Divide(4)
			if err != nil || len(all) != readers {
				t.Fatalf("%s has %d readers: %v", name, len(all), err)
			}
			lines, err := together(all, func() {})
			if n := len(lines) - 1; n != want || err != nil {
				t.Fatalf("%s: read %d rows of %d: %v", name, n, want, err)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	if bound := room/2 + catalogs; most > bound {
		t.Errorf("held %d locks at a time; the bound is %d", most, bound)
	}
	t.Log("at most", most, "locks")
}

// otherClient works on ten tables at a time, with all their indexes, while something is done, and gives the most locks
// that it saw us hold meanwhile.
func otherClient(t *testing.T, database *testkit.PostgresDatabase, do func()) (most int) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	var work strings.Builder
	work.WriteString("BEGIN;")
	for i := range 10 {
		fmt.Fprintf(&work, "SELECT FROM t%d WHERE a = 1;", i)
	}
	work.WriteString(`SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE application_name = 'culvert' AND locktype = 'relation'; COMMIT`)
	stop, stopped := make(chan struct{}), make(chan error, 1)
	seen := 0
	go func() {
		for {
			results, err := conn.Exec(context.Background(), work.String()).ReadAll()
			if err != nil {
				stopped <- err
				return
			}
			held, err := strconv.Atoi(string(results[11].Rows[0][0]))
			if err != nil {
				stopped <- err
				return
			}
			seen = max(seen, held)
			select {
			case <-stop:
				stopped <- conn.Close(context.Background())
				return
			default:
			}
		}
	}()
	defer func() {
		close(stop)
		if err := <-stopped; err != nil {
			t.Error("another client:", err)
		}
		most = seen
	}()
	do()
	return 0
}
