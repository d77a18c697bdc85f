package load_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/load"
)

// TestMissingParent makes tables whose foreign keys refer to tables that do not come along and are not there, and to
// one that is there: only the latter hold, and the former are named.
func TestMissingParent(t *testing.T) {
	for name, test := range map[string]struct {
		open func(*testing.T, string) system
		keys string // the foreign keys that the table has
		want string
	}{
		"PostgreSQL": {postgresSystem, "SELECT conname FROM pg_constraint WHERE contype = 'f' ORDER BY 1", "own there"},
		"MariaDB": {mariaDBSystem, "SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS " +
			"WHERE CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1", "own there"},
		"SQLite": {
			sqliteSystem, `SELECT "table" FROM pragma_foreign_key_list('child') ORDER BY 1`, "child gone present",
		},
	} {
		for _, way := range []string{"loaded", "copied"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				s := test.open(t, `CREATE TABLE gone (id int PRIMARY KEY);
					CREATE TABLE present (id int PRIMARY KEY);
					CREATE TABLE child (id int PRIMARY KEY, gone_id int, present_id int, up int,
						CONSTRAINT gone FOREIGN KEY (gone_id) REFERENCES gone (id),
						CONSTRAINT there FOREIGN KEY (present_id) REFERENCES present (id),
						CONSTRAINT own FOREIGN KEY (up) REFERENCES child (id));
					INSERT INTO gone VALUES (1); INSERT INTO present VALUES (2); INSERT INTO child VALUES (3, 1, 2, 3)`)
				defer closing(t, s.src)
				defer closing(t, s.dst)
				s.exec("CREATE TABLE present (id int PRIMARY KEY)")
				s.exec("INSERT INTO present VALUES (2)")
				plan := load.Plan{Create: true, ReadBack: true}
				var all []load.Stats
				var err error
				if way == "loaded" {
					backup := newBackupOf(t, s.src, export.Plan{}, 0, "gone", "present", "child")
					all, err = plan.Directory(t.Context(), s.dst, backup.Directory, map[string]string{"child": ""})
				} else {
					all, err = plan.CopyTables(t.Context(), s.dst, s.src, []load.Names{{From: "child", To: "child"}})
				}
				if err != nil || len(all) != 1 {
					t.Fatal(err, failuresOf(all))
				}
				if left := all[0].Omitted; !slices.ContainsFunc(left, func(what string) bool {
					return strings.Contains(what, "the foreign key") && strings.Contains(what, "gone")
				}) || strings.Contains(strings.Join(left, ", "), "present") {
					t.Errorf("left out is %q", left)
				}
				if got := s.rows(test.keys); got != test.want {
					t.Errorf("the foreign keys are %q, want %q", got, test.want)
				}
			})
		}
	}
}
