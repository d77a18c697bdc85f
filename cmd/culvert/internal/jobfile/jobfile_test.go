package jobfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/jobfile"
)

const nightly = `# every night
from: postgres:service=shop
to: s3://backups/shop/{date}
recipients: [age1abc]
jobs: 4
tables:
  exclude: ["audit.*", "*_old"]
  rows: { exclude: [sessions] }
  public.orders:
    where: |
      created > now() - interval '90 days'
    columns: {exclude: [internal_note]}
    follow: false
    references:
      - {columns: [customer], table: public.customers, key: [id]}
`

func TestParse(t *testing.T) {
	got, err := jobfile.Parse("nightly.yaml", []byte(nightly))
	if err != nil {
		t.Fatal(err)
	}
	follow := false
	want := &jobfile.File{
		From: "postgres:service=shop", To: "s3://backups/shop/{date}",
		Flags: jobfile.Flags{Recipients: []string{"age1abc"}, Jobs: 4},
		Tables: jobfile.Tables{
			Exclude: []jobfile.TablePattern{"audit.*", "*_old"},
			Rows:    jobfile.Rows{Exclude: []jobfile.TablePattern{"sessions"}},
			Named: map[jobfile.TablePattern]jobfile.Table{"public.orders": {
				Where:   "created > now() - interval '90 days'\n",
				Columns: jobfile.Columns{Exclude: []string{"internal_note"}},
				Follow:  &follow,
				References: []jobfile.Reference{
					{Columns: []string{"customer"}, Table: "public.customers", Key: []string{"id"}},
				},
			}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v,\nwant %+v", got, want)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		text, message, hint string
	}{
		{"", "f: it is empty", "see: culvert help jobs-file"},
		{"frm: x\n", `f:1:1: there is no field "frm"`, `did you mean "from"?`},
		{
			"to: a\ntables:\n  excldue: [a]\n", `f:3:3: "excldue" has a list, and has to be names with values`,
			`did you mean "exclude"?`,
		},
		{"tables:\n  t:\n    wher: a\n", `f:3:5: there is no field "wher"`, `did you mean "where"?`},
		{"tables:\n  rows: [a]\n", "f:2:9: this is a list, and has to be names with values", ""},
		{
			"tables: {exclude: ['a[']}\n", `f:1:20: the pattern "a[" has a [ without a ] (at character 2)`,
			"see: culvert help jobs-file",
		},
		{"tables: {a.b.c.d: {where: x}}\n", `f:1:10: the pattern "a.b.c.d" has 4 parts, and 2 at most fit a name; ` +
			"put quotes around a part that has a period (at character 1)", "see: culvert help jobs-file"},
		{
			"recipients: age1\n", "f:1:13: this is a text, and has to be a list",
			"put brackets around it, or write each item after a dash",
		},
		{"to: 2026\n", "f:1:5: this is a number, and has to be a text", "put quotes around it"},
		{"to:\n", "f:1:5: this is nothing, and has to be a text", ""},
		{"force: 'yes'\n", "f:1:8: this is a text, and has to be true or false", ""},
		{"jobs: -1\n", "f:1:7: this is a number, and has to be a number from 0 to 2147483647", ""},
		{"to: a\nto: b\n", `f:2:1: "to" is there twice`, "write both into one"},
		{
			"to: &a b\nfrom: *a\n", "f:1:5: this is an anchor or an alias, and has to be a text",
			"write the value itself; a text with & or * in front needs quotes",
		},
		{"to: a\n---\nto: b\n", "f:3:1: a second document", "write each job into a file of its own"},
		{"from: a\nfrom-file: b\n", "f: both from and from-file are there", "leave out one of them"},
		{"tables:\n  t: {references: [{columns: [a]}]}\n", `f:2:20: the field "table" is missing`, ""},
	} {
		_, err := jobfile.Parse("f", []byte(test.text))
		wrong, is := errors.AsType[*jobfile.Error](err)
		if !is {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if wrong.Error() != test.message || wrong.Hint != test.hint {
			t.Errorf("%q:\n%s (%s),\nwant\n%s (%s)", test.text, wrong, wrong.Hint, test.message, test.hint)
		}
	}
	for _, text := range []string{"a: [", "\tto: x", "to: 'x", "- a", "x", "? [a]: b", "to: !!str x", "{[a]: b}"} {
		if f, err := jobfile.Parse("f", []byte(text)); err == nil {
			t.Errorf("%q becomes %+v", text, f)
		}
	}
}

func TestRead(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# x\n", jobfile.MaxSize)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jobfile.Read(large); err == nil {
		t.Error("a large file is read")
	}
	if _, err := jobfile.Read(large + "r"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestApply sets what the command line leaves out, and names what the command does not have.
func TestApply(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	recipients := flags.StringArray("recipient", nil, "")
	jobs, format, grants := flags.Int("jobs", 0, ""), flags.String("format", "csv", ""), flags.Bool("grants", false, "")
	if err := flags.Parse([]string{"--jobs", "2"}); err != nil {
		t.Fatal(err)
	}
	f := jobfile.Flags{Recipients: []string{"a", "b"}, Jobs: 4, Format: "jsonl", Grants: true}
	if useless, err := f.Apply("f", flags); err != nil || useless != nil {
		t.Fatal(useless, err)
	}
	if len(*recipients) != 2 || *jobs != 2 || *format != "jsonl" || !*grants {
		t.Error(*recipients, *jobs, *format, *grants)
	}
	f = jobfile.Flags{Swap: true, Mask: jobfile.Masks{"a=null"}, Jobs: 3}
	if useless, err := f.Apply("f", flags); err != nil || !slices.Equal(useless, []string{"swap", "mask"}) {
		t.Error(useless, err)
	}
}

// TestSchemaIsPublished holds the file that editors read to the types.
func TestSchemaIsPublished(t *testing.T) {
	const file = "../../../../docs/job-file.schema.json"
	want := string(jobfile.Schema())
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not what culvert job schema prints (%v): write it anew", file, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		nightly, "to: &a b", "tables: {'\"a.b\"': {where: \"x\"}}", "a: |\n  b\n", "? a\n: b\n", "[[{a: *b}]]",
		"--- !x\na: <<\n", "%YAML 1.2\n---\nto: a", "to: >-\n a\n\n b", "jobs: 0x7fffffffff",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > jobfile.MaxSize {
			return
		}
		_, err := jobfile.Parse("f", text)
		if err == nil {
			return
		}
		if wrong, is := errors.AsType[*jobfile.Error](err); !is || wrong.Text == "" {
			t.Errorf("%q: %v", text, err)
		}
	})
}
