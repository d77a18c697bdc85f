package postgres_test

import (
	"context"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/sink"
	"culvert/sink/sinktest"
	"culvert/source"
)

func TestRestore(t *testing.T) {
	server := testkit.Postgres(t)
	own := server.NewDatabase(t)
	own.Exec(t, everything(t))
	open := func(t *testing.T, database *testkit.PostgresDatabase) source.Source {
		src, err := postgres.OpenSource(context.Background(), database.ConnString())
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	sinktest.Restore(t, sinktest.Restoring{
		Source: func(t *testing.T) source.Source { return open(t, own) },
		Dump:   dump(t, own),
		Fails:  "CREATE VIEW public.fails AS SELECT * FROM public.missing",
		Mends:  []string{"CREATE TABLE public.missing (id int)"},
		Undo:   []string{"DROP VIEW public.fails", "DROP TABLE public.missing"},
		Refused: []string{
			"DROP TABLE orders", "CREATE ROLE r", "ALTER SYSTEM SET port = 1", "SELECT pg_sleep(9)",
			"CREATE  ROLE r", "CREATE role r", "CREATE /**/ROLE r", "ALTER/**/ROLE r SUPERUSER", "GRANT r TO postgres",
		},
		New: func(t *testing.T) sinktest.Restored {
			database := server.NewDatabase(t)
			return sinktest.Restored{
				Open: func(t *testing.T) sink.Sink {
					db, err := postgres.OpenSink(context.Background(), database.ConnString())
					if err != nil {
						t.Fatal(err)
					}
					return db
				},
				Source: func(t *testing.T) source.Source { return open(t, database) },
				Exec:   func(t *testing.T, sql string) { database.Exec(t, sql) },
				Dump:   func(t *testing.T) string { return dump(t, database) },
			}
		},
	})
}
