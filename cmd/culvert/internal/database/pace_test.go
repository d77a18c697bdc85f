package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/internal/testkit"
	"culvert/pace"
	"culvert/source"
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
			if got := database.Paced("t", p); got != "t, waiting while the database is busy" {
				t.Errorf("progress shows %q", got)
			}
			server.exec(t, "UPDATE busy SET is_busy = false")
			if err := <-ended; err != nil {
				t.Error(err)
			}
			for sql, isRight := range map[string]bool{
				"SELECT 0":                         true,
				"SELECT 0.000":                     true,
				"SELECT NULL":                      true,
				"SELECT ''":                        true,
				"SELECT 'off'":                     true,
				"SELECT '0.0'":                     true,
				"SELECT 1e-400":                    true,
				"SELECT 'so so'":                   false,
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

// asked is a server with a statement for --max-load: the only value of the table busy, but for 2 it does not answer.
type asked struct {
	url, sql string
	sessions string // that ask and have no answer
	end      string // ends one of them
	exec     func(testing.TB, string)
	query    func(testing.TB, string) [][]string
}

// TestMaxLoadEnds loses the session that asks: instead of the first answer this is an error, and later it asks again.
// The end of the context ends the wait, and the session.
func TestMaxLoadEnds(t *testing.T) {
	postgres, mariaDB := testkit.Postgres(t).NewDatabase(t), testkit.MariaDB(t).NewDatabase(t)
	for name, server := range map[string]asked{
		"PostgreSQL": {
			"postgres:" + postgres.ConnString(),
			"SELECT CASE state WHEN 2 THEN (pg_sleep(600) IS NULL)::int ELSE state END FROM busy",
			"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND " +
				"query LIKE '%pg_sleep(600) IS%' AND wait_event = 'PgSleep'",
			"SELECT pg_terminate_backend(%s)", postgres.Exec, postgres.Query,
		},
		"MariaDB": {
			mariaDB.URL(), "SELECT CASE state WHEN 2 THEN SLEEP(600) ELSE state END FROM busy",
			"SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User sleep'",
			"KILL %s", mariaDB.Exec, mariaDB.Query,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server.exec(t, "CREATE TABLE busy (state int)")
			server.exec(t, "INSERT INTO busy VALUES (2)")
			_, ended := server.wait(t.Context(), t)
			server.exec(t, fmt.Sprintf(server.end, server.session(t)))
			if err := <-ended; !errors.Is(err, source.ErrUnavailable) {
				t.Errorf("the session that asks first is lost: %v", err)
			}

			server.exec(t, "UPDATE busy SET state = 1")
			p, ended := server.wait(t.Context(), t)
			testkit.WaitFor(t, "a batch to wait", p.Load.IsWaiting)
			server.exec(t, "UPDATE busy SET state = 2")
			session := server.session(t)
			server.exec(t, "UPDATE busy SET state = 0")
			server.exec(t, fmt.Sprintf(server.end, session))
			if err := <-ended; err != nil {
				t.Errorf("a session that asks later is lost: %v", err)
			}

			server.exec(t, "UPDATE busy SET state = 2")
			over := errors.New("over")
			ctx, cancel := context.WithCancelCause(t.Context())
			_, ended = server.wait(ctx, t)
			server.session(t)
			cancel(over)
			if err := <-ended; !errors.Is(err, over) {
				t.Errorf("after the end of the context: %v", err)
			}
			testkit.WaitFor(t, "the session to end", func() bool { return len(server.query(t, server.sessions)) == 0 })
		})
	}
}

// wait has a batch wait, and returns the channel for its error.
func (a asked) wait(ctx context.Context, t *testing.T) (pace.Pace, <-chan error) {
	t.Helper()
	p, err := paced(t, a.url, a.sql)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(ctx, 1, 1) }()
	return p, ended
}

// session returns the session that asks, after it has begun to wait for its answer.
func (a asked) session(t *testing.T) (id string) {
	t.Helper()
	testkit.WaitFor(t, "a session to ask", func() bool {
		sessions := a.query(t, a.sessions)
		if len(sessions) > 0 {
			id = sessions[0][0]
		}
		return id != ""
	})
	return id
}

// TestPaced has progress say what limits rows.
func TestPaced(t *testing.T) {
	var f database.PaceFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(flags, "SOURCE")
	for _, args := range [][]string{nil, {"--rate", "5MB/s"}} {
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		d, err := database.Parse("shop.db")
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Pace(d)
		if err != nil {
			t.Fatal(err)
		}
		want := "orders"
		if args != nil {
			want = "orders, at most 5MB/s"
		}
		if got := database.Paced("orders", p); got != want {
			t.Errorf("%q: progress shows %q", args, got)
		}
	}
}
