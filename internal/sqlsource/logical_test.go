package sqlsource_test

import (
	"strings"
	"testing"

	"culvert/internal/sqlsource"
	"culvert/source"
	"culvert/source/sourcetest"
)

// TestLogical has names that need no server: those of other versions, and those that people write in SQLite.
func TestLogical(t *testing.T) {
	for _, test := range []struct {
		of         source.Dialect
		name, want string
	}{
		{source.PostgreSQL, "numeric(3,-2)", "decimal(3,-2)"},
		{source.PostgreSQL, "time(3) without time zone[]", "list(time(3))"},
		{source.PostgreSQL, "interval day to second(3)", "interval"},
		{source.PostgreSQL, "interval[]", "list(interval)"},
		{source.PostgreSQL, "point[]", "list(unknown)"},
		{source.PostgreSQL, "integer[][]", "list(unknown)"}, // of a domain of lists
		{source.PostgreSQL, "public.integer", "unknown"},
		{source.MySQL, "json", "json"},
		{source.MySQL, "int", "int32"}, // without a width, as MySQL 8 prints it
		{source.MySQL, "bit(63)", "int64"},
		{source.MySQL, "bit(31)", "int32"},
		{source.MySQL, "bit(32)", "int64"},
		{source.MySQL, "geomcollection", "bytes"},
		{source.MySQL, "vector(3)", "bytes"},
		{source.MariaDB, "double(9,2) unsigned", "float64"},
		{source.MariaDB, "varchar(0)", "string"},
		{source.MariaDB, "set('int unsigned','b(3)')", "string"},
		{source.SQLite, "INT(11) UNSIGNED", "int64"},
		{source.SQLite, "VARYING CHARACTER(5)", "string(5)"},
		{source.SQLite, "text(5)", "string"},
		{source.SQLite, "LONGBLOB", "bytes"},
		{source.SQLite, "float(3)", "float64"},
		{source.SQLite, "datetime(6)", "timestamp"},
		{source.SQLite, "datetime(77)", "timestamp(9)"},
		{source.SQLite, "decimal(-7)", "decimal"},
		{source.SQLite, "decimal(0)", "decimal"},
		{source.SQLite, "ANY", "unknown"},
		{source.SQLite, "STRING", "unknown"},
		{source.SQLite, "", "unknown"},
		{"", "integer", "unknown"},
	} {
		if got := sqlsource.Logical(test.of, test.name).String(); got != test.want {
			t.Errorf("%s: %q is %s, want %s", test.of, test.name, got, test.want)
		}
	}
}

// TestLogicalsAreDocumented compares the names that are known with those in the comment of package source.
func TestLogicalsAreDocumented(t *testing.T) {
	documented := sourcetest.DocumentedTypes(t)
	for system, names := range sqlsource.Logicals {
		listed := map[string]bool{"enum": true} // stands for types that have names
		for _, one := range documented[system] {
			base, _, _ := strings.Cut(strings.ToLower(one.Name), "(")
			_, zone, _ := strings.Cut(one.Name, ") ")
			listed[strings.TrimSpace(base+" "+zone)] = true
		}
		for name := range names {
			if !listed[name] {
				t.Errorf("package source does not document %q of %s", name, system)
			}
		}
	}
}

// FuzzLogical finds a text for every logical type.
func FuzzLogical(f *testing.F) {
	f.Add("numeric(3,-2)")
	f.Add("unsigned bit(7) zerofill")
	f.Fuzz(func(t *testing.T, name string) {
		for _, of := range []source.Dialect{source.PostgreSQL, source.MySQL, source.SQLite} {
			got := sqlsource.Logical(of, name)
			if again, err := source.ParseType(got.String()); err != nil || again != got {
				t.Errorf("%s: %q is %+v, whose text is %+v, error %v", of, name, got, again, err)
			}
		}
	})
}
