package export_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
	"culvert/source/postgres"
)

// TestPostgresReaders ends exports by several connections in all ways. Whatever happens, the server has none of them
// left in the end.
func TestPostgresReaders(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	const rows = 300_000
	database.Exec(t, "CREATE TABLE t AS SELECT i, repeat('x', 100) AS fill FROM generate_series(1, 300000) AS i")
	const ours = "FROM pg_stat_activity WHERE application_name = 'culvert' AND datname = current_database()"
	kill := func(context.CancelFunc) error {
		// Any of those that are at work. The others are told to stop.
		database.Query(t, "SELECT pg_terminate_backend(pid) "+ours+" AND state = 'active' ORDER BY pid DESC LIMIT 1")
		return nil
	}
	for name, test := range map[string]struct {
		// meanwhile is called by the first write.
		meanwhile func(cancel context.CancelFunc) error
		right     func(error) bool
	}{
		"nothing": {
			func(context.CancelFunc) error { return nil },
			func(err error) bool { return err == nil },
		},
		"killed": {kill, func(err error) bool { return errors.Is(err, source.ErrUnavailable) }},
		"canceled": {
			func(cancel context.CancelFunc) error { cancel(); return nil },
			func(err error) bool { return errors.Is(err, context.Canceled) },
		},
		"full disk": {
			func(context.CancelFunc) error { return errFull },
			func(err error) bool { return errors.Is(err, errFull) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			db, err := postgres.Open(ctx, database.ConnString())
			if err != nil {
				t.Fatal(err)
			}
			once := sync.OnceValue(func() error { return test.meanwhile(cancel) })
			plan := export.Plan{Format: format.JSONL{}, Compression: export.None, Unencrypted: true, Jobs: 4}
			stats, err := plan.Table(ctx, writerFunc(func(p []byte) (int, error) {
				if err := once(); err != nil {
					return 0, err
				}
				return len(p), nil
			}), db, "t")
			if !test.right(err) || stats.Readers != 4 || err == nil && stats.Rows != rows {
				t.Errorf("%+v, error %v", stats, err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			for len(database.Query(t, "SELECT "+ours)) > 0 {
				continue // the server may need a moment to see that we have left
			}
		})
	}
}

// TestPostgresReadersSQLASCII tells no number of a row that is not UTF-8, but where it is.
func TestPostgresReadersSQLASCII(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t, "ENCODING SQL_ASCII TEMPLATE template0 LOCALE 'C'")
	database.Exec(t, `CREATE TABLE t AS
		SELECT CASE i WHEN 250000 THEN E'bad\xff' ELSE repeat('x', 100) END AS fill
		FROM generate_series(1, 300000) AS i`)
	db, err := postgres.Open(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan := export.Plan{Format: format.JSONL{}, Unencrypted: true, Jobs: 3}
	_, err = plan.Table(t.Context(), io.Discard, db, "t")
	invalid, ok := errors.AsType[*format.InvalidUTF8Error](err)
	if !ok || invalid.Row != 0 || invalid.Column != "fill" {
		t.Errorf("error %v", err)
	}
}
