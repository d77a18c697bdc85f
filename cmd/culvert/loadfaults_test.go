package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
)

// TestLoadFaults pins what becomes of a table if its load is disturbed. Tables of the scripts hold a load up in the
// middle, by a trigger that waits for an advisory lock. The scripts of each directory have a server of their own.
func TestLoadFaults(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, dir := range []string{"testdata/loadfaults", "testdata/loadkilled"} {
		t.Run(filepath.Base(dir), func(t *testing.T) { testLoadFaults(t, dir) })
	}
}

func testLoadFaults(t *testing.T, dir string) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	database := func(ts *testscript.TestScript) *testkit.PostgresDatabase {
		return &testkit.PostgresDatabase{Server: server, Name: ts.Getenv("PGDATABASE")}
	}
	const session = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE " +
		"application_name = 'culvert' AND datname = current_database() AND "
	variables := []string{
		"PGHOST=" + host, "PGPORT=" + port, "PGUSER=postgres", "PGPASSWORD=" + password,
		// SQL for the scripts. UNGUARD ends the session whose lock keeps others from writing.
		"EMPTY=DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM t); END $$",
		`RECORDED=DO $$ BEGIN ASSERT (SELECT count(*) FROM t) = (SELECT coalesce(sum(row_count), 0)
			FROM ledger); END $$`,
		"TERMINATE=" + session + "wait_event = 'advisory'",
		"UNGUARD=" + session + "query LIKE '%IN SHARE MODE'",
		`HOLD=CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM pg_advisory_xact_lock_shared(7); RETURN new; END $$;
			CREATE TRIGGER hold BEFORE INSERT ON t FOR EACH ROW WHEN (new.id = 15000) EXECUTE FUNCTION hold()`,
	}
	variables = append(variables,
		// What a swap must not change, and what it leaves behind when it is killed.
		`AS=DO $$ BEGIN ASSERT (SELECT count(*) FROM t) = 20000; ASSERT has_table_privilege('pump', 't', 'SELECT');
			ASSERT (SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass) = 2;
			ASSERT NOT EXISTS (SELECT FROM pg_class WHERE relname LIKE 'culvert_swap%'); END $$`,
		`LEFT=DO $$ BEGIN ASSERT (SELECT count(*) FROM t) = 20000;
			ASSERT EXISTS (SELECT FROM pg_class WHERE relname LIKE 'culvert_swap%'); END $$`,
		`HOLDROW=CREATE FUNCTION held(id int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
			IF id = 15000 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN true; END $$;
			ALTER TABLE t ADD CHECK (held(id))`,
		// The rows that the table has fit, and a load violates it.
		`FEW=ALTER TABLE t ADD CONSTRAINT few CHECK (id < 19000 OR current_setting('application_name') <> 'culvert')`)
	runScripts(t, dir, variables, map[string]command{
		// sql STATEMENTS runs them in the database of the script.
		"sql": func(ts *testscript.TestScript, _ bool, args []string) {
			for _, statements := range args {
				database(ts).Exec(testOf(ts), statements)
			}
		},
		// gone waits until the server has ended the sessions of commands that have ended.
		"gone": func(ts *testscript.TestScript, _ bool, _ []string) { gone(t, database(ts)) },
		// newdatabase FILE... makes a database in which the SQL of files has been run.
		"newdatabase": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Setenv("PGDATABASE", server.NewDatabase(testOf(ts)).Name)
			for _, file := range args {
				database(ts).Exec(testOf(ts), ts.ReadFile(file))
			}
		},
		// latin1database FILE... makes one in the encoding LATIN1.
		"latin1database": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Setenv("PGDATABASE", server.NewDatabase(testOf(ts), "ENCODING LATIN1", "TEMPLATE template0").Name)
			for _, file := range args {
				database(ts).Exec(testOf(ts), ts.ReadFile(file))
			}
		},
		// midway FILE CODE WHAT COMMAND [ARGUMENT]... does something to a load that is held up: kill its server, INT or
		// KILL it, INT it while a reader keeps its new table for some time, run the command again, which must fail, or
		// run SQL. What it prints goes into FILE.
		"midway": func(ts *testscript.TestScript, _ bool, args []string) {
			midway(t, ts, database(ts), args)
		},
		// during SQL CODE COMMAND [ARGUMENT]... runs a command while a session has run SQL in an open transaction.
		"during": func(ts *testscript.TestScript, neg bool, args []string) {
			conn, err := pgconn.Connect(t.Context(), database(ts).ConnString())
			ts.Check(err)
			defer conn.Close(context.Background())
			ts.Check(conn.Exec(t.Context(), "BEGIN; "+args[0]).Close())
			exit(ts, neg, args[1:])
		},
		// reading SQL COMMAND [ARGUMENT]... runs a command while a session runs SQL again and again. It must return t.
		"reading": func(ts *testscript.TestScript, _ bool, args []string) {
			ctx, cancel := context.WithCancel(t.Context())
			answers := make(chan string, 1)
			go func() { answers <- readAgain(ctx, database(ts), args[0]) }()
			err := ts.Exec(args[1], args[2:]...)
			cancel()
			if wrong := <-answers; wrong != "" {
				ts.Fatalf("%s: %s", args[0], wrong)
			}
			ts.Check(err)
		},
		// smalltablespace NAME makes a tablespace of one megabyte.
		"smalltablespace": func(ts *testscript.TestScript, _ bool, args []string) {
			data := database(ts).Query(testOf(ts), "SHOW data_directory")[0][0]
			directory := filepath.Join(filepath.Dir(data), args[0])
			smallDisk(ts, false, []string{directory})
			ts.Check(exec.Command("chown", "--reference="+data, directory).Run())
			database(ts).Exec(testOf(ts), "CREATE TABLESPACE "+args[0]+" LOCATION '"+directory+"'")
		},
	})
}

// readAgain returns what is wrong with the answers, until the context ends.
func readAgain(ctx context.Context, db *testkit.PostgresDatabase, sql string) string {
	conn, err := pgconn.Connect(context.Background(), db.ConnString())
	if err != nil {
		return err.Error()
	}
	defer conn.Close(context.Background())
	for {
		result := conn.ExecParams(context.Background(), sql, nil, nil, nil, nil).Read()
		switch {
		case result.Err != nil:
			return result.Err.Error()
		case string(result.Rows[0][0]) != "t":
			return "it is not true any more"
		case ctx.Err() != nil:
			return ""
		}
	}
}

// gone waits until the server has no session of the program in a database. One whose program was killed, or whose
// connection was cut, keeps its locks until the server has noticed.
func gone(t *testing.T, db *testkit.PostgresDatabase) {
	testkit.WaitFor(t, "the server to end the sessions of the program", func() bool {
		return db.Query(t, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'culvert'`)[0][0] == "0"
	})
}

// heldUp is true if a session waits for the advisory lock of the tables of scripts.
const heldUp = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND objsubid = 1 AND NOT granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// readSwapped reads the new table of a swap, in a transaction that takes longer than a program is given to end after a
// signal, and so holds up its removal. The returned function waits for its end.
func readSwapped(ts *testscript.TestScript, db *testkit.PostgresDatabase) (wait func()) {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, db.ConnString())
	ts.Check(err)
	ts.Check(conn.Exec(ctx, `BEGIN; DO $$ BEGIN EXECUTE (SELECT 'LOCK TABLE ' || relname || ' IN ACCESS SHARE MODE'
		FROM pg_class WHERE relname LIKE 'culvert_swap%' AND relkind = 'r'); END $$`).Close())
	ended := make(chan error, 1)
	go func() { ended <- conn.Exec(ctx, "SELECT pg_sleep(2); COMMIT").Close() }()
	return func() {
		ts.Check(<-ended)
		ts.Check(conn.Close(ctx))
	}
}

func midway(t *testing.T, ts *testscript.TestScript, db *testkit.PostgresDatabase, args []string) {
	ctx := context.Background()
	holder, err := pgconn.Connect(ctx, db.ConnString())
	ts.Check(err)
	defer holder.Close(ctx)
	ts.Check(holder.Exec(ctx, "SELECT pg_advisory_lock(7)").Close())
	held := func() bool { // asked of the holder, since a new session for each question costs more than the load
		results, err := holder.Exec(ctx, heldUp).ReadAll()
		ts.Check(err)
		return len(results[0].Rows) > 0
	}
	output := during(ts, args[1], held, args[3:], func(process *os.Process) {
		switch args[2] {
		case "kill":
			db.Server.Kill(t)
			return
		case "INT", "read,INT":
			if args[2] != "INT" {
				defer readSwapped(ts, db)()
			}
			ts.Check(process.Signal(os.Interrupt))
			// A load that goes on before it has seen the signal may end well.
			testkit.WaitFor(t, "the load to see the signal", func() bool {
				return errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) || !held()
			})
		case "KILL":
			ts.Check(process.Kill())
		case "again":
			if err := ts.Exec(args[3], args[4:]...); err == nil {
				ts.Fatalf("the same command again does not fail")
			}
		default:
			db.Exec(testOf(ts), args[2])
		}
		ts.Check(holder.Exec(ctx, "SELECT pg_advisory_unlock(7)").Close())
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(output), 0o600))
	if args[2] == "kill" {
		db.Server.Start(t)
	}
	gone(t, db)
	if strings.Contains(output, password) {
		ts.Fatalf("the output has the password")
	}
}
