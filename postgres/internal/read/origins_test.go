package read_test

import (
	"fmt"
	"testing"
)

// TestOrigins names the columns that those of a view are, and none for what is made of several, or of none.
func TestOrigins(t *testing.T) {
	db, _ := openNew(t, `CREATE SCHEMA "Odd.Place"; CREATE TABLE "Odd.Place"."T" (gone int, "A B" text, b text);
ALTER TABLE "Odd.Place"."T" DROP COLUMN gone;
CREATE VIEW plain AS SELECT b AS x, "A B" FROM "Odd.Place"."T" WHERE b > '';
CREATE VIEW above AS WITH c AS (SELECT * FROM plain) SELECT s.x AS far, p."A B" FROM (SELECT x FROM c) s, plain p;
CREATE MATERIALIZED VIEW kept AS SELECT far FROM above;
CREATE VIEW made AS SELECT upper(b) AS up, b || '' AS joined, count(*) AS n, max(b) AS most, b, 1 AS one
	FROM "Odd.Place"."T" GROUP BY b;
CREATE VIEW united AS SELECT b FROM "Odd.Place"."T" UNION ALL SELECT "A B" FROM "Odd.Place"."T";
CREATE VIEW over_made AS SELECT up, u.b FROM made, united u;
CREATE VIEW whole AS SELECT t FROM "Odd.Place"."T" t;
CREATE RECURSIVE VIEW again (b) AS SELECT b FROM "Odd.Place"."T" UNION SELECT b FROM again`)
	const column = "{{{Odd.Place T} %s} false}"
	a, b := fmt.Sprintf(column, "A B"), fmt.Sprintf(column, "b")
	for view, want := range map[string]string{
		"plain":     "map[A B:[" + a + "] x:[" + b + "]]",
		"above":     "map[A B:[{{{public plain} A B} true} " + a + "] far:[{{{public plain} x} true} " + b + "]]",
		"kept":      "map[far:[{{{public above} far} true} {{{public plain} x} true} " + b + "]]",
		"made":      "map[b:[" + b + "]]",
		"united":    "map[]",
		"over_made": "map[b:[{{{public united} b} true}] up:[{{{public made} up} true}]]",
		"whole":     "map[]",
		"again":     "map[]",
	} {
		got, err := db.Origins(t.Context(), view)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("the origins of %s are %v, %v", view, got, err)
		}
	}
	if got, err := db.Origins(t.Context(), "missing"); err == nil {
		t.Errorf("a view that is not there has origins: %v", got)
	}
}
