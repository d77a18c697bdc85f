package load_test

import (
	"slices"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
)

// TestDatabaseBehindPooler makes a database through a pooler that has a single connection to the server. So there is
// none that could keep other loads out, and transactions follow one another.
func TestDatabaseBehindPooler(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	database.Exec(t, shop)
	from, want := exportDatabase(t, database, 0), dumped(t, database)
	for _, loaders := range []int{1, 3} {
		again := server.NewDatabase(t)
		pooler := testkit.PgBouncer(t, again, "transaction", "default_pool_size = 1")
		dst, err := postgres.OpenSink(t.Context(), pooler)
		if err != nil {
			t.Fatal(err)
		}
		plan := load.Plan{Loaders: loaders}
		plan.Filling.LockTimeout = 100 * time.Millisecond
		_, err = plan.Database(t.Context(), dst, from, "a load")
		if closing(t, dst); err != nil {
			t.Fatal(err)
		}
		if got := dumped(t, again); !slices.Equal(got, want) {
			t.Errorf("with %d loaders, the database is another one", loaders)
		}
	}
}
