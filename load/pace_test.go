package load_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/pace"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

// TestEndsWhileWaiting ends a load that waits while the database is busy: by its context, by the failure of what says
// that it is busy, and by the loss of its connections, which it notices when it goes on. No row is left.
func TestEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	onPostgres, onMariaDB := testkit.Postgres(t).NewDatabase(t), testkit.MariaDB(t).NewDatabase(t)
	path := t.TempDir() + "/t.db"
	execSQLite(t, path, "CREATE TABLE t (id integer)")
	onPostgres.Exec(t, "CREATE TABLE t (id integer)")
	onMariaDB.Exec(t, "CREATE TABLE t (id integer)")
	for name, test := range map[string]struct {
		open     func(context.Context) (sink.Sink, error)
		rows     func() int
		sessions func() [][]string // of the load; nil if there are none
		end      func(session string)
	}{
		"postgres": {
			func(ctx context.Context) (sink.Sink, error) { return postgres.OpenSink(ctx, onPostgres.ConnString()) },
			func() int { return len(onPostgres.Query(t, "TABLE t")) },
			func() [][]string {
				return onPostgres.Query(t, "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "+
					"AND pid <> pg_backend_pid() AND backend_type = 'client backend'")
			},
			func(session string) { onPostgres.Exec(t, "SELECT pg_terminate_backend("+session+")") },
		},
		"mariadb": {
			func(ctx context.Context) (sink.Sink, error) { return mysql.OpenSink(ctx, onMariaDB.URL()) },
			func() int { return len(onMariaDB.Query(t, "SELECT id FROM t")) },
			func() [][]string {
				return onMariaDB.Query(t, "SELECT id FROM information_schema.processlist "+
					"WHERE db = DATABASE() AND id <> CONNECTION_ID()")
			},
			func(session string) { _ = onMariaDB.Try("KILL " + session) }, // it may have ended meanwhile
		},
		"sqlite": {
			func(context.Context) (sink.Sink, error) { return sqlite.OpenSink(path) },
			func() int { return len(csvOf(t, openSQLite(t, path), "t")) },
			nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			over := errors.New("over")
			wrong := errors.New("the statement fails")
			for how, want := range map[string]error{
				"context": over, "connections": source.ErrUnavailable, "statement": wrong,
			} {
				if how == "connections" && test.sessions == nil {
					continue
				}
				var isBusy atomic.Bool
				isBusy.Store(true)
				var failure atomic.Pointer[error]
				plan := load.Plan{Pace: pace.Pace{Load: pace.NewLoad(func(context.Context) (bool, error) {
					if err := failure.Load(); err != nil {
						return false, *err
					}
					return isBusy.Load(), nil
				})}}
				ctx, cancel := context.WithCancelCause(t.Context())
				dst, err := test.open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					text := strings.NewReader("id\n" + strings.Repeat("1\n", 10_000))
					_, err := plan.Text(ctx, dst, text, "x.csv", format.CSV{}, "t")
					ended <- err
				}()
				testkit.WaitFor(t, "a block to wait", plan.Pace.Load.IsWaiting)
				switch how {
				case "context":
					cancel(over)
				case "statement":
					failure.Store(&wrong)
				default:
					for _, row := range test.sessions() {
						test.end(row[0])
					}
					testkit.WaitFor(t, "the sessions to end", func() bool { return len(test.sessions()) == 0 })
					isBusy.Store(false)
				}
				if err := <-ended; !errors.Is(err, want) {
					t.Errorf("%s: %v", how, err)
				}
				cancel(nil)
				_ = dst.Close() // whose connections may be lost
				if rows := test.rows(); rows > 0 {
					t.Errorf("%s: %d rows are left", how, rows)
				}
			}
		})
	}
}
