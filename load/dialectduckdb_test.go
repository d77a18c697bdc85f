package load_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
	"culvert/source"
)

// duckCase is a file in a dialect, as DuckDB names the settings, and the rows that it reads. NULL is nil.
type duckCase struct {
	File    string      `json:"file"`
	Delim   string      `json:"delim"`
	Quote   string      `json:"quote"`
	Escape  string      `json:"escape"`
	Null    string      `json:"nullstr"`
	Comment string      `json:"comment"`
	NewLine string      `json:"new_line"`
	Header  bool        `json:"header"`
	Skip    int         `json:"skip"`
	Columns int         `json:"columns"`
	Rows    [][]*string `json:"rows"`
	Error   string      `json:"error"`
}

// duckProgram has DuckDB read each case. What a load does not guess, it does not guess either.
const duckProgram = `
import duckdb, json, sys
cases = json.load(sys.stdin)
def text(value):
    return "'" + value.replace("'", "''") + "'"
for case in cases:
    settings = ", ".join(f"{name} = {text(case[name])}" for name in ("delim", "quote", "escape", "nullstr", "comment"))
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(case["columns"]))
    line = text(case["new_line"].replace("\r", "\\r").replace("\n", "\\n"))
    try:
        case["rows"] = duckdb.sql(f"select * from read_csv({text(case['file'])}, {settings}, new_line = {line}, "
            f"columns = {{{columns}}}, header = {case['header']}, skip = {case['skip']}, auto_detect = false, "
            "allow_quoted_nulls = false, parallel = false)").fetchall()
    except duckdb.Error as error:
        case["error"] = str(error)
json.dump(cases, sys.stdout)
`

// TestDialectDuckDB loads random rows that are written in random dialects. The table has the rows that DuckDB reads
// with the same settings.
func TestDialectDuckDB(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	testkit.NeedModule(t, "duckdb")
	random := rand.New(rand.NewPCG(21, 22))
	cases := make([]duckCase, 500)
	dialects := make([]format.Dialect, len(cases))
	folder := t.TempDir()
	for i := range cases {
		var text string
		dialects[i], text = randomWritten(random, 2+random.IntN(3))
		d := dialects[i]
		cases[i] = duckCase{
			File: filepath.Join(folder, fmt.Sprint(i)), Delim: d.Delimiter, Quote: string(d.Quote),
			Escape: string(d.Escape), Null: d.Null, Comment: d.Comment, NewLine: d.LineEnd, Header: !d.NoHeader,
			Skip: d.Skip, Columns: len(d.Names),
		}
		if !d.NoHeader {
			dialects[i].Names = nil
		}
		if err := os.WriteFile(cases[i].File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testkit.ByPython(t, duckProgram, &cases)

	db := testkit.Postgres(t).NewDatabase(t)
	dst, err := postgres.OpenSink(t.Context(), db.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	db.Exec(t, "CREATE TABLE copies2 (c0 text, c1 text); CREATE TABLE copies3 (c0 text, c1 text, c2 text); "+
		"CREATE TABLE copies4 (c0 text, c1 text, c2 text, c3 text)")
	for i, one := range cases {
		text, err := os.ReadFile(one.File)
		if err != nil {
			t.Fatal(err)
		}
		table := fmt.Sprint("copies", one.Columns)
		db.Exec(t, "TRUNCATE "+table)
		_, err = (&load.Plan{}).Text(t.Context(), dst, strings.NewReader(string(text)), "x", dialects[i], table)
		if err != nil || one.Error != "" {
			t.Errorf("%q in %+v: %v; DuckDB says %q", text, dialects[i], err, one.Error)
			continue
		}
		want := csvOfTexts(t, one.Rows, one.Columns)
		src, err := postgres.OpenSource(t.Context(), db.ConnString()) // which sees the table as it is now
		if err != nil {
			t.Fatal(err)
		}
		if got := csvOf(t, src, table); !slices.Equal(got, want) {
			t.Errorf("%q in %+v became %q, and in DuckDB %q", text, dialects[i], got, want)
		}
		closing(t, src)
	}
}

// csvOfTexts is what csvOf returns of a table with these rows.
func csvOfTexts(t *testing.T, rows [][]*string, columns int) []string {
	t.Helper()
	encoder, err := format.CSV{}.Encoder(make([]source.Column, columns))
	if err != nil {
		t.Fatal(err)
	}
	var batch source.Batch
	batch.Reset(columns)
	for _, row := range rows {
		for _, value := range row {
			if value == nil {
				batch.AppendNull()
			} else {
				batch.Append(source.Text, []byte(*value))
			}
		}
		batch.EndRow()
	}
	text, err := encoder.AppendRows(nil, &batch)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(rowsOf(text)))
}

// randomWritten returns rows in a dialect that DuckDB has, and the dialect, always with names.
func randomWritten(random *rand.Rand, columns int) (format.Dialect, string) {
	choose := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	d := format.Dialect{
		Delimiter: choose(",", ";", "\t", "|", "||", "é"), Quote: choose(`"`, "'")[0], Null: choose("", `\N`, "NULL"),
		NoHeader: random.IntN(2) == 0, Escapes: format.EscapeQuoted, LineEnd: choose("\n", "\r\n"),
		Comment: choose("", "", "#"), Skip: max(0, random.IntN(5)-2),
	}
	d.Escape = choose(string(d.Quote), string(d.Quote), `\`, "^")[0]
	if strings.IndexByte(d.Null, d.Escape) >= 0 {
		d.Null = "NULL" // as DuckDB demands
	}
	for i := range columns {
		d.Names = append(d.Names, fmt.Sprint("c", i))
	}
	var b strings.Builder
	b.WriteString(strings.Repeat("not a row"+d.LineEnd, d.Skip))
	if !d.NoHeader {
		b.WriteString(strings.Join(d.Names, d.Delimiter) + d.LineEnd)
	}
	quoted := strings.NewReplacer(string(d.Escape), string(d.Escape)+string(d.Escape),
		string(d.Quote), string(d.Escape)+string(d.Quote))
	special := d.Delimiter + string(d.Quote) + string(d.Escape) + d.Comment + "\r\n"
	for range 1 + random.IntN(5) {
		if d.Comment != "" && random.IntN(4) == 0 {
			b.WriteString(d.Comment + " a comment" + d.LineEnd)
		}
		for i := range columns {
			if i > 0 {
				b.WriteString(d.Delimiter)
			}
			var value string
			for range random.IntN(6) {
				value += choose("a", "é", "😀", " ", "N", "NULL", `\`, "^", "#", "'", `"`, "\n", "\r\n", d.Delimiter,
					d.Null)
			}
			switch isPlain := !strings.ContainsAny(value, special) && value != d.Null; {
			case random.IntN(5) == 0:
				b.WriteString(d.Null)
			case isPlain && random.IntN(3) > 0:
				b.WriteString(value)
			default:
				b.WriteString(string(d.Quote) + quoted.Replace(value) + string(d.Quote))
			}
		}
		b.WriteString(d.LineEnd)
	}
	return d, b.String()
}
