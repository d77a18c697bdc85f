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
	"culvert/source"
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

// TestSmallTablesOfConditions has several sessions look for rows that meet conditions, though the tables are few: two
// of the conditions are met only while both are looked at.
func TestSmallTablesOfConditions(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		CREATE FUNCTION meet(int) RETURNS bool LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM pg_advisory_lock($1);
			FOR i IN 1 .. 6000 LOOP
				IF (SELECT count(DISTINCT objid) FROM pg_locks WHERE locktype = 'advisory' AND granted
						AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) = 2 THEN
					RETURN true;
				END IF;
				PERFORM pg_sleep(0.01);
			END LOOP;
			RAISE 'nobody looks at the other table';
		END $$;
		CREATE TABLE t0 AS SELECT 1 AS id; CREATE TABLE t1 AS SELECT 1 AS id;
		CREATE TABLE t2 AS SELECT 1 AS id; CREATE TABLE t3 AS SELECT 1 AS id`)
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	to, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	plan := export.Plan{Jobs: 2, Unencrypted: true, Choices: map[string]source.Choice{}}
	for name, where := range map[string]string{"t0": "id > 0", "t1": "meet(1)", "t2": "meet(2)", "t3": "id > 0"} {
		plan.Choices[name] = source.Choice{Selection: source.Selection{Where: where}}
	}
	all, err := plan.Tables(t.Context(), to, src, []string{"t0", "t1", "t2", "t3"})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Rows != 1 || one.Err != nil {
			t.Errorf("%s has %d rows, error %v", one.Name, one.Rows, one.Err)
		}
	}
}
