package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/testkit"
)

// examine returns the texts of the checks that are not ok, by their names, and the exit code. The clock of this machine
// is ahead by a time. If a function says that somebody waits for a lock, it is called while a table is read, and the
// time for that is over when it returns true.
func examine(t *testing.T, address string, ahead time.Duration, waits ...func() (bool, error)) (
	map[string]string, int,
) {
	t.Helper()
	e := examinationOf(t, ahead, waits...)
	var err error
	if e.db, err = database.Parse(address); err != nil {
		t.Fatal(err)
	}
	return foundBy(e, e.run(t.Context(), nil))
}

// examineJob is examine for a job file, by its lines without the source and the place.
func examineJob(t *testing.T, address, lines string, waits ...func() (bool, error)) (map[string]string, int) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	file := filepath.Join(dir, "job.yaml")
	text := fmt.Sprintf("from: %q\nto: %q\nno-encrypt: true\n%s", address, filepath.Join(dir, "export"), lines)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &command.App{Console: ui.NewConsole(io.Discard)}
	cmd := New(a)
	if err := cmd.Flags().Set("job", file); err != nil {
		t.Fatal(err)
	}
	e := examinationOf(t, 0, waits...)
	return foundBy(e, e.job(t.Context(), a, cmd, nil))
}

func examinationOf(t *testing.T, ahead time.Duration, waits ...func() (bool, error)) *examination {
	t.Helper()
	limit := func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		var watching sync.WaitGroup
		for _, waits := range waits {
			watching.Go(func() {
				for ctx.Err() == nil {
					is, err := waits()
					if err != nil {
						t.Error(err)
					}
					if is || err != nil {
						cancel(errLocked)
					}
				}
			})
		}
		return ctx, func() {
			cancel(nil)
			watching.Wait()
		}
	}
	return &examination{
		Report: &Report{}, limit: limit, now: func() time.Time { return time.Now().Add(ahead) },
	}
}

func foundBy(e *examination, err error) (map[string]string, int) {
	found := map[string]string{}
	for _, c := range e.Checks {
		if c.Result != okResult {
			found[c.Name] += c.Result + ": " + c.Text + "\n"
		}
	}
	return found, command.ExitCode(err)
}

// expect compares what was found with the beginnings of the texts, by their names.
func expect(t *testing.T, found map[string]string, want ...string) {
	t.Helper()
	for name, text := range found {
		if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(name+" "+text, w) }) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d checks have found something, want %d: %q", len(found), len(want), found)
	}
}

func TestPostgres(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, "CREATE TABLE t (i int); CREATE TABLE u (i int)")
	role := db.NewRole(t, "reader", "CONNECTION LIMIT 1")
	db.Exec(t, "GRANT SELECT ON t TO "+role)
	found, code := examine(t, "postgres:"+db.ConnStringAs(role), -time.Hour)
	expect(t, found, "clock warning: the server is 3600 seconds ahead",
		`tables failed: public.u: ERROR: permission denied`,
		"snapshot warning: only one connection can read it: ", "schema warning: only the tables")
	if code != command.ExitPartly {
		t.Errorf("code %d", code)
	}

	other, err := pgconn.Connect(t.Context(), db.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := other.Exec(t.Context(), "BEGIN; LOCK TABLE u").Close(); err != nil {
		t.Fatal(err)
	}
	waits := func() (bool, error) {
		waiting := other.ExecParams(t.Context(), "SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database "+
			"WHERE d.datname = current_database() AND NOT l.granted", nil, nil, nil, nil).Read()
		return len(waiting.Rows) > 0, waiting.Err
	}
	found, code = examine(t, "postgres:"+db.ConnString(), 0, waits)
	expect(t, found, "locks warning: an export would wait, since others have locked or wait to change: public.u",
		"schema warning: not checked")
	if code != command.ExitDone {
		t.Errorf("code %d", code)
	}
	expectLocked(t, "postgres:"+db.ConnString(), "public.u", waits)
}

// expectLocked examines jobs while a table is locked, for which none of the checks may wait.
func expectLocked(t *testing.T, address, locked string, waits func() (bool, error)) {
	t.Helper()
	plain := []string{"keys warning: the files would not be encrypted", "author warning: "}
	found, code := examineJob(t, address, "tables: {include: [t]}\n", waits)
	expect(t, found, append(plain, "patterns warning: "+tooLong)...)
	if code != command.ExitDone {
		t.Errorf("code %d", code)
	}
	found, code = examineJob(t, address, "format: parquet\nbloom: [i]\nmask: {t.i: drop}\n", waits)
	expect(t, found, append(plain, "locks warning: an export would wait, since others have locked or wait to change: "+
		locked, "masks warning: "+notChecked, "bloom warning: "+notChecked, "schema warning: "+notChecked)...)
	if code != command.ExitDone {
		t.Errorf("code %d", code)
	}
}

func TestPostgresStandby(t *testing.T) {
	settings := []string{"wal_level = replica", "max_wal_senders = 4", "max_standby_streaming_delay = 30s"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	standby := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	found, code := examine(t, "postgres:"+standby.ConnString("postgres"), 0)
	expect(t, found, "standby warning: this is a standby", "tables warning: there are none",
		"schema warning: left out: the comment of the database")
	if code != command.ExitDone {
		t.Errorf("code %d", code)
	}
}

func TestPostgresPooler(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, "CREATE TABLE t (i int)")
	found, code := examine(t, "postgres:"+testkit.PgBouncer(t, db, "transaction"), 0)
	expect(t, found, "snapshot warning: only one connection can read it: ",
		"schema warning: only the tables and what they need could be exported: no schema: pg_dump cannot")
	if code != command.ExitDone {
		t.Errorf("code %d", code)
	}
}

func TestMySQL(t *testing.T) {
	server := testkit.MariaDB(t)
	db := server.NewDatabase(t)
	db.Exec(t, "CREATE TABLE t (i int) ENGINE=InnoDB; CREATE TABLE u (i int) ENGINE=MyISAM")
	reader := "reader_" + db.Name
	db.Exec(t, "CREATE USER "+reader+"@localhost; GRANT SELECT ON "+db.Name+".u TO "+reader+"@localhost;"+
		"GRANT INSERT ON "+db.Name+".t TO "+reader+"@localhost")
	t.Cleanup(func() { db.Exec(t, "DROP USER "+reader+"@localhost") })
	found, code := examine(t, strings.Replace(db.URL(), "root@", reader+"@", 1), time.Hour)
	expect(t, found, "clock warning: the server is 3600 seconds behind", "tables failed: t: ",
		"snapshot warning: these tables are in none, so their rows are those of when each is read: u\n"+
			"warning: only one connection can read it: several connections begin under a lock, which the user may not "+
			"take: GRANT RELOAD ON *.* TO ",
		"schema warning: left out: triggers")
	if code != command.ExitPartly {
		t.Errorf("code %d", code)
	}

	pool, err := sql.Open("mysql", "root@unix("+server.SocketPath()+")/"+db.Name)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(other.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, err := other.ExecContext(t.Context(), "LOCK TABLES u WRITE"); err != nil {
		t.Fatal(err)
	}
	waits := func() (waiting bool, err error) {
		err = other.QueryRowContext(t.Context(), "SELECT count(*) > 0 FROM information_schema.processlist "+
			"WHERE db = ? AND state LIKE 'Waiting for table%lock'", db.Name).Scan(&waiting)
		return waiting, err
	}
	found, code = examine(t, db.URL(), 0, waits)
	expect(t, found, "locks warning: an export would wait, since others have locked or wait to change: u",
		"schema warning: not checked")
	if code != command.ExitDone {
		t.Errorf("code %d", code)
	}
	expectLocked(t, db.URL(), "u", waits)
}
