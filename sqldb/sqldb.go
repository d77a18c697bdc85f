// Package sqldb reads the rows of any database that has a driver for database/sql, as a [source.Source].
//
//	db, err := sql.Open("sqlite3", "todos.db")
//	…
//	src := sqldb.New(db)
//	rows, err := src.Table(ctx, "todos")
//
// It is for databases without a package of their own here, and has these limits:
//
//   - database/sql reports the end of the rows, but not their number. If a driver loses some, it is not detected.
//   - Values are as the driver returns them, at the cost of about one allocation each. Digits that the driver drops are
//     lost, as is the format of a time.
//   - A statement that writes is run like any other.
//
// [Rows] reads any [*sql.Rows]: of queries with arguments, prepared statements and query builders.
//
// # Values
//
// The [source.Kind] depends on the Go type that the driver returns, and on the name of the column's type:
//
//	int64, other integers  Number
//	float64, float32       Number, the shortest text that reads back as the same value; as a float32 if the column has
//	                       the type FLOAT4
//	bool                   Bool
//	time.Time              Text, see below
//	string                 Text
//	[]byte                 Bytes; Text if the column has a text type, since some drivers return []byte for everything
//	nil, nil pointers      Null
//
// Text that is a valid number is a Number in columns of a numeric type, such as NUMERIC or MONEY. Text that is valid
// JSON is JSON in columns of a type such as JSON or VARIANT. The 16 bytes of a UUID are written as text. The bytes of a
// UNIQUEIDENTIFIER must be in the order of SQL Server's driver without "guid conversion".
//
// Drivers may return other Go types. These are read, in this order of precedence:
//
//	time.Duration           Text, such as 36:04:05.5
//	big.Int, big.Float      Number
//	json.Number             Number
//	json.RawMessage         JSON
//	driver.Valuer           what Value returns
//	encoding.TextMarshaler  the text, as if it were a string
//	json.Marshaler          JSON
//	fmt.Stringer            the text, as if it were a string
//	slice, array, map       JSON: the elements as above, and bytes as "\\x00ff"
//	struct                  JSON: its exported fields, by the names in their tags
//	any other named type    as its underlying type
//
// Any other type is an error. [Config].Convert converts values for which these rules do not fit. Columns need it if the
// driver reports no type and returns []byte for text, as lib/pq does for enums and types of extensions.
//
// Times are written as PostgreSQL prints them for the type of the column:
//
//	DATE                 2026-01-02, if the time is midnight
//	TIME                 03:04:05.123456, if the date is 1 January of the years 0, 1 or 1970, as in drivers
//	TIMETZ               03:04:05.123456+02, likewise
//	TIMESTAMP, DATETIME  2026-01-02 03:04:05.123456, if the time is in UTC; otherwise the driver chose the zone
//	TIMESTAMPTZ          2026-01-02 03:04:05.123456+00, always in UTC
//	any other            2026-01-02T03:04:05.123456Z, as in RFC 3339
//
// The names of these types in other databases are known too, such as DATETIME2 and TIMESTAMP WITH TIME ZONE.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strings"

	"culvert/source"
)

// Queryer is an [*sql.DB], or, to read several tables in one transaction, an [*sql.Tx] or [*sql.Conn].
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Config describes a database. The zero value is standard SQL.
type Config struct {
	// Quote writes a name as an SQL identifier. The default uses double quotes.
	Quote func(name string) string

	// Tables is a query for the names of all tables and views, in its last column, and for their schemas, in the column
	// before if there is one. The default reads information_schema.tables.
	Tables string

	// Convert, if not nil, is called with each value that is not NULL, as the driver returns it. Its result replaces
	// the value: a [driver.Value], a [json.RawMessage], or any other type that this package reads. It is for values
	// that only the caller understands, such as the bytes of a type of its own. It must not change or retain the value.
	// An error ends the rows. Rows that are read concurrently call Convert concurrently.
	Convert func(column *sql.ColumnType, value any) (any, error)
}

// DB is an open database. It must be used by one goroutine at a time.
type DB struct {
	config Config
	db     Queryer
	open   *rows // the rows that were returned last
}

var _ source.Source = (*DB)(nil)

// New returns a source for a database, with the zero [Config].
func New(db Queryer) *DB { return Config{}.New(db) }

// New returns a source for a database, which still belongs to the caller.
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

// Close closes open rows, but not the database.
func (db *DB) Close() error {
	if db.open == nil {
		return nil
	}
	return db.open.Close()
}

// Query returns the rows of one statement.
func (db *DB) Query(ctx context.Context, query string) (source.Rows, error) {
	if strings.Trim(query, "; \t\r\n") == "" {
		return nil, errors.New("sqldb: the query contains no statement") // some drivers fail badly
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

// nameLike returns the name with its schema if name has one.
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

// identifier returns the name of a table as SQL, and reports whether it is known.
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
