package export_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/export"
	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/parquet"
	"culvert/internal/testkit"
	"culvert/mysql"
	"culvert/pace"
	"culvert/place/dir"
	"culvert/postgres"
	"culvert/source"
	"culvert/sqlite"
)

// ending is a database with a large table t, and what can end it while it is read.
type ending struct {
	open   func(context.Context) (source.Source, error)
	says   string // in errors: what was read
	faults map[string]func(t *testing.T, cancel func())
	errors map[string]error // of these faults; otherwise source.ErrUnavailable
}

// TestSourceEnds ends what is read in the middle, in each database and each format. Errors say what was read, and where
// from, and nothing is left of its file, whether it has its name or not.
func TestSourceEnds(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ending{
		"PostgreSQL": endingPostgres, "MariaDB": endingMariaDB, "SQLite": endingSQLite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			e.faults["canceled"] = func(_ *testing.T, cancel func()) { cancel() }
			e.errors = maps.Collect(maps.All(e.errors))
			e.errors["canceled"] = context.Canceled
			for fault, happen := range e.faults {
				t.Run(fault, func(t *testing.T) {
					wanted, is := e.errors[fault]
					if !is {
						wanted = source.ErrUnavailable
					}
					e.end(t, happen, wanted)
				})
			}
		})
	}
}

// end exports the table in all formats at the same time, and has something happen when each has rows to write.
func (e *ending) end(t *testing.T, happen func(*testing.T, func()), wanted error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var exports, reading sync.WaitGroup
	happened := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(happened) })
	defer exports.Wait()
	defer goOn()
	for _, f := range []format.Format{
		format.CSV{}, format.JSONL{}, parquet.Format{}, arrow.Format{}, arrow.Format{Stream: true},
	} {
		path := t.TempDir()
		reading.Add(1)
		reads := sync.OnceFunc(reading.Done)
		exports.Go(func() {
			defer reads() // at the latest, so that nobody waits for what has failed before
			err := e.export(ctx, path, f, func() { reads(); <-happened })
			if !errors.Is(err, wanted) || !strings.Contains(err.Error(), e.says) && wanted != context.Canceled ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want %v", f.Extension(), err, wanted)
			}
			if left, err := filepath.Glob(filepath.Join(path, "t.*")); err != nil || len(left) > 0 {
				t.Errorf("%s: %v is left, error %v", f.Extension(), left, err)
			}
		})
	}
	reading.Wait()
	happen(t, cancel)
	goOn()
}

// export exports the table to a directory, by two connections. It calls reads when there are rows to write.
func (e *ending) export(ctx context.Context, path string, f format.Format, reads func()) (err error) {
	to, err := dir.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	src, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	first := sync.OnceFunc(reads)
	plan := export.Plan{
		Format: f, Compression: export.None, Unencrypted: true, Jobs: 2,
		Pace: pace.Pace{Load: pace.NewLoad(func(context.Context) (bool, error) {
			first()
			return false, nil
		})},
	}
	all, err := plan.Tables(ctx, to, src, []string{"t"})
	if _, is := errors.AsType[*export.PartialError](err); is { // the database can still be read
		err = all[0].Err
	}
	return err
}

func endingPostgres(t *testing.T) ending {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t AS SELECT i, repeat('x', 400) AS fill FROM generate_series(1, 150000) AS i")
	return ending{
		open: func(ctx context.Context) (source.Source, error) {
			return postgres.OpenSource(ctx, database.ConnString())
		},
		says: `postgres: table "public.t": `,
		faults: map[string]func(*testing.T, func()){
			"connections ended": func(t *testing.T, _ func()) { database.EndSessions(t, "true") },
			"stopped":           func(t *testing.T, _ func()) { server.Stop(t); server.Start(t) },
			"killed":            func(t *testing.T, _ func()) { server.Kill(t); server.Start(t) },
		},
	}
}

func endingMariaDB(t *testing.T) ending {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY, fill text);"+
		" INSERT INTO t SELECT seq, REPEAT('x', 400) FROM seq_1_to_150000")
	return ending{
		open: func(ctx context.Context) (source.Source, error) { return mysql.OpenSource(ctx, database.URL()) },
		says: `.t"`, // and after how many rows, if the connection that says it first had some
		faults: map[string]func(*testing.T, func()){
			"connections ended": func(t *testing.T, _ func()) { database.KillOthers(t) },
			"stopped":           func(t *testing.T, _ func()) { server.Stop(t); server.Start(t) },
			"killed":            func(t *testing.T, _ func()) { server.Kill(t); server.Start(t) },
		},
	}
}

func endingSQLite(t *testing.T) ending {
	path := filepath.Join(t.TempDir(), "t.db")
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Exec(`CREATE TABLE t (i INTEGER PRIMARY KEY, fill TEXT);
		INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 150000)
			SELECT i, replace(hex(zeroblob(200)), '0', 'x') FROM n`), conn.Close()); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(t *testing.T, data []byte) { // into the file that is open
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err == nil {
			_, err = file.Write(data)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	becomes := func(data []byte) func(*testing.T, func()) {
		return func(t *testing.T, _ func()) {
			t.Cleanup(func() { write(t, sound) })
			write(t, data)
		}
	}
	const page = 4096
	return ending{
		open: func(context.Context) (source.Source, error) {
			return sqlite.OpenSource(path)
		},
		says: "sqlite: " + path + ": ",
		faults: map[string]func(*testing.T, func()){
			"damaged": becomes(append(bytes.Clone(sound[:page]), bytes.Repeat([]byte{0xff}, len(sound)-page)...)),
			"cut":     becomes(sound[:page]),
		},
		errors: map[string]error{"damaged": source.ErrCorrupt, "cut": source.ErrCorrupt},
	}
}
