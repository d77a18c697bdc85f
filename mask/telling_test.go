package mask_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/mask"
	"culvert/source"
)

// TestTelling names what definitions have of texts about masked columns, and nothing else.
func TestTelling(t *testing.T) {
	people := table(t, "people", []source.Constraint{
		{Kind: source.Check, Name: "other", Definition: "CHECK ((email <> 'a@b'::text))"},
		{Kind: source.Check, Name: "long", Definition: "CHECK ((length(email) > 3))"},
		{Kind: source.Check, Name: "kind", Definition: "CHECK ((kind = 'email'::text))"},
	}, [3]string{"id", "integer", "int32"}, [3]string{"email", "text", "string"}, [3]string{"kind", "text", "string"})
	d := people.Definition
	d.Columns[1].Default, d.Columns[1].Comment, d.Columns[2].Default = "'a@b'::text", "such as a@b", "'x'::text"
	d.Columns[2].Others = []string{"CHECK (`kind` <> 'x' or `email` = 'a@b')"}
	d.Indexes = []source.Index{
		{Name: "some", Definition: "CREATE INDEX some ON people (id) WHERE email = 'a@b'"},
		{Name: "all", Definition: "CREATE INDEX all ON people (email)"},
	}
	d.Lacks = []string{"PARTITION BY LIST (email)"}
	empty := table(t, "empty", nil, [3]string{"email", "text", "string"})
	empty.Definition.Columns[0].Default = "''::text"
	people.Definition.Columns[0].Default = "nextval('people_id_seq'::regclass)"
	small := table(t, "small", nil, [3]string{"Email", "text", "string"})
	small.Definition.Dialect = source.SQLite
	small.Definition.Create = "CREATE TABLE small (kind DEFAULT 'x', Email TEXT CHECK (email <> 'a@b'))"
	all := []mask.Table{people, empty, small}
	notices := policy(t, map[string]string{
		"people.email": "email", "people.id": "hash", "empty.email": "email", "small.Email": "drop",
	}).Telling(all)
	want := []string{
		`table "people": its definition leaves as it is, with texts about columns that are masked: the default of ` +
			`"email", the comment on "email", a clause of "kind", the constraint "other", the index "some", ` +
			`its partitions`,
		`table "small": its definition leaves as it is, with texts about columns that are masked: a check`,
	}
	if !slices.Equal(notices, want) {
		t.Errorf("the notices are\n%s", strings.Join(notices, "\n"))
	}
	if notices := policy(t, nil).Telling(all); notices != nil {
		t.Errorf("without rules, the notices are %q", notices)
	}
}
