package export_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/source"
)

// TestPostgresRowSecurity exports what a policy would hide rows of, by all who are subject to it and by those who are
// not. Nobody gets a part.
func TestPostgresRowSecurity(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t).NewDatabase(t)
	owner, other := database.NewRole(t, "owner", ""), database.NewRole(t, "other", "")
	exempt := database.NewRole(t, "exempt", "BYPASSRLS")
	database.Exec(t, fmt.Sprintf(`
		GRANT CREATE ON SCHEMA public TO %[1]s; SET ROLE %[1]s;
		CREATE TABLE filtered AS SELECT i AS id, repeat('x', 2000) AS fill FROM generate_series(1, 4400) AS i;
		CREATE TABLE forced AS TABLE filtered; CREATE TABLE parts (id int, fill text) PARTITION BY RANGE (id);
		CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (2000);
		CREATE TABLE high PARTITION OF parts DEFAULT; INSERT INTO parts TABLE filtered;
		CREATE TABLE open_parts (id int, fill text) PARTITION BY RANGE (id);
		CREATE TABLE closed PARTITION OF open_parts DEFAULT; INSERT INTO open_parts TABLE filtered;
		DELETE FROM filtered WHERE id %% 100 > 0; DELETE FROM forced WHERE id %% 100 > 0; -- pages stay, to be divided
		DELETE FROM parts WHERE id %% 100 > 0; DELETE FROM open_parts WHERE id %% 100 > 0;
		CREATE VIEW seen AS TABLE filtered; CREATE VIEW forced_view AS TABLE forced;
		ALTER TABLE filtered ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON filtered USING (id < 500);
		ALTER TABLE forced ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON forced USING (id < 500);
		ALTER TABLE forced FORCE ROW LEVEL SECURITY;
		ALTER TABLE parts ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON parts USING (id < 500);
		ALTER TABLE closed ENABLE ROW LEVEL SECURITY; -- without a policy, which hides all
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO %[2]s, %[3]s`, owner, other, exempt))
	for i, test := range []struct {
		table string
		may   string // the roles that get all rows
	}{
		{"filtered", owner + exempt},
		{"forced", exempt},
		{"parts", owner + exempt},
		{"low", owner + other + exempt}, // read by its own name, only its own policies count
		{"closed", owner + exempt},
		{"open_parts", owner + other + exempt}, // the policies of a partition do not count for its parent
		{"seen", owner + other + exempt},       // a view reads with the rights of its owner
		{"forced_view", ""},                    // whom the policy counts for, whoever asks
	} {
		for j, user := range []string{owner, other, exempt} {
			connString := database.ConnStringAs(user)
			src, err := postgres.OpenSource(t.Context(), connString)
			if err != nil {
				t.Fatal(err)
			}
			rows := int64(44)
			if test.table == "low" {
				rows = 19
			}
			for k, way := range readings {
				if !testkit.RunsLong() && (i+j)%len(readings) != k {
					continue
				}
				for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
					what := fmt.Sprintf("%s of %s, %s, %T", test.table, user, way.name, f)
					expectAllOrNothing(t, what, src, test.table, way, f, strings.Contains(test.may, user), rows)
				}
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// expectAllOrNothing exports a table, and the query that reads it.
func expectAllOrNothing(
	tb testing.TB, what string, src source.Source, table string, way reading, f format.Format, may bool, rows int64,
) {
	tb.Helper()
	plan := export.Plan{Format: f, Compression: export.None, Unencrypted: true, Jobs: way.jobs, Ordered: way.ordered}
	for name, run := range map[string]func(dst *bytes.Buffer) (export.Stats, error){
		"table": func(dst *bytes.Buffer) (export.Stats, error) { return plan.Table(tb.Context(), dst, src, table) },
		"query": func(dst *bytes.Buffer) (export.Stats, error) {
			return plan.Query(tb.Context(), dst, src, "SELECT * FROM "+table)
		},
	} {
		var out bytes.Buffer
		stats, err := run(&out)
		switch {
		case may && (err != nil || stats.Rows != rows):
			tb.Errorf("%s by %s: %d rows, %v", what, name, stats.Rows, err)
		case !may && (err == nil || !strings.Contains(err.Error(), "row-level security policy")):
			tb.Errorf("%s by %s: %d rows, %v", what, name, stats.Rows, err)
		case !may && out.Len() > 0:
			tb.Errorf("%s by %s: %d bytes before the error", what, name, out.Len())
		}
	}
}
