package load_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/convert"
	"culvert/format"
	"culvert/format/charset"
	"culvert/load"
	"culvert/sink"
)

// inLatin1 makes a table of each database in which texts are in latin1: as binary data, or, where a database takes any
// bytes for text, as text.
var inLatin1 = map[string]string{
	"PostgreSQL": `CREATE TABLE people (id int, name bytea);
		INSERT INTO people VALUES (1, '\x5a6feb'), (2, NULL), (3, '\x'), (4, '\x616e6e')`,
	"MariaDB": `CREATE TABLE people (id int, name varbinary(50));
		INSERT INTO people VALUES (1, x'5a6feb'), (2, NULL), (3, ''), (4, 'ann')`,
	"SQLite": `CREATE TABLE people (id INTEGER, name TEXT);
		INSERT INTO people VALUES (1, CAST(x'5a6feb' AS TEXT)), (2, NULL), (3, ''), (4, x'616e6e')`,
}

// TestConversionCharset has text in latin1 become text in UTF-8, between all databases and from files.
func TestConversionCharset(t *testing.T) {
	latin1, err := convert.Parser{Charset: charset.Decoder}.ParseText("people.name=charset latin1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1,Zoë\n", "2,\n", "3,\"\"\n", "4,ann\n"}
	fill := func(t *testing.T, to string, run func(plan *load.Plan, dst sink.Sink) (load.Stats, error)) {
		t.Helper()
		s := sides[to](t)
		if err := s.try("CREATE TABLE people (id int, name varchar(50))"); err != nil {
			t.Fatal(err)
		}
		plan := &load.Plan{Conversions: []convert.Conversion{latin1}, ReadBack: true}
		if stats, err := run(plan, s.dst); err != nil || !slices.Equal(stats.Changed, []string{"name"}) {
			t.Fatalf("%+v, %v", stats, err)
		}
		if got := csvOf(t, s.open(), "people"); !slices.Equal(got, want) {
			t.Errorf("the table has %q", got)
		}
	}
	for from, sql := range inLatin1 {
		s := sides[from](t)
		for one := range strings.SplitSeq(sql, ";") {
			if err := s.try(one); err != nil {
				t.Fatal(err)
			}
		}
		src := s.open()
		for to := range sides {
			t.Run(from+"/"+to, func(t *testing.T) {
				fill(t, to, func(plan *load.Plan, dst sink.Sink) (load.Stats, error) {
					return plan.Copy(t.Context(), dst, src, "people", "people")
				})
			})
		}
	}
	for to := range sides {
		t.Run("CSV/"+to, func(t *testing.T) {
			fill(t, to, func(plan *load.Plan, dst sink.Sink) (load.Stats, error) {
				text := "id,name\n1,Zo\xeb\n2,\n3,\"\"\n4,ann\n"
				return plan.Text(t.Context(), dst, strings.NewReader(text), "x", format.CSV{}, "people")
			})
		})
	}
}

// TestConversionCharsetErrors names the row and the column of bytes that are no character, and has no encodings without
// those of a Parser.
func TestConversionCharsetErrors(t *testing.T) {
	parser := convert.Parser{Charset: charset.Decoder}
	windows, err := parser.ParseText("name=charset windows-1252")
	if err != nil {
		t.Fatal(err)
	}
	path, dst := newSQLite(t)
	execSQLite(t, path, "CREATE TABLE people (id INTEGER, name TEXT)")
	plan := load.Plan{Conversions: []convert.Conversion{windows}}
	_, err = plan.Text(t.Context(), dst, strings.NewReader("id,name\n1,a\n2,b\x81\n"), "x", format.CSV{}, "people")
	wrong, is := errors.AsType[*convert.ValueError](err)
	if !is || wrong.Row != 2 || wrong.Column != "name" || !strings.Contains(err.Error(), "0x81 is no character") {
		t.Errorf("the error is %v", err)
	}
	for _, err := range []error{
		func() error { _, err := convert.ParseText("name=charset latin1"); return err }(),
		func() error { _, err := parser.ParseText("name=charset latin-one"); return err }(),
		func() error { _, err := parser.ParseText("name=charset"); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "charset") {
			t.Errorf("the error is %v", err)
		}
	}
}
