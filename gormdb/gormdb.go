// Package gormdb reads the rows of queries made with GORM as [source.Rows], without loading models.
//
//	todos := db.Model(&Todo{}).Where("done = ?", true).Order("id")
//	stats, err := plan.Rows(ctx, file, gormdb.Query(todos))
//
// GORM writes the SQL and runs it as for Find, so Model and Table, Select, Where, Joins, Group, Order, Limit, Raw,
// Scopes and others have their usual meaning. Rows are streamed, so a table of any size takes the same memory.
//
// # What the query returns
//
//   - With a model, rows that are softly deleted are left out, unless Unscoped is set. Table alone knows no model.
//   - A model with its primary key set returns only the row of that key.
//   - Without Select or Omit, the columns are all those of the table, in its order, whether the model has them or not.
//     With Joins of a relation they are the model's and then the relation's, as Company__name.
//   - Values are those of the database: serializers of fields, Scan methods and AfterFind hooks do not run. Preload has
//     no effect, since it makes other queries.
//   - Within a transaction of GORM, the query runs in the transaction. Close the rows before the next statement, since
//     most databases do one thing at a time on a connection. Canceling the rows may close the transaction's connection.
//   - Plugins, prepared statements and the logger are used as configured. The logger sees the statement when it begins.
//     To keep arguments out of the log, set ParameterizedQueries.
//   - DefaultContextTimeout, if set, limits the time until the last row is read.
//
// To read several queries in the same state, run them in one transaction with a suitable isolation level:
//
//	err := db.Transaction(func(tx *gorm.DB) error {
//		…
//	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
//
// # Values
//
// GORM uses database/sql, so the kinds of values, the text of times and the errors are those of package
// [culvert/sqldb]. Numbers keep their digits if the driver does; PostgreSQL's keeps those of numeric. Compared
// to the packages that read a database directly:
//
//   - PostgreSQL (gorm.io/driver/postgres): columns of type xid and cid are numbers, not text. The text of intervals,
//     and of ranges and arrays of times, depends on settings of the connection, such as TimeZone and IntervalStyle,
//     which package postgres sets itself. The number of rows is not checked against the server's, and the server does
//     not print CSV.
//   - SQLite (with the driver of github.com/ncruces/go-sqlite3): a REAL without a fraction is 1, not 1.0. In columns of
//     type BOOLEAN, 1 and 0 are t and f. In columns of type JSON, valid JSON has that kind. In columns of type DATE,
//     DATETIME and TIMESTAMP, times are reformatted.
//
// To get the database's own text, ask for text: Select("id", "created_at::text"). To convert values that package sqldb
// cannot read, or reads differently, use its Config:
//
//	rows, err := sqldb.Config{Convert: convert}.Rows(ctx, func(ctx context.Context) (*sql.Rows, error) {
//		return todos.WithContext(ctx).Rows()
//	})
package gormdb

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"

	"culvert/source"
	"culvert/sqldb"
)

// Query returns a function that runs a query again on each call, as [culvert/export.Plan.Rows] expects. Used alone:
//
//	rows, err := gormdb.Query(db.Table("todos"))(ctx)
//
// The context replaces the context of db and governs the rows until they are closed. The error is
// [source.ErrUnavailable] if the database cannot be reached. An error that db already has is returned.
//
// Query does not change db, which can be used again. It must not be changed at the same time.
func Query(db *gorm.DB) func(context.Context) (source.Rows, error) {
	return func(ctx context.Context) (source.Rows, error) {
		if db == nil {
			return nil, errors.New("gormdb: the query is nil")
		}
		return sqldb.Rows(ctx, func(ctx context.Context) (*sql.Rows, error) { return db.WithContext(ctx).Rows() })
	}
}
