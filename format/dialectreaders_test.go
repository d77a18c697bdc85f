package format_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// readersProgram prints the rows that a reader finds in a file: JSON, with null for NULL.
const readersProgram = `
import csv, json, sys
reader, file = sys.argv[1:]
if reader == "excel":
    rows = list(csv.reader(open(file, encoding="utf-8-sig", newline=""), delimiter=";"))[1:]
elif reader == "duckdb":
    import duckdb
    rows = duckdb.sql(f"select * from read_csv('{file}', nullstr = '\\N', allow_quoted_nulls = false, "
        "all_varchar = true)").fetchall()
elif reader == "pandas":
    import pandas
    frame = pandas.read_csv(file, na_values=["\\N"], keep_default_na=False, dtype=str)
    rows = [[None if pandas.isna(x) else x for x in row] for row in frame.values.tolist()]
elif reader == "clickhouse":
    import chdb
    rows = json.loads(chdb.query(f"select * from file('{file}', CSVWithNames, 'a Nullable(String), "
        "b Nullable(String)')", "JSONCompact").bytes())["data"]
print(json.dumps(rows))
`

// TestDialectReaders has the programs that for= names read what is written for them.
func TestDialectReaders(t *testing.T) {
	values := [][]any{
		{"a;b,c", "1"},
		{"", nil},
		{`C:\new "x"`, ""},
		{nil, "null"},
		{"two\nlines\ttab", `\N`},
		{"é", " x "},
		{"'", "\\"},
	}
	readers := map[string]string{"excel": "csv"}
	if testkit.Soak() {
		readers["duckdb"], readers["clickhouse"], readers["pandas"] = "duckdb", "chdb", "pandas"
	}
	for reader, module := range readers {
		t.Run(reader, func(t *testing.T) {
			testkit.NeedModule(t, module)
			program := reader
			if reader == "pandas" {
				program = "duckdb" // which writes what pandas reads
			}
			d, _, err := format.ParseDialect("for=" + program)
			if err != nil {
				t.Fatal(err)
			}
			encoder, err := d.Encoder([]source.Column{{Name: "a"}, {Name: "b"}})
			if err != nil {
				t.Fatal(err)
			}
			var batch source.Batch
			batch.Reset(2)
			want := make([][]any, len(values))
			for i, row := range values {
				for _, value := range row {
					if text, is := value.(string); is {
						batch.Append(source.Text, []byte(text))
						if reader == "pandas" && text == `\N` { // which it takes for NULL in quotes, too
							value = nil
						}
					} else {
						batch.AppendNull()
						if reader == "excel" { // whose empty cells are both
							value = ""
						}
					}
					want[i] = append(want[i], value)
				}
				batch.EndRow()
			}
			text, err := encoder.AppendRows(encoder.AppendHeader(nil), &batch)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "x.csv")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			command := testkit.Python(t, "-c", readersProgram, reader, file)
			command.Stderr = os.Stderr
			out, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got [][]any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q became %q instead of %q", text, got, want)
			}
		})
	}
}
