package load_test

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"unicode/utf16"

	"culvert/format"
	"culvert/format/charset"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// programFiles are files as programs write them, with the settings that read them. The rows have NULL for NULL.
var programFiles = []struct {
	name, settings string
	text           string
	rows           [][]string
}{
	// Spreadsheets. An empty cell and an empty text are the same to them: nothing between delimiters.
	{
		name: "Excel, CSV UTF-8, where commas are decimal", settings: "delimiter=;",
		text: "\ufeffname;note\r\nMüller;1,50\r\n\"a;b\";\"two\nlines\"\r\n\"say \"\"hi\"\"\";\r\n;' x \r\n",
		rows: [][]string{{"Müller", "1,50"}, {"a;b", "two\nlines"}, {`say "hi"`, "NULL"}, {"NULL", "' x "}},
	},
	{
		name: "Excel, CSV UTF-8, where points are decimal", settings: "",
		text: "\ufeffname,note\r\nMüller,1.50\r\n\"a,b\",\"two\nlines\"\r\n,TRUE\r\n",
		rows: [][]string{{"Müller", "1.50"}, {"a,b", "two\nlines"}, {"NULL", "TRUE"}},
	},
	{
		name: "Excel, CSV", settings: "delimiter=;,encoding=windows-1252",
		text: "name;note\r\nCaf\xe9;5 \x80\r\nZo\xeb;\"\x84a;b\x93\"\r\n",
		rows: [][]string{{"Café", "5 €"}, {"Zoë", "„a;b“"}},
	},
	{
		name: "Excel for Mac, CSV", settings: "delimiter=;,encoding=macintosh",
		text: "name;note\rCaf\x8e;5 \xdb\rZo\x91;x\r",
		rows: [][]string{{"Café", "5 €"}, {"Zoë", "x"}},
	},
	{
		name: "Excel, Unicode text", settings: "tsv,encoding=utf-16le",
		text: asUTF16("\ufeffname\tnote\r\nCafé\t😀\r\n\"a\tb\"\t\"say \"\"hi\"\"\"\r\n"),
		rows: [][]string{{"Café", "😀"}, {"a\tb", `say "hi"`}},
	},
	{
		name: "Excel, with sep=", settings: "delimiter=;,skip=1",
		text: "sep=;\r\nname;note\r\na;1,5\r\nb;2,5\r\n",
		rows: [][]string{{"a", "1,5"}, {"b", "2,5"}},
	},
	{
		name: "LibreOffice, quotes around all texts", settings: "",
		text: "\"name\",\"note\"\n\"Müller\",1.5\n\"a \"\"b\"\"\",\"two\nlines\"\n,\"\\N\"\n",
		rows: [][]string{{"Müller", "1.5"}, {`a "b"`, "two\nlines"}, {"NULL", `\N`}},
	},
	{
		name: "LibreOffice, single quotes", settings: "delimiter=;,quote='",
		text: "name;note\n'a;b';'it''s'\n'say \"hi\"; x';2\n",
		rows: [][]string{{"a;b", "it's"}, {`say "hi"; x`, "2"}},
	},
	{
		name: "Google Sheets", settings: "", // the last row does not end
		text: "name,note\r\n\"a, b\",11/29/2026\r\n\"say \"\"hi\"\"\",\r\n\"two\nlines\",x",
		rows: [][]string{{"a, b", "11/29/2026"}, {`say "hi"`, "NULL"}, {"two\nlines", "x"}},
	},

	// MySQL. A backslash is before what has another meaning, and NULL is \N.
	{
		name: "MySQL, INTO OUTFILE", settings: "mysql",
		text: "a\\\tb\tc:\\\\d\ntwo\\\nlines\t\\N\n\t\\\\N\nCR\r\t\"x\"\n",
		rows: [][]string{{"a\tb", `c:\d`}, {"two\nlines", "NULL"}, {"", `\N`}, {"CR\r", `"x"`}},
	},
	{
		name: "mysqldump --tab, with quotes", settings: `escape=\,escapes=letters,null=\N,header=no,lines=lf`,
		text: "\"a,b\",\"say \\\"hi\\\"\"\n\"c:\\\\d\",\\N\n\"two\nlines\",\"\"\n",
		rows: [][]string{{"a,b", `say "hi"`}, {`c:\d`, "NULL"}, {"two\nlines", ""}},
	},
	{
		name: "mysql --batch", settings: "postgres,null=NULL,header=yes",
		text: "name\tnote\na\\tb\tc:\\\\d\ntwo\\nlines\tNULL\n\tx\n",
		rows: [][]string{{"a\tb", `c:\d`}, {"two\nlines", "NULL"}, {"", "x"}},
	},

	// Warehouses.
	{
		name: "Redshift, UNLOAD ... ESCAPE NULL AS 'NULL'", settings: `delimiter=|,escape=\,null=NULL,header=no`,
		text: "a\\|b|c:\\\\d\ntwo\\\nlines|NULL\n|say \\\"hi\\\"\n",
		rows: [][]string{{"a|b", `c:\d`}, {"two\nlines", "NULL"}, {"", `say "hi"`}},
	},
	{
		name:     "Redshift, UNLOAD ... ADDQUOTES ESCAPE NULL AS '\\N'",
		settings: `delimiter=|,escape=\,null=\N,header=no`,
		text:     "\"a|b\"|\"c:\\\\d\"\n\"two\\\nlines\"|\\N\n\"\"|\"say \\\"hi\\\"\"\n",
		rows:     [][]string{{"a|b", `c:\d`}, {"two\nlines", "NULL"}, {"", `say "hi"`}},
	},
	{
		name: "Redshift, UNLOAD ... CSV HEADER", settings: "",
		text: "name,note\n\"a,b\",c:\\d\n\"two\nlines\",\n\"\",\"say \"\"hi\"\"\"\n",
		rows: [][]string{{"a,b", `c:\d`}, {"two\nlines", "NULL"}, {"", `say "hi"`}},
	},
	{
		name: "Snowflake, FIELD_OPTIONALLY_ENCLOSED_BY", settings: `null=\N,header=no`,
		text: "\"a,b\",\"c:\\d\"\n\"two\nlines\",\\N\n\"\",\"say \"\"hi\"\"\"\n\"2026-01-02\",1\n",
		rows: [][]string{{"a,b", `c:\d`}, {"two\nlines", "NULL"}, {"", `say "hi"`}, {"2026-01-02", "1"}},
	},
	{
		name: "Snowflake, without quotes", settings: `quote=none,escape=\,null=\N,header=no`,
		text: "a\\,b,c:\\\\d\nx,\\N\ny,2026-01-02\n",
		rows: [][]string{{"a,b", `c:\d`}, {"x", "NULL"}, {"y", "2026-01-02"}},
	},
	{
		name: "BigQuery", settings: "",
		text: "name,note\n\"a,b\",2026-01-02 03:04:05 UTC\n\"two\nlines\",\n\"\",\"say \"\"hi\"\"\"\n",
		rows: [][]string{{"a,b", "2026-01-02 03:04:05 UTC"}, {"two\nlines", "NULL"}, {"", `say "hi"`}},
	},
	{
		name: "ClickHouse, CSVWithNames", settings: `null=\N`,
		text: "\"name\",\"note\"\n\"a,b\",\"c:\\d\"\n\"two\nlines\",\\N\n\"\",\"say \"\"hi\"\"\"\n",
		rows: [][]string{{"a,b", `c:\d`}, {"two\nlines", "NULL"}, {"", `say "hi"`}},
	},
	{
		name: "PostgreSQL, COPY", settings: "postgres",
		text: "a\\tb\tc:\\\\d\ntwo\\nlines\t\\N\n\t\\\\N\n",
		rows: [][]string{{"a\tb", `c:\d`}, {"two\nlines", "NULL"}, {"", `\N`}},
	},
}

func asUTF16(text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return string(b)
}

// TestPrograms loads files as other programs write them. The rows in each database are those that the program had.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		open   func(*testing.T) database
		create string
	}{
		"postgres": {randomPostgres, "CREATE TABLE copies (name text, note text)"},
		"mariadb":  {randomMariaDB, "CREATE TABLE copies (name text, note text) CHARACTER SET utf8mb4"},
		"sqlite":   {randomSQLite, "CREATE TABLE copies (name text, note text)"},
	} {
		t.Run(name, func(t *testing.T) {
			db := test.open(t)
			db.exec(test.create)
			for _, file := range programFiles {
				encoder, err := format.CSV{}.Encoder([]source.Column{{Name: "name"}, {Name: "note"}})
				if err != nil {
					t.Fatal(err)
				}
				text, err := encoder.AppendRows(nil, batchOf(file.rows, "NULL"))
				if err != nil {
					t.Fatal(err)
				}
				want := slices.Sorted(slices.Values(rowsOf(text)))
				got := copiesOf(t, db, func(dst sink.Sink) error { return loadAs(t, dst, file.settings, file.text) })
				if !slices.Equal(got, want) {
					t.Errorf("%s became %q instead of %q", file.name, got, want)
				}
				db.exec("DELETE FROM copies")
			}
		})
	}
}

// loadAs loads a text with settings of --csv.
func loadAs(t *testing.T, dst sink.Sink, settings, text string) error {
	t.Helper()
	d, encoding, err := format.ParseDialect(settings)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader([]byte(text))
	if encoding != "" {
		if r, err = charset.NewReader(r, encoding); err != nil {
			t.Fatal(err)
		}
	}
	_, err = (&load.Plan{}).Text(t.Context(), dst, r, "x.csv", d, "copies")
	return err
}
