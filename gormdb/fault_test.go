package gormdb_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"culvert/export"
	"culvert/format"
	"culvert/gormdb"
	"culvert/source"
)

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		db := open(&gorm.Config{})
		createTasks(t, db)
		dry := db.Session(&gorm.Session{DryRun: true})
		failed := db.Model(&task{})
		if err := failed.AddError(broken); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			query *gorm.DB
			want  string
		}{
			"none":            {nil, "the query is nil"},
			"error before":    {failed, "broken"},
			"error in scope":  {db.Table("tasks").Scopes(failing(broken)), "broken"},
			"unknown table":   {db.Table("taks"), "taks"},
			"unknown column":  {db.Model(&task{}).Where("dnoe"), "dnoe"},
			"not a model":     {db.Model(7), "unsupported data type"},
			"nothing":         {db, ""},
			"not SQL":         {db.Raw("SELEC 1"), "SELEC"},
			"without rows":    {db.Raw("DELETE FROM tasks WHERE FALSE"), "returns no rows"},
			"dry run":         {dry.Table("tasks"), gorm.ErrDryRunModeUnsupported.Error()},
			"wrong arguments": {db.Raw("SELECT id FROM tasks WHERE id = 1", 1, 2), ""},
		} {
			var out bytes.Buffer
			plan := export.Plan{Unencrypted: true}
			_, err := plan.Rows(t.Context(), &out, gormdb.Query(test.query))
			if err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
				t.Errorf("%s: error %v after %d bytes, want %q before the first", name, err, out.Len(), test.want)
			}
		}
		expectCSV(t, db.Table("tasks").Select("COUNT(*) AS n"), "n\n4\n")
	})
}

func failing(err error) func(*gorm.DB) *gorm.DB {
	return func(db *gorm.DB) *gorm.DB {
		_ = db.AddError(err)
		return db
	}
}

// TestErrorBesideRows: a plugin may fail after the query has begun.
func TestErrorBesideRows(t *testing.T) {
	db := sqliteDB(t, &gorm.Config{})
	broken := errors.New("broken")
	plugin := func(db *gorm.DB) { _ = db.AddError(broken) }
	if err := db.Callback().Row().After("gorm:row").Register("test", plugin); err != nil {
		t.Fatal(err)
	}
	if _, err := gormdb.Query(db.Raw("SELECT 1"))(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got the error %v, want that of the plugin", err)
	}
}

func TestFailingQuery(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		query := map[string]string{
			"postgres": "SELECT 1 / (100000 - i) FROM generate_series(1, 200000) i",
			"sqlite": "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 200000)" +
				" SELECT CASE i WHEN 199999 THEN abs(-9223372036854775807 - 1) ELSE i END FROM n",
		}
		db := open(&gorm.Config{})
		if _, err := text(t.Context(), format.CSV{}, gormdb.Query(db.Raw(query[db.Name()]))); err == nil {
			t.Error("a query that fails in the middle gave no error")
		}
	})
}

func TestUnavailable(t *testing.T) {
	db := postgresDB(t, "host=/nonexistent user=nobody", &gorm.Config{DisableAutomaticPing: true})
	if _, err := gormdb.Query(db.Table("t"))(t.Context()); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("a server that is not there: %v, want source.ErrUnavailable", err)
	}
	closed := sqliteDB(t, &gorm.Config{})
	closeDB(t, closed)
	if _, err := gormdb.Query(closed.Table("t"))(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed database: %v", err)
	}
}

// endless returns rows without end, and stalled one or two and then none for ever.
func endless(db *gorm.DB) *gorm.DB {
	if db.Name() == "sqlite" {
		return db.Raw("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
	}
	return db.Raw("SELECT generate_series(1, 1000000000000) AS i")
}

func stalled(db *gorm.DB) *gorm.DB {
	if db.Name() == "sqlite" {
		return db.Raw("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i = 1")
	}
	// Rows longer than what the server gathers before it sends.
	return db.Raw("SELECT repeat('x', 20000), CASE i WHEN 3 THEN pg_sleep(3600)::text END" +
		" FROM (SELECT generate_series(1, 3) AS i) n")
}

func TestCancel(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		for _, config := range []*gorm.Config{{}, {PrepareStmt: true}} {
			db := open(config)
			ctx, cancel := context.WithCancel(t.Context())
			rows, err := gormdb.Query(endless(db))(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var b source.Batch
			if err := rows.Next(&b); err != nil {
				t.Error(err)
			}
			cancel()
			for range 2 {
				if err := rows.Next(&b); !errors.Is(err, context.Canceled) {
					t.Errorf("canceled in the middle: %v", err)
				}
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
			if _, err := gormdb.Query(endless(db))(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled before: %v", err)
			}
			expectCSV(t, db.Raw("SELECT 1 AS a"), "a\n1\n")
		}
	})
}

// TestTimeout has GORM's own limit end a query that gives nothing.
func TestTimeout(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		db := open(&gorm.Config{DefaultContextTimeout: 50 * time.Millisecond})
		if _, err := text(t.Context(), format.CSV{}, gormdb.Query(stalled(db))); err == nil {
			t.Error("a query that stalls gave no error") // which one is the driver's choice
		}
	})
}

// fullDisk takes no byte.
type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestSinkFails has the file fail while the database gives rows, and while it gives none.
func TestSinkFails(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		db := open(&gorm.Config{})
		for _, query := range []*gorm.DB{endless(db), stalled(db)} {
			plan := export.Plan{Unencrypted: true, Compression: export.None}
			_, err := plan.Rows(t.Context(), fullDisk{}, gormdb.Query(query))
			if !errors.Is(err, errFull) {
				t.Errorf("got the error %v, want that of the file", err)
			}
		}
	})
}
