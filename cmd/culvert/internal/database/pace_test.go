package database_test

import (
	"testing"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/internal/testkit"
	"culvert/pace"
)

// paced returns what --max-load says of a database.
func paced(t *testing.T, address, sql string) (pace.Pace, error) {
	t.Helper()
	d, err := database.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var f database.PaceFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(flags, "SOURCE")
	if err := flags.Parse([]string{"--max-load", sql}); err != nil {
		t.Fatal(err)
	}
	return f.Pace(d)
}

// TestMaxLoad waits while a statement says true, which it is asked anew each time.
func TestMaxLoad(t *testing.T) {
	postgres, mariaDB := testkit.Postgres(t).NewDatabase(t), testkit.MariaDB(t).NewDatabase(t)
	for name, server := range map[string]struct {
		url  string
		exec func(testing.TB, string)
	}{"PostgreSQL": {"postgres:" + postgres.ConnString(), postgres.Exec}, "MariaDB": {mariaDB.URL(), mariaDB.Exec}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server.exec(t, "CREATE TABLE busy (is_busy boolean)")
			server.exec(t, "INSERT INTO busy VALUES (true)")
			p, err := paced(t, server.url, "SELECT is_busy FROM busy")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() { ended <- p.Wait(t.Context(), 1, 1) }()
			testkit.WaitFor(t, "a batch to wait", p.Load.IsWaiting)
			server.exec(t, "UPDATE busy SET is_busy = false")
			if err := <-ended; err != nil {
				t.Error(err)
			}
			for sql, isRight := range map[string]bool{
				"SELECT 0":                         true,
				"SELECT 0.000":                     true,
				"SELECT NULL":                      true,
				"SELECT ''":                        true,
				"SELECT count(*) > 5 FROM busy":    true,
				"SELECT 0, 0":                      false,
				"SELECT 0 FROM busy WHERE is_busy": false,
				"SELECT 0 UNION ALL SELECT 0":      false,
				"SELECT nothing":                   false,
			} {
				p, err := paced(t, server.url, sql)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Wait(t.Context(), 1, 1); (err == nil) != isRight {
					t.Errorf("%s: %v", sql, err)
				}
			}
		})
	}
	if _, err := paced(t, "shop.db", "SELECT 0"); command.ExitCode(err) != 4 {
		t.Errorf("SQLite is asked: %v", err)
	}
}
