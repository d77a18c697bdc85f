// Package gormdb reads the rows of queries that are made with GORM, as [source.Rows], without a model in between.
//
//	todos := db.Model(&Todo{}).Where("done = ?", true).Order("id")
//	stats, err := plan.Rows(ctx, file, gormdb.Query(todos))
//
// GORM writes the SQL and runs it, as it does for Find: Model and Table, Select, Where, Joins, Group, Order, Limit,
// Raw, Scopes and the rest mean what they mean there. What Find would do with the rows afterwards is left out. They are
// read one behind the other and never held, so that a table of any size takes the same memory.
//
// # What the query gives
//
//   - With a model, rows that are softly deleted are left out; Unscoped gives them too. Table alone knows no model.
//   - A model with its primary key set gives the row of that key only.
//   - Without Select or Omit, the columns are all those of the table, in its order, also those the model does not have.
//     With Joins of a relation they are those of the model, and then those of the relation, as Company__name.
//   - Values are those of the database: what the fields' serializers, Scan methods and AfterFind hooks would make of
//     them is not made. Preload does nothing, since it is other queries.
//   - Within a transaction of GORM the query runs in the transaction. Close the rows before its next statement: most
//     databases do one thing at a time on a connection. Rows that are canceled may cost the transaction its connection.
//   - Plugins, prepared statements and the logger are used as they are set. The logger sees the statement when it
//     begins; where it prints the arguments too, and those are private, set ParameterizedQueries.
//   - DefaultContextTimeout, if set, bounds the time until the last row is read.
//
// For several queries that fit together, run them in one transaction that has the isolation for it:
//
//	err := db.Transaction(func(tx *gorm.DB) error {
//		…
//	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
//
// # Values
//
// GORM reads through database/sql, so that the kinds of values and the text of times are those of package
// [culvert/source/sqldb], and so are the errors. Numbers keep their digits as far as the driver does; that of
// PostgreSQL keeps those of numeric. These are the differences to the same rows from the packages that read a database
// by themselves:
//
//   - PostgreSQL (gorm.io/driver/postgres): columns of type xid and cid are numbers, not text. The text of intervals,
//     and of ranges and arrays of times, follows the settings of the connection, such as TimeZone and IntervalStyle,
//     which source/postgres sets itself. The rows are not checked against the number that the server confirms, and the
//     server does not print CSV.
//   - SQLite (with the driver of github.com/ncruces/go-sqlite3): a REAL without a fraction is 1, not 1.0. In columns of
//     type BOOLEAN, 1 and 0 are t and f; in those of type JSON, text that is JSON has that kind; and in those of type
//     DATE, DATETIME and TIMESTAMP, text that is a time is written anew.
//
// Where a driver's own text matters, ask the database for text: Select("id", "created_at::text"). Values that package
// sqldb cannot read, or reads differently than wanted, are converted by a function of the caller in its Config:
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
	"culvert/source/sqldb"
)

// Query makes of a query the function that runs it, each time anew, and gives the rows. [culvert/export.Plan.Rows]
// takes it as it is; alone it is used so:
//
//	rows, err := gormdb.Query(db.Table("todos"))(ctx)
//
// The context replaces the one of db and governs the rows until they are closed. A database that cannot be reached
// gives [source.ErrUnavailable]; an error that db already has is given back.
//
// The query itself is not touched: db can be used again. It must not be changed at the same time.
func Query(db *gorm.DB) func(context.Context) (source.Rows, error) {
	return func(ctx context.Context) (source.Rows, error) {
		if db == nil {
			return nil, errors.New("gormdb: there is no query")
		}
		return sqldb.Rows(ctx, func(ctx context.Context) (*sql.Rows, error) { return db.WithContext(ctx).Rows() })
	}
}
