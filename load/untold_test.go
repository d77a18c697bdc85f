package load_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// TestUntold exports values of SQLite of every type from columns of every kind of type. Those that come back with
// another type are in columns that the export names, and no others are.
func TestUntold(t *testing.T) {
	values := []string{
		"7", "-1.5", "1e300", "9e999", "-9e999", "'7'", "'text'", "'t'", "'no'", "'true'", "1", "0", "''",
		"'Infinity'", "'NaN'", `'\x01'`, `'\xzz'`, "x'01'", "x''",
	}
	types := []string{
		"", "BLOB", "BINARY", "TEXT", "VARCHAR(9)", "INTEGER", "REAL", "NUMERIC(9,2)", "DECIMAL", "BOOLEAN", "JSON",
		"DATETIME", "POINT", "STRING", "OID",
		"ANY", // last, in a table that is strict, since only such a one has it
	}
	var statements, tables, classes []string
	for i := range values {
		classes = append(classes, fmt.Sprintf("typeof(v%d)", i))
	}
	for i, declared := range types {
		table, options := fmt.Sprintf("t%d", i), ""
		if declared == "ANY" {
			options = "STRICT"
		}
		var columns []string
		for j := range values {
			columns = append(columns, fmt.Sprintf("v%d %s", j, declared))
		}
		tables = append(tables, table)
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE %s (%s) %s", table, strings.Join(columns, ", "), options),
			fmt.Sprintf("INSERT INTO %s VALUES (%s)", table, strings.Join(values, ", ")))
	}
	for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
		for _, partSize := range []int64{0, 1 << 20} {
			src := newLite(t, statements...)
			backup := newBackupOf(t, src, export.Plan{Format: f}, partSize, tables...)
			path, dst := newSQLite(t)
			plan := load.Plan{Create: true, ReadBack: true}
			if _, err := plan.Directory(t.Context(), dst, backup.Directory, nil); err != nil {
				t.Fatal(err)
			}
			back := openSQLite(t, path)
			for i, one := range backup.Directory.Manifest.Tables {
				sql := "SELECT " + strings.Join(classes, ", ") + " FROM " + one.Name
				before, after := fieldsOf(t, src, sql), fieldsOf(t, back, sql)
				for j, value := range values {
					told := !slices.Contains(one.Untold(), fmt.Sprintf("v%d", j))
					if told != (before[j] == after[j]) {
						t.Errorf("%T: %s in a column of type %q: %s came back as %s",
							f, value, types[i], before[j], after[j])
					}
				}
			}
		}
	}
}

// fieldsOf returns the fields of the only row of a query.
func fieldsOf(t *testing.T, src source.Source, sql string) []string {
	t.Helper()
	var text bytes.Buffer
	plan := export.Plan{Unencrypted: true, Compression: export.None}
	if _, err := plan.Query(t.Context(), &text, src, sql); err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(text.String(), "\n")
	return strings.Split(strings.TrimSuffix(row, "\n"), ",")
}

// TestTruthReadBack has SQLite print the truth of a file as the numbers that it stores.
func TestTruthReadBack(t *testing.T) {
	s := sqliteSide(t)
	if err := s.try("CREATE TABLE t (a BOOLEAN, b TEXT)"); err != nil {
		t.Fatal(err)
	}
	plan := load.Plan{ReadBack: true}
	for _, text := range []string{"a,b\ntrue,true\nf,f\n1,0\n,\n", "a,b\nno,no\n"} {
		plan.Filling.Existing = sink.Truncate
		if _, err := plan.Text(t.Context(), s.dst, strings.NewReader(text), "x.csv", format.CSV{}, "t"); err != nil {
			t.Error(err)
		}
	}
}
