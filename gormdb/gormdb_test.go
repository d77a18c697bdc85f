package gormdb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"culvert/export"
	"culvert/format"
	"culvert/gormdb"
	"culvert/internal/testkit"
	"culvert/source"
)

func TestMain(m *testing.M) {
	// GORM never ends what looks after its prepared statements.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}

// sqliteDB makes an empty SQLite database. At the end, no connection may be in use.
func sqliteDB(t *testing.T, config *gorm.Config) *gorm.DB {
	t.Helper()
	config.Logger = logger.Discard
	db, err := openSQLite(filepath.Join(t.TempDir(), "test.db"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	return db
}

// postgresDB opens a PostgreSQL database as users of GORM do. At the end, no connection may be in use.
func postgresDB(t *testing.T, connString string, config *gorm.Config) *gorm.DB {
	t.Helper()
	config.Logger = logger.Discard
	db, err := gorm.Open(postgres.Open(connString), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeDB(t, db) })
	return db
}

// onEach runs a test on an empty database of each kind.
func onEach(t *testing.T, test func(t *testing.T, open func(*gorm.Config) *gorm.DB)) {
	t.Run("SQLite", func(t *testing.T) {
		test(t, func(config *gorm.Config) *gorm.DB { return sqliteDB(t, config) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		server := testkit.Postgres(t).NewDatabase(t)
		test(t, func(config *gorm.Config) *gorm.DB { return postgresDB(t, server.ConnString(), config) })
	})
}

func closeDB(t *testing.T, db *gorm.DB) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	if n := pool.Stats().InUse; n > 0 {
		t.Errorf("%d connections are still in use", n)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

func execute(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatalf("%.200s: %v", statement, err)
		}
	}
}

// text exports rows as they are formatted.
func text(ctx context.Context, f format.Format, open func(context.Context) (source.Rows, error)) (string, error) {
	var out bytes.Buffer
	plan := export.Plan{Format: f, Compression: export.None, Unencrypted: true}
	_, err := plan.Rows(ctx, &out, open)
	return out.String(), err
}

func expectCSV(t *testing.T, query *gorm.DB, want string) {
	t.Helper()
	if got, err := text(t.Context(), format.CSV{}, gormdb.Query(query)); err != nil || got != want {
		t.Errorf("got %q and the error %v, want %q", got, err, want)
	}
}

type company struct {
	ID   int
	Name string
}

type task struct {
	ID        int
	Title     *string
	Done      bool
	CompanyID int
	Company   company
	DeletedAt gorm.DeletedAt
}

// AfterFind must not be called.
func (t *task) AfterFind(*gorm.DB) error { return errors.New("a hook was called") }

func createTasks(t *testing.T, db *gorm.DB) {
	t.Helper()
	execute(
		t, db,
		"CREATE TABLE companies (id integer, name text)",
		"INSERT INTO companies VALUES (1, 'Acme'), (2, '')",
		"CREATE TABLE tasks (id integer, title text, done boolean, company_id integer, deleted_at timestamp,"+
			" extra text)",
		`INSERT INTO tasks VALUES (1, 'one, "quoted"', TRUE, 1, NULL, 'x'), (2, NULL, FALSE, 2, NULL, NULL),`+
			" (3, '', TRUE, 2, '2026-01-02 03:04:05', 'z'), (4, 'four', TRUE, 1, NULL, '')",
	)
}

// TestConditions has every way to narrow and to shape a query, with what comes of it.
func TestConditions(t *testing.T) {
	done := func(db *gorm.DB) *gorm.DB { return db.Where("done = ?", true) }
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		db := open(&gorm.Config{})
		createTasks(t, db)
		ids := func() *gorm.DB { return db.Model(&task{}).Select("id").Order("id") }
		for name, test := range map[string]struct {
			query *gorm.DB
			want  string
		}{
			"table": {
				db.Table("tasks").Order("id"),
				"id,title,done,company_id,deleted_at,extra\n1,\"one, \"\"quoted\"\"\",t,1,,x\n2,,f,2,,\n" +
					"3,\"\",t,2,2026-01-02 03:04:05,z\n4,four,t,1,,\"\"\n",
			},
			"model": {
				db.Model(&task{}).Order("id DESC").Limit(1),
				"id,title,done,company_id,deleted_at,extra\n4,four,t,1,,\"\"\n",
			},
			"soft delete":       {ids(), "id\n1\n2\n4\n"},
			"unscoped":          {ids().Unscoped(), "id\n1\n2\n3\n4\n"},
			"where":             {ids().Where("title = ? OR id IN ?", "four", []int{2, 3}), "id\n2\n4\n"},
			"where by model":    {ids().Where(&task{Done: true}), "id\n1\n4\n"},
			"not":               {ids().Not(map[string]any{"id": 1}), "id\n2\n4\n"},
			"primary key":       {db.Model(&task{ID: 4}).Select("id"), "id\n4\n"},
			"slice":             {db.Model(&[]task{}).Select("id").Order("id"), "id\n1\n2\n4\n"},
			"scopes":            {ids().Scopes(done), "id\n1\n4\n"},
			"limit and offset":  {ids().Limit(1).Offset(1), "id\n2\n"},
			"no rows":           {ids().Where("FALSE"), "id\n"},
			"subquery":          {ids().Where("id = (?)", db.Table("tasks").Select("MAX(id)")), "id\n4\n"},
			"preload":           {ids().Preload("Company"), "id\n1\n2\n4\n"},
			"omit":              {db.Model(&task{ID: 1}).Omit("Title", "DeletedAt", "CompanyID"), "id,done\n1,t\n"},
			"distinct":          {db.Table("tasks").Distinct("done").Order("done"), "done\nf\nt\n"},
			"table with a name": {db.Table("tasks AS t").Select("t.id").Where("t.id < ?", 2), "id\n1\n"},
			"group": {
				db.Model(&task{}).Select("done, COUNT(*) AS n").Group("done").Having("COUNT(*) > ?", 1),
				"done,n\nt,2\n",
			},
			"relation": {
				db.Joins("Company").Model(&task{}).Where("tasks.id = 4"),
				"id,title,done,company_id,deleted_at,Company__id,Company__name\n4,four,t,1,,1,Acme\n",
			},
			"join": {
				db.Model(&task{}).Select("tasks.id AS task, name").
					Joins("JOIN companies c ON c.id = company_id AND c.id = ?", 2),
				"task,name\n2,\"\"\n",
			},
			"raw":         {db.Raw("SELECT id FROM tasks WHERE id > ? ORDER BY id", 2), "id\n3\n4\n"},
			"named":       {db.Raw("SELECT @n + 0 AS n", map[string]any{"n": 7}), "n\n7\n"},
			"no table":    {db.Raw("SELECT 1 AS a, 'x' AS a"), "a,a\n1,x\n"},
			"own context": {db.WithContext(t.Context()).Table("tasks").Select("id").Where("id = 1"), "id\n1\n"},
		} {
			t.Run(name, func(t *testing.T) {
				// The query is not used up.
				expectCSV(t, test.query, test.want)
				expectCSV(t, test.query, test.want)
			})
		}
	})
}

func TestJSON(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		db := open(&gorm.Config{})
		execute(t, db, "CREATE TABLE t (id bigint, amount numeric(30,2), j json, s text, b boolean)",
			`INSERT INTO t VALUES (9223372036854775807, 7, '{"a":1,"a":1e400}', NULL, TRUE)`,
			"INSERT INTO t VALUES (NULL, NULL, NULL, '', NULL)")
		// SQLite keeps no digits behind the point that are not needed.
		amount := map[string]string{"sqlite": "7", "postgres": "7.00"}[db.Name()]
		want := `{"id":9223372036854775807,"amount":` + amount + `,"j":{"a":1,"a":1e400},"s":null,"b":true}` + "\n" +
			`{"id":null,"amount":null,"j":null,"s":"","b":null}` + "\n"
		got, err := text(t.Context(), format.JSONL{}, gormdb.Query(db.Table("t").Order("s DESC")))
		if db.Name() == "sqlite" { // which sorts NULL to the other end
			got, err = text(t.Context(), format.JSONL{}, gormdb.Query(db.Table("t").Order("s")))
		}
		if err != nil || got != want {
			t.Errorf("got %s and the error %v, want %s", got, err, want)
		}
	})
}

// TestQueryStaysAsItIs uses a query in other ways before and after its rows were read.
func TestQueryStaysAsItIs(t *testing.T) {
	db := sqliteDB(t, &gorm.Config{})
	createTasks(t, db)
	todos := db.Table("tasks").Where("done = ?", true)
	expectCSV(t, todos.Session(&gorm.Session{}).Select("id").Order("id"), "id\n1\n3\n4\n")
	expectCSV(t, todos.Session(&gorm.Session{}).Select("COUNT(*) AS n"), "n\n3\n")
	open := gormdb.Query(todos)
	for range 2 {
		rows, err := open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	var n int64
	if err := todos.Count(&n).Error; err != nil || n != 3 {
		t.Errorf("afterwards it counts %d rows with the error %v, want 3", n, err)
	}
}

func TestTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		for _, config := range []*gorm.Config{{}, {PrepareStmt: true}} {
			db := open(config)
			execute(t, db, "CREATE TABLE t (id integer)", "INSERT INTO t VALUES (1)")
			err := db.Transaction(func(tx *gorm.DB) error {
				execute(t, tx, "INSERT INTO t VALUES (2)")
				expectCSV(t, tx.Table("t").Order("id"), "id\n1\n2\n")
				rows, err := gormdb.Query(tx.Table("t"))(t.Context())
				if err != nil {
					return err
				}
				if err := rows.Close(); err != nil { // before the first
					return err
				}
				execute(t, tx, "INSERT INTO t VALUES (3)")
				return errors.New("roll back")
			})
			if err == nil || err.Error() != "roll back" {
				t.Error(err)
			}
			expectCSV(t, db.Table("t"), "id\n1\n")
			execute(t, db, "DROP TABLE t")
		}
	})
}

func TestPreparedStatements(t *testing.T) {
	onEach(t, func(t *testing.T, open func(*gorm.Config) *gorm.DB) {
		db := open(&gorm.Config{PrepareStmt: true})
		createTasks(t, db)
		for _, id := range []int{1, 4, 1} {
			expectCSV(t, db.Model(&task{}).Select("id").Where("id = ?", id), fmt.Sprintf("id\n%d\n", id))
		}
	})
}

func TestLogger(t *testing.T) {
	db := sqliteDB(t, &gorm.Config{})
	var log strings.Builder
	kept := logger.New(printer{&log}, logger.Config{LogLevel: logger.Info, ParameterizedQueries: true})
	expectCSV(t, db.Session(&gorm.Session{Logger: kept}).Raw("SELECT ? AS a", "secret"), "a\nsecret\n")
	if got := log.String(); strings.Count(got, "SELECT ? AS a") != 1 || strings.Contains(got, "secret") {
		t.Errorf("the logger of the query has %q", got)
	}
}

// printer is what GORM's logger prints to.
type printer struct{ io.Writer }

func (p printer) Printf(format string, args ...any) { _, _ = fmt.Fprintf(p, format+"\n", args...) }

// manyRows is a query of so many rows of 400 bytes.
func manyRows(db *gorm.DB, rows int) *gorm.DB {
	return db.Raw("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?)"+
		" SELECT i, i * 0.5 AS half, hex(zeroblob(200)) AS fill FROM n", rows)
}

// TestMemory exports far more than may be held.
func TestMemory(t *testing.T) {
	const jobs = 2
	const formula = (jobs+2)*7/2 + jobs*3
	const program = 60 // the test binary, SQLite, the Go runtime, and what earlier tests have left
	rows := testkit.Fewer(500_000)
	db := sqliteDB(t, &gorm.Config{})
	plan := export.Plan{Unencrypted: true, Jobs: jobs}
	testkit.MemoryCeiling(t, (formula+program)<<20, func() {
		stats, err := plan.Rows(t.Context(), io.Discard, gormdb.Query(manyRows(db, rows)))
		if err != nil || stats.Rows != int64(rows) || stats.Text < int64(rows)*400 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}
