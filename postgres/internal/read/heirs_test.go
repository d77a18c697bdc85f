package read_test

import (
	"fmt"
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

// TestAncestors names the tables from which a table inherits, by every way and with the shortest distance.
func TestAncestors(t *testing.T) {
	db, _ := openNew(t, `CREATE SCHEMA "Odd.Place"; CREATE TABLE "Odd.Place".top (a int, gone int);
ALTER TABLE "Odd.Place".top DROP COLUMN gone; CREATE TABLE other (o int);
CREATE TABLE middle (m int) INHERITS ("Odd.Place".top); CREATE TABLE below () INHERITS (middle, other, "Odd.Place".top);
CREATE TABLE whole (a int) PARTITION BY LIST (a);
CREATE TABLE part PARTITION OF whole DEFAULT PARTITION BY LIST (a); CREATE TABLE leaf PARTITION OF part DEFAULT`)
	below := "[{Odd.Place top 1 [a] %[1]v true} {public middle 1 [a m] %[1]v false} {public other 1 [o] %[1]v false}]"
	leaf := "[{public part 1 [a] true false} {public whole 2 [a] true false}]"
	for _, own := range []bool{false, true} {
		if own {
			db.Separate()
		}
		for table, want := range map[string]string{
			"below": fmt.Sprintf(below, !own), "leaf": leaf, "other": "[]",
			"middle": fmt.Sprintf("[{Odd.Place top 1 [a] %v true}]", !own),
		} {
			if got := fmt.Sprint(defined(t, db, table).Ancestors); got != want {
				t.Errorf("own rows %v: the ancestors of %s are %s", own, table, got)
			}
		}
	}
}

// TestRefusesNull names the columns whose domain, or the one under it, refuses NULL.
func TestRefusesNull(t *testing.T) {
	db, _ := openNew(t, `CREATE DOMAIN loose AS text; CREATE DOMAIN sure AS loose NOT NULL; CREATE DOMAIN over AS sure;
CREATE TABLE t (a text, b loose, c sure, "D d" over)`)
	var refusing []string
	for _, c := range defined(t, db, "t").Columns {
		if c.RefusesNull {
			refusing = append(refusing, c.Name)
		}
	}
	if !slices.Equal(refusing, []string{"c", "D d"}) {
		t.Errorf("NULL is refused by %q", refusing)
	}
}
