package read_test

import (
	"slices"
	"testing"
)

// TestOmittedHeirs names tables that are in no list, since their rows are read with a table from which they inherit.
func TestOmittedHeirs(t *testing.T) {
	db, _ := openNew(t, `CREATE TABLE parent (a int); CREATE TABLE bare () INHERITS (parent);
CREATE TABLE own (b int) INHERITS (parent); CREATE TABLE below () INHERITS (own);
CREATE TABLE whole (a int) PARTITION BY LIST (a); CREATE TABLE part PARTITION OF whole DEFAULT;
CREATE SCHEMA other; CREATE TABLE other.away () INHERITS (parent)`)
	const with = ", whose rows come with those of a table from which it inherits"
	for schema, want := range map[string][2][]string{
		"": {
			{"public.own", "public.parent", "public.whole"},
			{`the table "other.away"` + with, `the table "public.bare"` + with, `the table "public.below"` + with},
		},
		"public": {
			{"public.own", "public.parent", "public.whole"},
			{`the table "public.bare"` + with, `the table "public.below"` + with},
		},
		"other": {{"other.away"}, nil},
	} {
		omitted, err := db.Omitted(t.Context(), schema)
		if got := tables(t, db, schema); !slices.Equal(got, want[0]) || !slices.Equal(omitted, want[1]) || err != nil {
			t.Errorf("schema %q: the tables are %q, and left out are %q, %v", schema, got, omitted, err)
		}
	}
}
