package load_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/manifest"
	"culvert/sink"
)

// TestEqualAcross takes rows of every type to each other system, and reads them back there: they are equal, or refused
// by row and column. What is changed there by hand afterwards is found.
func TestEqualAcross(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	systems := map[string]func(t *testing.T) database{
		"sqlite": equalSQLite, "postgres": equalPostgres, "mariadb": equalMariaDB,
	}
	for from, openFrom := range systems {
		for to, openTo := range systems {
			if from == to {
				continue
			}
			t.Run(from+" "+to, func(t *testing.T) {
				was, is, taken := openFrom(t), openTo(t), 0
				for i, name := range slices.Sorted(maps.Keys(was.values)) {
					if equalAcross(t, was, is, i+len(to), name) { // each type takes another way to each system
						taken++
					}
				}
				if most := len(was.values) / 2; taken < most {
					t.Errorf("of %d types, only %d are taken across as a whole", len(was.values), taken)
				}
			})
		}
	}
}

// equalAcross takes the values of a type across: all in a table, or, if some are refused, each in one of its own.
// It reports whether it has taken all. The number is that of the type.
func equalAcross(t *testing.T, was, is database, number int, name string) bool {
	t.Helper()
	values, table := was.values[name], fmt.Sprint("t", number)
	if takeAcross(t, was, is, number, table, name, values) {
		return true
	}
	for i, value := range values {
		if len(values) > 1 {
			takeAcross(t, was, is, number+i, fmt.Sprint(table, "_", i), name, []string{value})
		}
	}
	return false
}

// takeAcross reports whether the values of a type were taken across. In the short form, the three ways take turns.
func takeAcross(t *testing.T, was, is database, turn int, table, name string, values []string) bool {
	t.Helper()
	was.exec("CREATE TABLE " + table + " (id int, v " + name + ")")
	was.exec("INSERT INTO " + table + " VALUES (0, NULL), (1, " + strings.Join(values, "), (1, ") + ")")
	src, err := was.source()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	whole := newBackupOf(t, src, export.Plan{}, 0, table)
	lines := newBackupOf(t, src, export.Plan{Format: format.JSONL{InvalidUTF8: format.Base64Invalid}}, 0, table)
	if a, b := whole.Manifest.Tables[0].Canonical, lines.Manifest.Tables[0].Canonical; a != b {
		t.Errorf("%s %v: the canonical sum is %s as CSV and %s as JSON Lines", name, values, a, b)
	}
	plan := load.Plan{Create: true, ReadBack: true}
	ways := []struct {
		name string
		fill func(sink.Sink) error
	}{
		{"a copy", func(dst sink.Sink) error {
			_, err := plan.Copy(t.Context(), dst, src, table, table)
			return err
		}},
		{"a load of CSV", func(dst sink.Sink) error {
			_, err := plan.Directory(t.Context(), dst, whole.Directory, nil)
			return err
		}},
		{"a load of JSON Lines", func(dst sink.Sink) error {
			_, err := plan.Directory(t.Context(), dst, lines.Directory, nil)
			return err
		}},
	}
	if !testkit.Soak() {
		ways = ways[turn%len(ways):][:1]
	}
	for _, way := range ways {
		is.exec("DROP TABLE IF EXISTS " + table)
		if err := filled(t, is, way.fill); err != nil {
			if !isRefused(err) {
				t.Errorf("%s of %s %v: %v", way.name, name, values, err)
			}
			return false
		}
		if err := against(t, is, whole.Directory, lines.Directory); err != nil {
			t.Errorf("%s of %s %v, compared: %v", way.name, name, values, err)
		}
	}
	is.exec("UPDATE " + table + " SET v = NULL WHERE id = 1")
	if err := against(t, is, whole.Directory); !errors.Is(err, export.ErrDiffers) {
		t.Errorf("%s %v: a value that was changed is not found: %v", name, values, err)
	}
	return true
}

// isRefused reports whether an error names what is refused: a row, or the type of a column.
func isRefused(err error) bool {
	_, row := errors.AsType[*sink.RowError](err)
	return row || errors.Is(err, errors.ErrUnsupported)
}

// filled fills a table of a database.
func filled(t *testing.T, is database, fill func(sink.Sink) error) error {
	t.Helper()
	dst, err := is.sink()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	return fill(dst)
}

// against compares exports with a database.
func against(t *testing.T, is database, all ...*export.Directory) (reason error) {
	t.Helper()
	src, err := is.source()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	for i, d := range all {
		named := func(table *manifest.Table, err error) {
			if err != nil {
				reason = errors.Join(reason, fmt.Errorf("export %d, table %s: %w", i, table.Name, err))
			}
		}
		reason = errors.Join(reason, d.Compare(t.Context(), src, 1, nil, nil, named))
	}
	return reason
}

// equalPostgres is PostgreSQL with values that others may print in another way, or cannot hold.
func equalPostgres(t *testing.T) database {
	db := randomPostgres(t)
	maps.Copy(db.values, map[string][]string{
		"numeric(10,3)": {"1.5", "-0.001", "1234567.800"}, "numeric": {"1.50", "-0.000", "1e30", "1e-20", "0.1"},
		"smallint": {"-32768", "7"}, "bigint": {"9223372036854775807"}, "real": {"0.1", "16777216", "1e-30", "1e6"},
		"double precision": {"0.1", "1e15", "1.066515964662378e17", "5e-324", "'NaN'", "'-Infinity'"},
		"varchar(5)":       {"'0.10'", "'007'", "' a '"}, "time": {"'24:00'", "'01:02:03.5'"},
		"timestamp":   {"'2026-01-02 03:04:05.100'", "'0001-01-01'", "'9999-12-31 23:59:59.999999'"},
		"timestamptz": {"'2026-03-29 02:30:00+01'", "'2024-02-29 23:59:59.123456+05:30'", "'infinity'"},
		"date":        {"'2024-02-29'", "'infinity'"}, "json": {`'{"b":1.0, "a":[1e2,"\u00e4\/"]}'`, "'null'"},
	})
	return db
}

func equalMariaDB(t *testing.T) database {
	db := randomMariaDB(t)
	maps.Copy(db.values, map[string][]string{
		"decimal(10,3)": {"1.5", "-0.001"}, "boolean": {"0", "1"}, "tinyint": {"-128"}, "smallint": {"7"},
		"int": {"-2147483648"}, "varchar(5)": {"'0.10'", "'007'", "' a '"}, "date": {"'2024-02-29'"},
		"datetime(3)": {"'2026-01-02 03:04:05.100'"}, "timestamp null": {"'2026-03-29 01:30:00'"},
		"time": {"'24:00:00'", "'01:02:03'"}, "float": {"0.1", "16777216", "1e-30"},
		"json": {`'{"b":1.0,  "a":[1e2]}'`}, "binary(3)": {"'a'"}, "enum('a','b c')": {"'b c'"},
		"decimal(20,0)": {"18446744073709551615"},
	})
	return db
}

func equalSQLite(t *testing.T) database {
	db := randomSQLite(t)
	maps.Copy(db.values, map[string][]string{
		"DECIMAL(10,3)": {"1.5", "7", "'abc'"}, "BOOLEAN": {"0", "1", "2"}, "VARCHAR(5)": {"'0.10'", "'007'"},
		"DATE": {"'2024-02-29'", "'2024-2-9'"}, "DATETIME": {"'2026-01-02 03:04:05.100'", "'2026-01-02T03:04'", "1.5"},
		"TIMESTAMP": {"'2026-01-02 24:00:00'"}, "TIMESTAMPTZ": {"'2026-01-02 03:04:05+01:00'", "'2026-01-02 03:04:05'"},
		"REAL": {"0.1", "1e300", "-2.0", "9e999", "1.066515964662378e17"},
		"UUID": {"'A0EEBC999C0B4EF8BB6D6BB9BD380A11'"},
		"TEXT": {"'0.10'", "''", "'a,\"b\nc'", "' '", "char(0)", "1.5"}, "JSON": {`'{"b":1,"a":1.50}'`, "'{'"},
		"TIME": {"'24:00:00'", "'01:02'"},
	})
	return db
}
