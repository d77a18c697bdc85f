package gormdb_test

import (
	"database/sql"

	_ "github.com/ncruces/go-sqlite3/driver"
	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/utils/tests"
)

// dialector is what GORM has to know of SQLite for queries. The drivers that others have made need cgo, or bring
// another SQLite.
type dialector struct {
	tests.DummyDialector // names in backticks and arguments as question marks, as SQLite takes them
	pool                 *sql.DB
}

func (s dialector) Name() string { return "sqlite" }

func (s dialector) Initialize(db *gorm.DB) error {
	callbacks.RegisterDefaultCallbacks(db, &callbacks.Config{})
	db.ConnPool = s.pool
	return nil
}

// openSQLite opens a database as GORM does. Name is that of a file, or ":memory:".
func openSQLite(name string, config *gorm.Config) (*gorm.DB, error) {
	pool, err := sql.Open("sqlite3", "file:"+name+"?_pragma=busy_timeout(10000)&_pragma=synchronous(0)")
	if err != nil {
		return nil, err
	}
	if name == ":memory:" {
		pool.SetMaxOpenConns(1) // another connection would see another database
	}
	return gorm.Open(dialector{pool: pool}, config)
}
