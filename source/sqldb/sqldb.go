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
// The [source.Kind] follows from the Go type that the driver delivers, and from the name of the column's type:
//
//	int64, other integers  Number
//	float64, float32       Number, the shortest text that reads back as the same value; as a float32 if the column has
//	                       the type FLOAT4
//	bool                   Bool
//	time.Time              Text, see below
//	string                 Text
//	[]byte                 Bytes; Text if the column has a type of text, as some drivers deliver []byte for everything
//	nil, nil pointers      Null
//
// Text in a column of a numeric type, such as NUMERIC or MONEY, is a Number, and in one of a type such as JSON or
// VARIANT it is JSON, if it reads as such. The 16 bytes of a UUID are written as one. Those of a UNIQUEIDENTIFIER are
// taken to have the order that the driver of SQL Server delivers without "guid conversion".
//
// Drivers deliver other Go types too. These are read, in this order:
//
//	time.Duration           Text, such as 36:04:05.5
//	big.Int, big.Float      Number
//	json.Number             Number
//	json.RawMessage         JSON
//	driver.Valuer           what Value returns
//	encoding.TextMarshaler  the text, as if it were a string
//	json.Marshaler          JSON
//	fmt.Stringer            the text, as if it were a string
//	slice, array, map       JSON: the values in it as above, and bytes as "\\x00ff"
//	struct                  JSON: its public fields, by the names in their tags
//	any other named type    as the type that it is made of
//
// Any other type is an error. [Config].Convert converts values that these rules cannot read, or read differently than
// wanted. It is needed for columns whose driver reports no type and delivers []byte for text: lib/pq does so for enums
// and for types of extensions.
//
// How a time is written follows from the type of the column, and is what PostgreSQL prints for such a type:
//
//	DATE                 2026-01-02, if the time is midnight
//	TIME                 03:04:05.123456, if the day is 1 January of the years 0, 1 or 1970, as drivers make it
//	TIMETZ               03:04:05.123456+02, likewise
//	TIMESTAMP, DATETIME  2026-01-02 03:04:05.123456, if the time is in UTC; the zone is one that the driver chose
//	TIMESTAMPTZ          2026-01-02 03:04:05.123456+00, always in UTC
//	any other            2026-01-02T03:04:05.123456Z, as RFC 3339 has it
//
// Other databases' names for these types are known too, such as DATETIME2 and TIMESTAMP WITH TIME ZONE.
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

	// Convert, if not nil, is called with each value that is not NULL, as the driver delivers it. Its result is read in
	// place of the value: a [driver.Value], a [json.RawMessage], or anything else that this package can read. It is for
	// values that only the caller understands, such as the bytes of a type of its own. It must not change the value,
	// nor keep it after it returns. An error ends the rows. Rows that are read concurrently call it concurrently.
	Convert func(column *sql.ColumnType, value any) (any, error)
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
	return withColumns(db.config.converted(rows))
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
