// Package sqldb reads the rows of any database that has a driver for database/sql, as a [source.Source].
//
//	db, err := sql.Open("sqlite3", "todos.db")
//	…
//	src := sqldb.New(db)
//	rows, err := src.Table(ctx, "todos")
//
// It is for databases that have no package of their own here, and knows less of them than those packages know:
//
//   - database/sql tells when there are no more rows, not how many there were. A driver that loses some is not found
//     out.
//   - A value is what the driver makes of it, at the cost of about an allocation. Digits that it drops are gone, and so
//     is the way in which a time was written.
//   - A statement that writes is run like any other.
//
// [Rows] takes the rows of what else gives [*sql.Rows]: queries with arguments, prepared statements, query builders.
//
// # Values
//
// The [source.Kind] follows from the Go type that the driver gives:
//
//	int64, other integers  Number
//	float64, float32       Number, the shortest text that reads back as the same value; as a float32 if the column has
//	                       the type FLOAT4
//	bool                   Bool
//	time.Time              Text, see below
//	string                 Text
//	[]byte                 Bytes; Text if the column has a type of text, as some drivers give []byte for everything
//	nil                    Null
//
// Text in a column of a numeric type, such as NUMERIC, is a Number, and in one of the type JSON it is JSON, if it reads
// as such.
//
// How a time is written follows from the type of the column, and is what PostgreSQL prints for such a type:
//
//	DATE                 2026-01-02, if the time is midnight
//	TIMESTAMP, DATETIME  2026-01-02 03:04:05.123456, if the time is in UTC; the zone is one that the driver chose
//	TIMESTAMPTZ          2026-01-02 03:04:05.123456+00, always in UTC
//	any other            2026-01-02T03:04:05.123456Z, as RFC 3339 has it
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"

	"culvert/source"
)

// Queryer is what is needed of a database: [*sql.DB], or, for several tables in one transaction, [*sql.Tx] or
// [*sql.Conn].
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Config is what differs between databases. The zero value is standard SQL.
type Config struct {
	// Quote writes a name as an identifier. If nil, it is set in double quotes.
	Quote func(name string) string

	// Tables is a query for the names of all tables and views, in its last column, and for their schemas in the
	// column before, if there is one. If "", they are read from information_schema.tables.
	Tables string
}

// DB is an open database. It is used by one goroutine at a time.
type DB struct {
	config Config
	db     Queryer
	open   *rows // the rows last given
}

var _ source.Source = (*DB)(nil)

// New makes a source of a database, with the zero [Config].
func New(db Queryer) *DB { return Config{}.New(db) }

// New makes a source of a database, which still belongs to the caller.
func (c Config) New(db Queryer) *DB {
	if c.Quote == nil {
		c.Quote = func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	}
	if c.Tables == "" {
		c.Tables = "SELECT table_schema, table_name FROM information_schema.tables" +
			" WHERE table_schema NOT IN ('information_schema', 'pg_catalog')"
	}
	return &DB{config: c, db: db}
}

// Close closes rows that are open. The database it leaves to the one who opened it.
func (db *DB) Close() error {
	if db.open == nil {
		return nil
	}
	return db.open.Close()
}

// Query gives the rows of one statement.
func (db *DB) Query(ctx context.Context, query string) (source.Rows, error) {
	if strings.Trim(query, "; \t\r\n") == "" {
		return nil, errors.New("sqldb: there is no statement in the query") // not all drivers take that well
	}
	rows, err := db.query(ctx, query)
	if err != nil {
		return nil, err
	}
	return withColumns(rows)
}

func (db *DB) query(ctx context.Context, query string) (*rows, error) {
	if db.open != nil && !db.open.closed {
		return nil, errors.New("sqldb: other rows of the database are still open")
	}
	rows, err := run(ctx, func(ctx context.Context) (*sql.Rows, error) { return db.db.QueryContext(ctx, query) })
	if err != nil {
		return nil, err
	}
	db.open = rows
	return rows, nil
}

// table is the name of a table.
type table struct {
	schema string // "" if there are none
	name   string
}

// nameLike gives the name with its schema, if name has one.
func (t table) nameLike(name string) string {
	if t.schema != "" && strings.Contains(name, ".") {
		return t.schema + "." + t.name
	}
	return t.name
}

// tables reads the names of all tables.
func (db *DB) tables(ctx context.Context) (all []table, err error) {
	rows, err := db.query(ctx, db.config.Tables)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for row := range b.Rows() {
			var t table
			if b.Columns() > 1 {
				_, schema := b.Value(row, b.Columns()-2)
				t.schema = string(schema)
			}
			_, name := b.Value(row, b.Columns()-1)
			t.name = string(name)
			all = append(all, t)
		}
	}
}

// identifier writes the name of a table as SQL, and reports whether it is among the known ones.
func (db *DB) identifier(name string, known []table) (identifier string, found bool) {
	quote := db.config.Quote
	exact := func(a, b string) bool { return a == b }
	for _, equal := range []func(a, b string) bool{exact, strings.EqualFold} {
		for _, t := range known {
			if equal(t.name, name) {
				return quote(t.name), true
			}
		}
		for _, t := range known {
			if t.schema != "" && equal(t.schema+"."+t.name, name) {
				return quote(t.schema) + "." + quote(t.name), true
			}
		}
	}
	if schema, rest, ok := strings.Cut(name, "."); ok {
		return quote(schema) + "." + quote(rest), false
	}
	return quote(name), false
}
