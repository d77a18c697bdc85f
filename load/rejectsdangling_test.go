package load_test

import (
	"path/filepath"
	"slices"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
)

// TestRejectsDangling loads a table before the one to which it refers. Only the rows that refer to none are rejected,
// and with JSON Lines too, the rows that are taken are what is read back.
func TestRejectsDangling(t *testing.T) {
	path, _ := newSQLite(t)
	execSQLite(t, path, `CREATE TABLE children (id INTEGER, parent INTEGER); CREATE TABLE parents (id INTEGER);
		INSERT INTO children VALUES (1, 10), (2, 11), (3, 12), (1, 10); INSERT INTO parents VALUES (10), (12), (10)`)
	src := openSQLite(t, path)
	for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
		b := newBackupOf(t, src, export.Plan{Format: f}, 0, "children", "parents")
		for name, to := range sides {
			if name == "SQLite" { // which does not check foreign keys of rows that are loaded
				continue
			}
			t.Run(name, func(t *testing.T) {
				s, at := to(t), t.TempDir()
				for _, sql := range []string{
					"CREATE TABLE parents (id int PRIMARY KEY)",
					"CREATE TABLE children (id int PRIMARY KEY, parent int, " +
						"FOREIGN KEY (parent) REFERENCES parents (id))",
				} {
					if err := s.try(sql); err != nil {
						t.Fatal(err)
					}
				}
				plan := load.Plan{Rejects: rejectsIn(t, at), ReadBack: true}
				all, err := plan.Directory(t.Context(), s.dst, b.Directory, nil)
				if err != nil || len(all) != 2 || all[0].Rejected != 2 || all[1].Rejected != 1 {
					t.Fatalf("%+v, %v", all, err)
				}
				if got := csvOf(t, s.open(), "children"); !slices.Equal(got, []string{"1,10\n", "3,12\n"}) {
					t.Errorf("the table has %q", got)
				}
				files, err := filepath.Glob(filepath.Join(at, "*"))
				if err != nil || len(files) != 2 {
					t.Errorf("the files are %q, %v", files, err)
				}
			})
		}
	}
}

// TestRejectsOnly rejects the only row of a file of an export, which is as it was exported.
func TestRejectsOnly(t *testing.T) {
	path, _ := newSQLite(t)
	execSQLite(t, path, "CREATE TABLE goods (id TEXT, title TEXT, price TEXT, n TEXT); "+
		"INSERT INTO goods VALUES ('x', 'no number', '1', '1')")
	src := openSQLite(t, path)
	for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
		b := newBackupOf(t, src, export.Plan{Format: f}, 0, "goods")
		for name, to := range sides {
			t.Run(name, func(t *testing.T) {
				s, at := to(t), t.TempDir()
				if err := s.try("CREATE TABLE goods " + goodsTable); err != nil {
					t.Fatal(err)
				}
				plan := load.Plan{Rejects: rejectsIn(t, at)}
				all, err := plan.Directory(t.Context(), s.dst, b.Directory, nil)
				if err != nil || len(all) != 1 || all[0].Rejected != 1 || all[0].Rows != 0 {
					t.Errorf("%+v, %v", all, err)
				}
			})
		}
	}
}
