package load_test

import (
	"errors"
	"testing"

	"culvert/export"
	"culvert/load"
	"culvert/sink"
)

// TestRefreshRefused looks up a table that lacks a column of the rows: those that foreign keys link to it, also through
// others, stay as they are too, and the table without keys is replaced.
func TestRefreshRefused(t *testing.T) {
	from, _ := newPostgres(t, refreshedRows("10"))
	src := openPostgres(t, from)
	backup := newBackupOf(t, src, export.Plan{}, 0, refreshed...)
	to, dst := newPostgres(t, "")
	for _, existing := range []sink.Existing{sink.Truncate, sink.Swap} {
		for _, way := range []string{"Directory", "CopyTables"} {
			to.Exec(t, emptySchema+refreshedRows("1")+"; ALTER TABLE team RENAME head TO leader")
			plan := load.Plan{Filling: sink.Filling{Existing: existing}}
			all, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
			if way == "CopyTables" {
				var names []load.Names
				for _, name := range refreshed {
					names = append(names, load.Names{From: name, To: name})
				}
				all, err = plan.CopyTables(t.Context(), dst, src, names)
			}
			if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 3 {
				t.Errorf("%s: %v", way, err)
			}
			for _, one := range all {
				_, together := errors.AsType[*load.TogetherError](one.Err)
				linked := one.Name == "badge" || one.Name == "person"
				if together != linked || (one.Err == nil) != (one.Name == "other") {
					t.Errorf("%s: table %s: %v", way, one.Name, one.Err)
				}
			}
			got := to.Query(t, `SELECT (SELECT sum(id) FROM person), (SELECT sum(id) FROM team),
				(SELECT sum(id) FROM badge), (SELECT sum(id) FROM other)`)[0]
			if got[0] != "6" || got[1] != "6" || got[2] != "6" || got[3] != "33" {
				t.Errorf("%s: the tables have %q", way, got)
			}
		}
	}
}

// TestRefreshRefusedOfSchema has a table refused whose name a table of another schema has too: only what is linked to
// the former stays as it is.
func TestRefreshRefusedOfSchema(t *testing.T) {
	const sql = `CREATE TABLE orders (id int PRIMARY KEY, title text); CREATE TABLE item (id int REFERENCES orders);
		CREATE SCHEMA archive; CREATE TABLE archive.orders (id int PRIMARY KEY);
		CREATE TABLE archive.line (id int REFERENCES archive.orders); INSERT INTO orders VALUES (1);
		INSERT INTO archive.orders VALUES (1); INSERT INTO archive.line VALUES (1)`
	from, _ := newPostgres(t, sql)
	var names []load.Names
	for _, name := range []string{"orders", "item", "archive.orders", "archive.line"} {
		names = append(names, load.Names{From: name, To: name})
	}
	_, dst := newPostgres(t, sql+"; ALTER TABLE orders RENAME title TO heading")
	plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
	all, err := plan.CopyTables(t.Context(), dst, openPostgres(t, from), names)
	if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 2 {
		t.Error(err)
	}
	for _, one := range all {
		_, together := errors.AsType[*load.TogetherError](one.Err)
		if together != (one.Name == "item") || (one.Err != nil) != (together || one.Name == "orders") {
			t.Errorf("table %s: %v", one.Name, one.Err)
		}
	}
}
