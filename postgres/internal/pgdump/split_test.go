package pgdump

import (
	"slices"
	"strings"
	"testing"
)

// TestSplitWordsOfBlocks splits statements with names that are words of a body, which pg_dump does not quote.
func TestSplitWordsOfBlocks(t *testing.T) {
	want := []string{
		"CREATE SCHEMA begin",
		"CREATE FUNCTION public.begin() RETURNS integer LANGUAGE sql AS $$ SELECT 1; $$",
		"CREATE FUNCTION begin.atomic(atomic integer) RETURNS begin.begin LANGUAGE sql AS $$ SELECT 1; $$",
		"CREATE PROCEDURE begin.begin(INOUT x integer) LANGUAGE plpgsql AS $$ BEGIN x := 1; END; $$",
		"CREATE FUNCTION begin.f(begin integer) RETURNS integer LANGUAGE sql BEGIN /* ; */\n ATOMIC\n" +
			" SELECT CASE begin WHEN 1 THEN 2 ELSE 3 END AS begin;\n SELECT 4 AS \"end\";\nEND",
		"CREATE OR REPLACE PROCEDURE begin.p() LANGUAGE sql begin atomic SELECT 1; end",
		"COMMENT ON FUNCTION public.begin() IS 'begin atomic'",
	}
	got, err := Split(strings.Join(want, ";\n") + ";\n")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q becomes %q", want, got)
	}
}
