package load_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

// database is one that tables are exported from and loaded into.
type database struct {
	values map[string][]string // SQL, by type
	exec   func(sql string)
	source func() (source.Source, error)
	sink   func() (sink.Sink, error)
}

// TestRandomTables exports tables of random types and values, loads them, and exports them again: the rows are the same
// bytes. CULVERT_TEST_ROUNDS is the number of tables.
func TestRandomTables(t *testing.T) {
	rounds := 2
	switch {
	case testkit.Soak():
		rounds = 100
	case !testkit.RunsLong():
		rounds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("CULVERT_TEST_ROUNDS")); err == nil {
		rounds = n
	}
	for name, open := range map[string]func(t *testing.T) database{
		"sqlite": randomSQLite, "postgres": randomPostgres, "mariadb": randomMariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			for seed := range rounds {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					roundTrip(t, db, seed, rand.New(rand.NewPCG(uint64(seed), 0)))
				})
			}
		})
	}
}

func roundTrip(t *testing.T, db database, seed int, random *rand.Rand) {
	from, to := fmt.Sprint("from_", seed), fmt.Sprint("to_", seed)
	columns := db.create(random, from, to)
	src, err := db.source()
	if err != nil {
		t.Fatal(err)
	}
	plan := export.Plan{}
	if random.IntN(2) == 0 {
		plan.Format = format.JSONL{}
	}
	partSize := int64(0)
	if random.IntN(2) == 0 {
		partSize = 40_000
	}
	backup := newBackupOf(t, src, plan, partSize, from)
	want := csvOf(t, src, from)
	closing(t, src) // SQLite is locked while it is read
	dst, err := db.sink()
	if err != nil {
		t.Fatal(err)
	}
	loading := load.Plan{Loaders: 1 + random.IntN(3)}
	_, err = loading.Directory(t.Context(), dst, backup.Directory, map[string]string{from: to})
	closing(t, dst)
	if err != nil {
		t.Fatalf("%s, %s: %v", columns, backup.Manifest.Format, err)
	}
	again, err := db.source()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, again)
	got := csvOf(t, again, to)
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("%s, %s: %q became %q", columns, backup.Manifest.Format, want[i], got[i])
		}
	}
	if len(want) != randomRows || len(got) != randomRows {
		t.Errorf("%s: %d rows of %d were exported, and %d loaded", columns, len(want), randomRows, len(got))
	}
}

const randomRows = 2000

// create makes two tables with the same random columns, the first one with rows.
func (db database) create(random *rand.Rand, from, to string) (columns string) {
	types := slices.Sorted(maps.Keys(db.values))
	var chosen []string
	columns = "id bigint PRIMARY KEY"
	for i := range 1 + random.IntN(9) {
		chosen = append(chosen, types[random.IntN(len(types))])
		columns += fmt.Sprintf(", c%d %s", i, chosen[i])
	}
	db.exec("CREATE TABLE " + from + " (" + columns + ")")
	db.exec("CREATE TABLE " + to + " (" + columns + ")")
	const atOnce = 250
	for first := 0; first < randomRows; first += atOnce {
		var rows []string
		for id := range atOnce {
			row := strconv.Itoa(first + id)
			for _, name := range chosen {
				value := "NULL"
				if of := db.values[name]; random.IntN(4) > 0 {
					value = of[random.IntN(len(of))]
				}
				row += ", " + value
			}
			rows = append(rows, "("+row+")")
		}
		db.exec("INSERT INTO " + from + " VALUES " + strings.Join(rows, ", "))
	}
	return columns
}

func randomSQLite(t *testing.T) database {
	path := filepath.Join(t.TempDir(), "random.db")
	return database{
		values: map[string][]string{
			"INTEGER": {"-9223372036854775808", "0", "9223372036854775807"}, "REAL": {"0.1", "1e300", "-2.0", "5e-324"},
			"NUMERIC": {"12.50", "7"}, "TEXT": {"'12.50'", "''", "'a,\"b\nc'", "'é ✓ \\N'", "' '"},
			"BLOB": {"x'00ff'", "x''", "x'0a5c'"},
		},
		exec: func(sql string) {
			db, err := sqlite3.Open(path)
			if err == nil {
				err = db.Exec(sql)
			}
			if err != nil {
				t.Fatal(err)
			}
			closing(t, db)
		},
		source: func() (source.Source, error) { return sqlite.OpenSource(path) },
		sink:   func() (sink.Sink, error) { return sqlite.OpenSink(path) },
	}
}

func randomPostgres(t *testing.T) database {
	db := testkit.Postgres(t).NewDatabase(t)
	return database{
		values: map[string][]string{
			"boolean": {"true", "false"}, "double precision": {"5e-324", "'-0'", "'NaN'", "'-Infinity'", "0.1"},
			"numeric": {"1.50", "-0.000", "'NaN'", "1e30"}, "money": {"12.5::money"}, "char(4)": {"'ab'", "''"},
			"text":  {`'a,b"c' || chr(10) || '\.' || chr(13)`, "''", `'\N'`, "'é ✓'", "' '", "'null'"},
			"bytea": {`'\x00ff5c0a'`, "''"}, "json": {`'{"a": 1.0, "a":2}'`, "'null'"},
			"jsonb": {`'{"b":1,"a":[null]}'`, `'"x"'`}, "date": {"'-infinity'", "'0044-03-15 BC'"},
			"timestamptz": {"'2024-02-29 23:59:59.123456+05:30'", "'infinity'"},
			"interval":    {"'1 year -2 days 03:04:05'"},
			"uuid":        {"'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"}, "text[]": {`'{NULL,"NULL","",a b}'`, "'{}'"},
			"int4range": {"'(1,5]'", "'empty'"}, "bit(3)": {"B'101'"}, "inet": {"'::1/64'"},
		},
		exec:   func(sql string) { db.Exec(t, sql) },
		source: func() (source.Source, error) { return postgres.OpenSource(t.Context(), db.ConnString()) },
		sink:   func() (sink.Sink, error) { return postgres.OpenSink(t.Context(), db.ConnString()) },
	}
}

func randomMariaDB(t *testing.T) database {
	db := testkit.MariaDB(t).NewDatabase(t)
	return database{
		values: map[string][]string{
			"bigint unsigned": {"18446744073709551615", "0"}, "int(5) zerofill": {"42"},
			"decimal(65,30)": {"-12345678901234567890123456789012345.000000000000000000000000000001", "1.5"},
			"float":          {"0.1", "16777217"}, "double": {"0.1e0 + 0.2e0", "-1.7976931348623157e308", "5e-324"},
			"year": {"1901"}, "bit(12)": {"b'101000000001'"}, "date": {"'9999-12-31'"},
			"datetime(6)": {"'2026-01-02 03:04:05.000001'"}, "timestamp(6) null": {"FROM_UNIXTIME(86400.5)"},
			"time(6)": {"'-00:00:00.000001'", "'838:59:59'"}, "char(5)": {"'a'"},
			"text": {`'line\r\nline\ttab "quote", \\N'`, "CONCAT('a', CHAR(0), 'b', CHAR(26), CHAR(8))", "' '", "''"},
			"blob": {"x'00ff5c0a'", "''"}, "json": {`'{"a": 1.0}'`},
		},
		exec:   func(sql string) { db.Exec(t, sql) },
		source: func() (source.Source, error) { return mysql.OpenSource(t.Context(), db.URL()) },
		sink:   func() (sink.Sink, error) { return mysql.OpenSink(t.Context(), db.URL()) },
	}
}
