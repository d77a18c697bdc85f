// Package source defines where rows come from.
//
// A [Source] is an open database. [Source.Table] and [Source.Query] return [Rows], which fill a reusable [Batch] with
// the values of whole rows, as raw bytes. The [Kind] of each value says how to read it:
//
//	rows, err := src.Table(ctx, "orders")
//	…
//	for {
//		err := rows.Next(&batch)
//		if err == io.EOF {
//			break
//		}
//		…
//		for row := range batch.Rows() {
//			kind, value := batch.Value(row, 0)
//			…
//		}
//	}
//
// Nothing is decoded: a number is the text that the database prints, so that no digit is lost. Reading a row does not
// allocate once the batch has grown to its size, unless the driver of the database does.
//
// These packages read databases: postgres, mysql, sqlite, and sqldb, for any database/sql driver. Package gormdb reads
// queries made with GORM. Package sourcetest is the suite that they pass.
//
// Optional abilities are separate interfaces, found by a type assertion. A Source may implement [Selector], [Lister],
// [Omitter], [Preparer], [Separator], [Describer], [PartialSnapshotter], [Definer], [Tracer], [Schemer],
// [SchemaStarter], [Parter], [Sharer] and [Grouped], and Rows may implement [CSVWriter], [BinaryWriter], [Printer],
// [Divider], [Sized] and [Meter].
//
// There are two ways to read a table with several sessions. [Divider] is for one process: its readers decide among
// themselves who reads what. [Parter] is for work that is handed out, repeated, and written to a file for each part: a
// [Part] says which rows it has, and any source that has joined its [Snapshot] can read it.
//
// # Logical types
//
// Databases name their types in their own ways. The [Type] of a column says what its values are in words that all
// share. MySQL stands for MariaDB too:
//
//	logical type    system      its types
//	bool            PostgreSQL  boolean
//	                SQLite      BOOLEAN, BOOL
//	int16           PostgreSQL  smallint
//	                MySQL       tinyint, tinyint unsigned, smallint, year, bit(15)
//	int32           PostgreSQL  integer
//	                MySQL       smallint unsigned, mediumint, mediumint unsigned, int, bit(31)
//	int64           PostgreSQL  bigint, oid
//	                MySQL       int unsigned, bigint, bit(63)
//	                SQLite      INTEGER, INT, BIGINT
//	float32         PostgreSQL  real
//	                MySQL       float
//	float64         PostgreSQL  double precision
//	                MySQL       double
//	                SQLite      REAL, DOUBLE, FLOAT
//	decimal(p,s)    PostgreSQL  numeric(p,s)
//	                MySQL       decimal(p,s)
//	                SQLite      NUMERIC(p,s), DECIMAL(p,s)
//	decimal         PostgreSQL  numeric
//	                SQLite      NUMERIC, DECIMAL
//	decimal(20,0)   MySQL       bigint unsigned, bit(64)
//	string(n)       PostgreSQL  character varying(n)
//	                MySQL       varchar(n)
//	                SQLite      CHAR(n), VARCHAR(n)
//	string          PostgreSQL  text, character varying, citext, name, "char"
//	                MySQL       tinytext, text, mediumtext, longtext, set(…)
//	                SQLite      TEXT, VARCHAR, CLOB
//	char(n)         PostgreSQL  character(n)
//	                MySQL       char(n)
//	char            PostgreSQL  bpchar
//	bytes           PostgreSQL  bytea
//	                MySQL       binary(n), varbinary(n), tinyblob, blob, mediumblob, longblob
//	                MySQL       geometry, point, linestring, polygon
//	                MySQL       multipoint, multilinestring, multipolygon, geometrycollection
//	                SQLite      BLOB
//	date            PostgreSQL  date
//	                MySQL       date
//	                SQLite      DATE
//	time            PostgreSQL  time without time zone
//	                SQLite      TIME
//	time(0)         MySQL       time
//	time(p)         PostgreSQL  time(p) without time zone
//	                MySQL       time(p)
//	timestamp       PostgreSQL  timestamp without time zone
//	                SQLite      DATETIME, TIMESTAMP
//	timestamp(0)    MySQL       datetime
//	timestamp(p)    PostgreSQL  timestamp(p) without time zone
//	                MySQL       datetime(p)
//	instant         PostgreSQL  timestamp with time zone
//	                SQLite      TIMESTAMPTZ
//	instant(0)      MySQL       timestamp
//	instant(p)      PostgreSQL  timestamp(p) with time zone
//	                MySQL       timestamp(p)
//	interval        PostgreSQL  interval
//	uuid            PostgreSQL  uuid
//	                MySQL       uuid
//	                SQLite      UUID
//	json            PostgreSQL  json, jsonb
//	                MySQL       json
//	                SQLite      JSON
//	enum            MySQL       enum(…)
//	list(int32)     PostgreSQL  integer[]
//	list(string(n)) PostgreSQL  character varying(n)[]
//	unknown         PostgreSQL  money, time with time zone, bit(n), inet, point, int4range, any other
//	                MySQL       inet6, any other
//	                SQLite      any other
//
// In PostgreSQL, enum types are enums, a domain has the type that it is made of, and the array of a type is a list of
// it. The bits of MySQL are the smallest type that holds their number. In a query, MySQL tells neither the n of a text
// nor the p and s of a number, and MariaDB takes JSON for a text, and a UUID for a char. A type of SQLite that is not
// listed is what its affinity says: an int64, float64, string or bytes; of a numeric one nothing is known, since people
// write such names for anything. Package sqldb goes by the names and sizes that drivers report.
//
// The logical type promises nothing of a single value. In SQLite, each cell chooses its type, whatever its column
// prefers: a text in an INTEGER, a number in a DATE. Dates can be infinity in PostgreSQL, and 0000-00-00 in MySQL. A
// source neither converts nor refuses such values: their [Kind] and bytes are what the database has. Callers that need
// values of the logical type check each of them. They keep one that deviates as it is, equal to nothing but the same
// bytes, or refuse it by its row and column.
package source
