package load_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
)

// jsonTexts are values that look like others in JSON Lines.
var jsonTexts = []string{
	`null`, ` null `, `"null"`, `""`, `"a \"string\""`, `"17"`, `17`, `-0.0`, `true`, `"true"`, `[]`, `{}`, `"\\x00ff"`,
	`{"a": [1.50, null], "b": "x,y"}`, `{"base64":"/w=="}`, `{"base64":"YQ=="}`, `{"json_text":"null"}`,
	`{ "json_text" : "{\"json_text\":\"null\"}" }`, `{"json_text":"null","more":1}`, `{"json_text":null}`,
	"{\n  \"a\": 1,\r\n  \"b\": [\n1 ]\n}\n", "[\n1\n]", "\"a\\nb\"", "\t\"x\"",
}

// TestJSONInJSONL loads every value of JSON from JSON Lines, beside NULL, into columns that have it by their type, and
// into some whose type does not say so.
func TestJSONInJSONL(t *testing.T) {
	var plain []string // without line breaks and white space around it, which JSON Lines leave out
	for _, text := range jsonTexts {
		if !strings.ContainsAny(text, "\n\r\t") && strings.TrimSpace(text) == text {
			plain = append(plain, text)
		}
	}
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	for name, test := range map[string]struct {
		open    func(t *testing.T) database
		setup   []string
		columns []string // of JSON
		texts   []string
		quoted  func(text string) string
	}{
		"postgres": {
			randomPostgres,
			[]string{"CREATE DOMAIN document AS json", "CREATE DOMAIN answer AS boolean"},
			[]string{"json", "jsonb", "document", "document NOT NULL DEFAULT 'null'"},
			jsonTexts, quoted,
		},
		"mariadb": {
			randomMariaDB, nil,
			[]string{"json", "json NOT NULL DEFAULT 'null'"},
			jsonTexts,
			func(text string) string { return quoted(strings.ReplaceAll(text, `\`, `\\`)) },
		},
		"sqlite": {randomSQLite, nil, []string{"json", "jsonb", "text"}, append(plain, "no {JSON", "'", ""), quoted},
	} {
		t.Run(name, func(t *testing.T) {
			db := test.open(t)
			for _, sql := range test.setup {
				db.exec(sql)
			}
			create := "(id int PRIMARY KEY"
			for i, column := range test.columns {
				create += fmt.Sprintf(", c%d %s", i, column)
			}
			if name == "postgres" {
				create += ", d answer"
			}
			for _, table := range []string{"jsons", "copies"} {
				db.exec("CREATE TABLE " + table + " " + create + ")")
			}
			for i, text := range test.texts {
				values := ""
				for _, column := range test.columns {
					value := test.quoted(text)
					if i%5 == 4 && !strings.Contains(column, "NOT NULL") {
						value = "NULL"
					}
					values += ", " + value
				}
				if name == "postgres" {
					values += ", true"
				}
				db.exec(fmt.Sprintf("INSERT INTO jsons VALUES (%d%s)", i, values))
			}
			src, err := db.source()
			if err != nil {
				t.Fatal(err)
			}
			backup := newBackupOf(t, src, export.Plan{Format: format.JSONL{}}, 0, "jsons")
			if err := backup.Compare(t.Context(), src, 1, nil, nil, nil); err != nil {
				t.Errorf("the export is compared with its source: %v", err)
			}
			want := csvOf(t, src, "jsons")
			closing(t, src)

			got := copiesOf(t, db, func(dst sink.Sink) error {
				plan := load.Plan{ReadBack: name != "mariadb"}
				_, err := plan.Directory(t.Context(), dst, backup.Directory, map[string]string{"jsons": "copies"})
				return err
			})
			bare := func(row string) string { return strings.Join(strings.FieldsFunc(row, isLayout), "") }
			for i := range want {
				if i >= len(got) || bare(got[i]) != bare(want[i]) {
					t.Errorf("%q became %q", want[i], got[min(i, len(got)-1)])
				}
			}
		})
	}
}

// copiesOf has the table copies filled, and returns its rows.
func copiesOf(t *testing.T, db database, fill func(sink.Sink) error) []string {
	t.Helper()
	dst, err := db.sink()
	if err != nil {
		t.Fatal(err)
	}
	err = fill(dst)
	closing(t, dst)
	if err != nil {
		t.Fatal(err)
	}
	again, err := db.source()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, again)
	return csvOf(t, again, "copies")
}

func isLayout(r rune) bool { return unicode.IsSpace(r) || r == '"' }

// TestSumOfJSONL has the rows of files of JSON Lines be others than those that the manifest has the sum of.
func TestSumOfJSONL(t *testing.T) {
	backup := newBackup(t, newShop(t), export.Plan{Format: format.JSONL{}}, 0)
	for i := range backup.Manifest.Tables {
		backup.Manifest.Tables[i].Parts[0].Sum = strings.Repeat("0", 31) + "1"
	}
	for name, to := range map[string]sink.Sink{
		"batches": newMemory(shopTables...), "csv": asText{newMemory(shopTables...), format.CSV{}},
	} {
		plan := load.Plan{}
		_, err := plan.Directory(t.Context(), to, backup.Directory, map[string]string{"items": ""})
		if wrong, is := errors.AsType[*load.SumError](err); !is || wrong.Where != "in the file" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJSONTextOfSQLite loads a file of JSON Lines into a table of SQLite, where JSON is text.
func TestJSONTextOfSQLite(t *testing.T) {
	db := randomSQLite(t)
	db.exec("CREATE TABLE jsons (id INTEGER PRIMARY KEY, j json)")
	db.exec("CREATE TABLE copies (id INTEGER PRIMARY KEY, j json)")
	db.exec(`INSERT INTO jsons (j) VALUES ('{"a": 1}'), ('"text"'), ('null'), (NULL), ('no JSON')`)
	src, err := db.source()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	plan := export.Plan{Format: format.JSONL{}, Unencrypted: true, Compression: export.None}
	_, err = plan.Table(t.Context(), &text, src, "jsons")
	want := csvOf(t, src, "jsons")
	closing(t, src)
	if err != nil {
		t.Fatal(err)
	}
	got := copiesOf(t, db, func(dst sink.Sink) error {
		_, err := new(load.Plan).Text(t.Context(), dst, &text, "jsons.jsonl", format.JSONL{}, "copies")
		return err
	})
	if !slices.Equal(got, want) {
		t.Errorf("%q became %q", want, got)
	}
}

// TestForeignJSON loads JSON Lines of another program: strings become JSON in every database that has it as a type.
func TestForeignJSON(t *testing.T) {
	t.Parallel()
	lines := `{"id":1,"j":"17"}` + "\n" + `{"id":2,"j":17}` + "\n" + `{"id":3,"j":"true"}` + "\n" +
		`{"id":4,"j":"a"}` + "\n" + `{"id":5,"j":null}` + "\n" + `{"id":6,"j":{"json_text":"null"}}` + "\n"
	want := []string{"1,\"\"\"17\"\"\"\n", "2,17\n", "3,\"\"\"true\"\"\"\n", "4,\"\"\"a\"\"\"\n", "5,\n", "6,null\n"}
	for name, open := range map[string]func(t *testing.T) database{
		"postgres": randomPostgres, "mariadb": randomMariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			db.exec("CREATE TABLE copies (id int, j json)")
			got := copiesOf(t, db, func(dst sink.Sink) error {
				plan := load.Plan{ReadBack: true}
				_, err := plan.Text(t.Context(), dst, strings.NewReader(lines), "a.jsonl", format.JSONL{}, "copies")
				return err
			})
			if !slices.Equal(got, want) {
				t.Errorf("the rows are %q, want %q", got, want)
			}
		})
	}
}
