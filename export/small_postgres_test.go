package export_test

import (
	"errors"
	"fmt"
	"testing"

	"filippo.io/age"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/place/dir"
	"culvert/postgres"
)

// TestSmallTables exports many small tables beside a larger one, an empty one, a view, and such that fail. Several
// sessions read the small ones, and all show the same moment.
func TestSmallTables(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		DO $do$ BEGIN FOR i IN 1 .. 60 LOOP EXECUTE format(
			'CREATE TABLE t%s (id serial PRIMARY KEY, note text);
			INSERT INTO t%1$s (note) SELECT %1$L FROM generate_series(1, %1$s)', i);
		END LOOP; END $do$;
		CREATE TABLE medium AS SELECT i, repeat('x', 1000) AS note FROM generate_series(1, 3300) AS i;
		CREATE TABLE large AS SELECT i, repeat('x', 1000) AS note FROM generate_series(1, 8000) AS i;
		CREATE TABLE empty (id int); CREATE VIEW seen AS TABLE t60;
		CREATE TABLE gone (id int); CREATE TABLE broken AS SELECT 1 AS id`)
	for name, plan := range map[string]export.Plan{
		"csv":   {Jobs: 4},
		"one":   {Jobs: 1},
		"jsonl": {Jobs: 3, Format: format.JSONL{}},
		"none":  {Jobs: 4, Compression: export.None, Progress: new(export.Progress)},
		"parts": {Jobs: 4, PartSize: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			database.Exec(t, "DROP TABLE IF EXISTS gone; CREATE TABLE gone (id int)")
			src, err := postgres.OpenSource(t.Context(), database.ConnString())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			database.Exec(t, "DROP TABLE gone; INSERT INTO t7 (note) SELECT 'late' FROM generate_series(1, 1000)")
			defer database.Exec(t, "DELETE FROM t7 WHERE note = 'late'")
			names := []string{"large", "gone", "empty", "seen"}
			for i := range 60 {
				names = append(names, fmt.Sprint("t", i+1))
			}
			names = append(names, "medium") // more frames than wait for the end of a small table
			id, err := age.GenerateX25519Identity()
			if err != nil {
				t.Fatal(err)
			}
			plan.Recipients = []age.Recipient{id.Recipient()}
			path := t.TempDir()
			to, err := dir.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			all, err := plan.Tables(t.Context(), to, src, names)
			partial, is := errors.AsType[*export.PartialError](err)
			if !is || partial.Failed != 1 || all[1].Err == nil {
				t.Fatalf("error %v, of the table that is gone: %v", err, all[1].Err)
			}
			for i, want := range []int64{8000, 0, 0, 60} {
				if all[i].Rows != want {
					t.Errorf("%s has %d rows, want %d", names[i], all[i].Rows, want)
				}
			}
			if got := all[len(all)-1].Rows; got != 3300 {
				t.Errorf("medium has %d rows", got)
			}
			for i := range 60 {
				if one := all[i+4]; one.Rows != int64(i+1) || one.Err != nil {
					t.Errorf("%s has %d rows, error %v", one.Name, one.Rows, one.Err)
				}
			}
			d, err := export.OpenDirectory(to, id)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Verify(t.Context(), nil); !errors.As(err, &partial) {
				t.Error(err)
			}
			for i := range d.Manifest.Tables {
				one := &d.Manifest.Tables[i]
				if one.Error == "" && (one.Definition == nil || len(one.Definition.Columns) == 0) {
					t.Errorf("%s has the definition %+v", one.Name, one.Definition)
				}
			}
			if done := plan.Progress; done != nil && done.Done() != 1 {
				t.Errorf("in the end %v are done", done.Done())
			}
		})
	}
}
