package postgres_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// restore makes a database of a schema.
func restore(t *testing.T, to *testkit.PostgresDatabase, schema *source.Schema) error {
	t.Helper()
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	restoration, err := dst.Restore(t.Context(), "a load", schema, sink.Filling{})
	if err == nil {
		err = restoration.Finish(t.Context(), 2)
	}
	return errors.Join(err, dst.Close())
}

// TestSchemaGuarded has an event trigger that refuses all further statements, and a view that is filled before that.
func TestSchemaGuarded(t *testing.T) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, `CREATE TABLE t (a int PRIMARY KEY); CREATE MATERIALIZED VIEW m AS SELECT count(*) FROM t;
		COMMENT ON TABLE t IS 'a table'; CREATE SEQUENCE s;
		CREATE FUNCTION frozen() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'frozen'; END $$;
		CREATE EVENT TRIGGER frozen ON ddl_command_start EXECUTE FUNCTION frozen();`)
	if err := restore(t, to, schemaOf(t, from)); err != nil {
		t.Fatal(err)
	}
	if want, got := dump(t, from), dump(t, to); want != got {
		t.Errorf("the schema\n%s\nbecomes\n%s", want, got)
	}
}

// TestSchemaGrants has rights that somebody else than the owner has granted.
func TestSchemaGrants(t *testing.T) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	owner, other := from.NewRole(t, "owner", ""), from.NewRole(t, "other", "")
	from.Exec(t, `CREATE TABLE t (a int); ALTER TABLE t OWNER TO `+owner+`;
		GRANT SELECT ON t TO `+other+` WITH GRANT OPTION; SET SESSION AUTHORIZATION `+other+`;
		GRANT SELECT ON t TO PUBLIC; RESET SESSION AUTHORIZATION;
		ALTER DEFAULT PRIVILEGES FOR ROLE `+owner+` GRANT SELECT ON TABLES TO `+other)
	t.Cleanup(func() { // before the roles are dropped
		for _, database := range []*testkit.PostgresDatabase{from, to} {
			database.Exec(t, `DROP OWNED BY `+owner+` CASCADE; DROP OWNED BY `+other+` CASCADE`)
		}
	})
	if err := restore(t, to, schemaOf(t, from)); err != nil {
		t.Fatal(err)
	}
	if want, got := dump(t, from), dump(t, to); want != got {
		t.Errorf("the schema\n%s\nbecomes\n%s", want, got)
	}
}

// TestSchemaCanceled ends the reading of a schema that waits for a lock. Nothing of it stays in the server.
func TestSchemaCanceled(t *testing.T) {
	sockets := t.TempDir()
	t.Setenv("TMPDIR", sockets)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE t (a int)`)
	lock := database.PsqlCommand(t, "-c", "BEGIN; LOCK TABLE t; SELECT pg_sleep(600)")
	if err := lock.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		database.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		_ = lock.Wait() // it was ended
	}()
	waiting := func() int {
		return len(database.Query(t, `SELECT pid FROM pg_locks WHERE relation = 't'::regclass AND NOT granted`))
	}
	testkit.WaitFor(t, "the lock", func() bool {
		return len(database.Query(t, `SELECT 1 FROM pg_locks WHERE relation = 't'::regclass AND granted`)) > 0
	})
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		testkit.WaitFor(t, "pg_dump to wait", func() bool { return waiting() == 1 })
		if left, err := os.ReadDir(sockets); err != nil || len(left) > 0 {
			t.Errorf("a process that is killed would leave %v, error %v", left, err)
		}
		cancel()
	}()
	if _, err := src.Schema(ctx, source.SchemaConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	testkit.WaitFor(t, "the sessions to end", func() bool { return waiting() == 0 })
}

// TestSchemaConnections reads a schema as a role that may have few connections.
func TestSchemaConnections(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	for limit, want := range map[string]bool{"1": false, "2": true, "3": true} {
		role := database.NewRole(t, "few"+limit, "CONNECTION LIMIT "+limit)
		src, err := postgres.OpenSource(t.Context(), database.ConnStringAs(role))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := src.Schema(t.Context(), source.SchemaConfig{})
		if (err == nil) != want {
			t.Errorf("with %s: error %v", limit, err)
		}
		if none, is := errors.AsType[*source.NoSchemaError](err); err != nil && !is {
			t.Errorf("with %s: %v, %v", limit, err, none)
		}
		if err == nil && !strings.HasPrefix(schema.By, "pg_dump ") {
			t.Errorf("with %s: the schema is by %q", limit, schema.By)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
