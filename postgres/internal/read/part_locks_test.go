package read_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// partsBehindChange cuts a table that a change waits for then.
func partsBehindChange(t *testing.T, sql, change string) (
	db *read.DB, parts []source.Part, pid string, changed <-chan struct{},
) {
	t.Helper()
	db, database := openNew(t, sql)
	parts, err := db.Parts(t.Context(), "t", source.Selection{}, 64<<10)
	if err != nil || len(parts) < 2 {
		t.Fatalf("%d parts: %v", len(parts), err)
	}
	changed = behind(t, database, "t", change)
	waiting := database.Query(t, "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 't'::regclass")
	return db, parts, waiting[0][0], changed
}

// TestPartBehindChange has a change of the table wait for the session that has cut it. The others do not wait for the
// change for ever, since it waits for the end of all of them; and the first one reads all parts.
func TestPartBehindChange(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShortenLockTimeouts(t)
	for _, change := range []string{"ALTER TABLE t ADD late int", "DROP TABLE t"} {
		db, parts, pid, changed := partsBehindChange(t,
			"CREATE TABLE t AS SELECT generate_series(1, 5000) AS id; CREATE TABLE other AS TABLE t", change)
		another, err := db.Join(t.Context(), parts[0].Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		joined := another.(*read.DB)
		for range 2 {
			_, err := joined.Part(t.Context(), parts[1])
			if want := "process " + pid + " waits to change it"; !errors.Is(source.Redacted(err), source.ErrLocked) ||
				!strings.Contains(err.Error(), `table "public.t"`) || !strings.Contains(err.Error(), want) {
				t.Errorf("behind %s: %v, want %s", change, err, want)
			}
		}
		if n, err := drain(table(t, joined, "other")); n != 5000 || err != io.EOF {
			t.Errorf("then another table has %d rows, error %v", n, err)
		}
		total := 0
		for _, part := range parts {
			rows, err := db.Part(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			n, err := drain(rows)
			if total += n; err != io.EOF {
				t.Error(err)
			}
		}
		if total != 5000 {
			t.Errorf("behind %s, the first session reads %d rows", change, total)
		}
		for _, src := range []source.Source{joined, db} {
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
		<-changed
	}
}
