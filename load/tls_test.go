package load_test

import (
	"fmt"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
)

// TestTLS copies and loads between databases of a server that accepts TLS. Each row says over what it was read, and
// over what it was written.
func TestTLS(t *testing.T) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: "hunter22", TLS: true})
	secure := `CREATE FUNCTION secure() RETURNS text LANGUAGE sql AS
		'SELECT ssl::text FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()'; `
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, secure+`CREATE VIEW rows AS SELECT i, secure() AS read, repeat('x', 1000) AS v
		FROM generate_series(1, 4000) AS i`)
	to.Exec(t, secure+`CREATE TABLE rows (i int, read text, v text, written text DEFAULT secure())`)
	urlOf := func(database *testkit.PostgresDatabase, mode string) string {
		return fmt.Sprintf("postgres://postgres:hunter22@%s/%s%s", server.Address(t), database.Name, mode)
	}
	for mode, want := range map[string]string{
		"": "true", "?sslmode=require": "true", "?sslmode=verify-full&sslrootcert=" + server.CAFile(): "true",
		"?sslmode=disable": "false",
	} {
		src, err := postgres.OpenSource(t.Context(), urlOf(from, mode))
		if err != nil {
			t.Fatal(mode, err)
		}
		defer closing(t, src)
		dst, err := postgres.OpenSink(t.Context(), urlOf(to, mode))
		if err != nil {
			t.Fatal(mode, err)
		}
		defer closing(t, dst)
		backup := newBackupOf(t, src, export.Plan{}, 0, "rows")
		plan := load.Plan{Loaders: 3}
		for _, fill := range []func() error{
			func() error {
				_, err := plan.Copy(t.Context(), dst, src, "rows", "rows")
				return err
			},
			func() error {
				_, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
				return err
			},
		} {
			to.Exec(t, "TRUNCATE rows")
			if err := fill(); err != nil {
				t.Fatal(mode, err)
			}
			found := to.Query(t, "SELECT DISTINCT read, written FROM rows")
			if got := fmt.Sprint(found); got != fmt.Sprintf("[[%s %s]]", want, want) {
				t.Errorf("%q: rows were read and written over TLS: %s, want %s", mode, got, want)
			}
		}
	}
}
