package export_test

import (
	"bytes"
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

// TestPostgresSnapshot writes to the tables while they are exported, at the first moment at which a file is begun. All
// that is exported is of one moment, before that, also what several connections read.
func TestPostgresSnapshot(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		CREATE TABLE small AS SELECT i FROM generate_series(1, 10) AS i;
		CREATE TABLE large AS SELECT i, repeat('x', 100) AS fill FROM generate_series(1, 300000) AS i;
		CREATE TABLE late AS TABLE small;
		CREATE VIEW broken AS SELECT 1 / (i - 5) AS x FROM small`)
	db, err := postgres.Open(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := sync.OnceFunc(func() {
		database.Exec(t, `DELETE FROM large WHERE i % 2 = 0; DELETE FROM late; INSERT INTO small VALUES (11)`)
	})
	shelf := newShelf()
	files := filesFunc(func(name string) (export.File, error) {
		write()
		return shelf.Create(name)
	})
	plan := export.Plan{Compression: export.None, Unencrypted: true, Jobs: 4, Progress: new(export.Progress)}
	all, err := plan.Tables(t.Context(), files, db, []string{"small", "broken", "large", "late"})
	if partial, ok := errors.AsType[*export.PartialError](err); !ok || partial.Failed != 1 || all[1].Err == nil {
		t.Fatalf("%+v, error %v", all, err)
	}
	for i, want := range []int64{10, 0, 300_000, 10} {
		if all[i].Rows != want {
			t.Errorf("%s: %d rows, want %d", all[i].Name, all[i].Rows, want)
		}
	}
	if all[2].Readers != 4 || all[0].Readers != 1 {
		t.Errorf("%d connections for the large table, %d for a small one", all[2].Readers, all[0].Readers)
	}
	manifest, err := export.ReadManifest(bytes.NewReader(shelf.files[export.ManifestName]))
	if err != nil || manifest.Database != database.Name || manifest.Snapshot == "" || manifest.Position == "" ||
		manifest.Tables[2].Columns[1].Type != "text" {
		t.Errorf("manifest %+v, error %v", manifest, err)
	}
}
