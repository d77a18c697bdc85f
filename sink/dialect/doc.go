// Package dialect says how a table of one database system is made in another one.
//
// [Translate] translates a definition. Columns keep their names and order. They get the type that is equal to their
// own; a column whose type has no equal is a [*TypeError], and the table is not made. MariaDB has the types of MySQL.
//
//	PostgreSQL                      MySQL               SQLite
//	smallint                        smallint            INTEGER
//	integer                         int                 INTEGER
//	bigint                          bigint              INTEGER
//	boolean                         tinyint(1)          BOOLEAN
//	numeric(p,s)                    decimal(p,s)        NUMERIC(p,s)
//	numeric                         -                   TEXT
//	real                            float               REAL
//	double precision                double              REAL
//	character(n)                    char(n)             CHAR(n)
//	character varying(n)            varchar(n)          VARCHAR(n)
//	character varying               longtext            TEXT
//	text                            longtext            TEXT
//	citext                          longtext            TEXT
//	bytea                           longblob            BLOB
//	json                            json                TEXT
//	jsonb                           json                TEXT
//	uuid                            char(36)            TEXT
//	an enum type                    enum                TEXT
//	date                            date                DATE
//	time without time zone          time(6)             TIME
//	time(p) without time zone       time(p)             TIME
//	timestamp without time zone     datetime(6)         TIMESTAMP
//	timestamp(p) without time zone  datetime(p)         TIMESTAMP
//	timestamp with time zone        timestamp(6)        TIMESTAMPTZ
//	timestamp(p) with time zone     timestamp(p)        TIMESTAMPTZ
//
//	MySQL                           PostgreSQL          SQLite
//	tinyint                         smallint            INTEGER
//	tinyint unsigned                smallint            INTEGER
//	smallint                        smallint            INTEGER
//	smallint unsigned               integer             INTEGER
//	mediumint                       integer             INTEGER
//	mediumint unsigned              integer             INTEGER
//	int                             integer             INTEGER
//	int unsigned                    bigint              INTEGER
//	bigint                          bigint              INTEGER
//	bigint unsigned                 numeric(20,0)       untyped
//	bit(n)                          bigint              INTEGER
//	year                            smallint            INTEGER
//	decimal(p,s)                    numeric(p,s)        NUMERIC(p,s)
//	float                           real                REAL
//	double                          double precision    REAL
//	char(n)                         character(n)        CHAR(n)
//	varchar(n)                      varchar(n)          VARCHAR(n)
//	tinytext                        text                TEXT
//	text                            text                TEXT
//	mediumtext                      text                TEXT
//	longtext                        text                TEXT
//	enum                            text                TEXT
//	set                             text                TEXT
//	binary(n)                       bytea               BLOB
//	varbinary(n)                    bytea               BLOB
//	tinyblob                        bytea               BLOB
//	blob                            bytea               BLOB
//	mediumblob                      bytea               BLOB
//	longblob                        bytea               BLOB
//	json                            json                TEXT
//	uuid                            uuid                TEXT
//	inet4                           inet                TEXT
//	inet6                           inet                TEXT
//	date                            date                DATE
//	time                            time(0)             TIME
//	time(p)                         time(p)             TIME
//	datetime                        timestamp(0)        TIMESTAMP
//	datetime(p)                     timestamp(p)        TIMESTAMP
//	timestamp                       timestamptz(0)      TIMESTAMP
//	timestamp(p)                    timestamptz(p)      TIMESTAMP
//
//	SQLite                          PostgreSQL          MySQL
//	INTEGER                         bigint              bigint
//	INT                             bigint              bigint
//	TINYINT                         bigint              bigint
//	SMALLINT                        bigint              bigint
//	MEDIUMINT                       bigint              bigint
//	BIGINT                          bigint              bigint
//	BOOLEAN                         boolean             tinyint(1)
//	BOOL                            boolean             tinyint(1)
//	REAL                            double precision    double
//	DOUBLE                          double precision    double
//	DOUBLE PRECISION                double precision    double
//	FLOAT                           double precision    double
//	NUMERIC                         numeric             -
//	NUMERIC(p,s)                    numeric             decimal(p,s)
//	DECIMAL                         numeric             -
//	DECIMAL(p,s)                    numeric             decimal(p,s)
//	CHAR(n)                         varchar(n)          varchar(n)
//	VARCHAR(n)                      varchar(n)          varchar(n)
//	NVARCHAR(n)                     varchar(n)          varchar(n)
//	VARCHAR                         text                longtext
//	TEXT                            text                longtext
//	CLOB                            text                longtext
//	BLOB                            bytea               longblob
//	JSON                            json                json
//	UUID                            uuid                char(36)
//	DATE                            date                date
//	TIME                            time                time(6)
//	DATETIME                        timestamp           datetime(6)
//	TIMESTAMP                       timestamp           datetime(6)
//	TIMESTAMPTZ                     timestamptz         timestamp(6)
//
// A column of decimal numbers is stored in one way in SQLite. Those of up to 15 digits, and of up to 18 without a
// fraction, are numbers, which lose no digit. All values of the others are text, with all their digits, since a number
// would be rounded; text is compared and sorted character by character, so cast it: max(CAST(price AS REAL)). NaN is
// text in any case. A bigint unsigned is a number up to 9223372036854775807, and text beyond, which SQLite takes for
// larger than any number. MySQL has decimal numbers of up to 65 digits, 30 of them after the point; its char has up to
// 255 characters, and its varchar up to 16383; longer ones are longtext. The longest bit of MySQL with an equal is
// bit(63). An enum type of PostgreSQL becomes an ENUM with its labels in their order, or longtext if MySQL would change
// one: it drops spaces at the end. The width of integers and ZEROFILL are left out. A type of SQLite that is not listed
// has the equals of the same type without what is in parentheses, or else of its affinity, if a word gives it one.
//
// The types are those of columns. SQLite stores values of any type in them. MySQL stores dates such as 0000-00-00, and
// no timestamps after 2038. Rows with values that the other database refuses cannot be loaded.
//
// SQLite does not enforce the p and s of a decimal number. So PostgreSQL gets the type without them, which rounds
// nothing; MySQL has no such type. PostgreSQL and MySQL keep six digits of a second at most. A timestamp without time
// zone of PostgreSQL cannot hold an offset, as in 2026-01-01 00:00:00+02:00. A load refuses values that the column
// would change: see package culvert/sink/grammar.
//
// # What else is translated
//
//   - NOT NULL, and the primary key, unique constraints and indexes of whole columns
//   - defaults that are numbers, texts or booleans, and dates and times that both systems have, and the time at which a
//     row is added: by the clock of the session, or in UTC as CURRENT_TIMESTAMP of SQLite
//   - foreign keys to a primary or unique key of a table that is made with theirs, under any name, if the columns have
//     equal types there, with their ON UPDATE and ON DELETE. MySQL has none that are deferred, and no SET DEFAULT
//   - checks that compare numbers, ask whether texts are equal, count the characters of a text, or are about NULL,
//     combined by AND, OR and NOT. Whether texts are equal is left to the other system only if no collation decides it,
//     and not to MySQL, whose collation ignores spaces at the end
//   - UNSIGNED, and the values of ENUM and SET and of enum types, as checks, which stay checks elsewhere. MySQL
//     and MariaDB have no checks of columns that they number or that a foreign key changes
//   - that letter case does not count: collations of MySQL and MariaDB that end with _ci, NOCASE of SQLite, citext, and
//     collations of ICU in PostgreSQL that are not deterministic and whose locale says ks-level2, or ks-level1 if
//     accents do not count either, and no more, for no language or English. SQLite gets NOCASE, which is about the
//     letters of ASCII alone. MySQL gets utf8mb4_0900_as_ci, and MariaDB utf8mb4_uca1400_nopad_as_ci; those with
//     _ai_ci are for ks-level1. PostgreSQL has no equal: in columns of its collations that ignore case, LIKE fails
//     before version 18, and citext is an extension. So texts differ in letter case there, but a unique key of such
//     columns gets an index besides, of lower(column), which refuses what the key has refused; --type
//     users.email=citext makes the other choice
//   - ON UPDATE CURRENT_TIMESTAMP of a column, as a trigger: when an UPDATE changes another value of the row and leaves
//     this one as it is, which a statement also does that sets it to the value that it has. In PostgreSQL, the trigger
//     calls a function of the schema that is named after the table; DROP TABLE leaves it. From there and from SQLite,
//     the clause comes back. A column of SQLite that gets the time in UTC becomes a timestamp again
//   - what numbers the rows: identity columns and sequences, AUTO_INCREMENT, and INTEGER PRIMARY KEY, with the last
//     number, if the other system can number the rows in that column. It becomes a bigint, even if it is a bigint
//     unsigned, unless that has come to numbers that a bigint cannot hold
//   - the comments of the table and of its columns, except in SQLite
//
// A key of MySQL cannot have texts without a limit, so such columns of primary and foreign keys become varchar, of 768
// characters if they are alone, and a load refuses longer values. Other indexes have the beginnings of such texts, and
// unique ones only in MariaDB.
//
// A table or column whose name the other system cannot have is refused: PostgreSQL cuts names after 63 bytes, and MySQL
// has up to 64 characters, none of them beyond U+FFFF. So is a column whose name differs from another one only in
// letter case, except in PostgreSQL. An index with such a name gets another one.
//
// Translate returns what is left out, by its name: other defaults, checks, indexes, collations and comments, generated
// columns, foreign keys that say more, each other clause that the source has found, such as PARTITION BY, and what the
// definition lacks.
package dialect
