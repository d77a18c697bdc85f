package load_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/source"
)

// drawing are tables of MariaDB whose defaults draw from sequences, and one whose default computes with a number.
var drawing = []string{
	"CREATE SEQUENCE numbers START WITH 10 INCREMENT BY 5 NOCACHE", "SELECT NEXTVAL(numbers), NEXTVAL(numbers)",
	"CREATE SEQUENCE `odd``name` NOCACHE", "CREATE SEQUENCE free",
	"CREATE TABLE orders (id bigint NOT NULL DEFAULT NEXTVAL(numbers) PRIMARY KEY, v text)",
	"CREATE TABLE items (id bigint DEFAULT (NEXTVAL(numbers)), n int DEFAULT NEXTVAL(`odd``name`)," +
		" c bigint DEFAULT (NEXTVAL(numbers) + 1))",
	"CREATE TABLE plain (id int)", "INSERT INTO orders (v) VALUES ('a')", "INSERT INTO plain VALUES (1)",
}

// TestSequencesOfTables exports and copies single tables of MariaDB, which take along the sequences that they draw
// from.
func TestSequencesOfTables(t *testing.T) {
	server := testkit.MariaDB(t)
	from := server.NewDatabase(t)
	for _, sql := range drawing {
		from.Exec(t, sql)
	}
	src, err := mysql.OpenSource(t.Context(), from.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	chosen := []string{"items", "orders"}
	needs, err := source.NeedsOf(t.Context(), src, chosen)
	if err != nil {
		t.Fatal(err)
	}
	if none, err := source.NeedsOf(t.Context(), src, []string{"plain"}); none != nil || err != nil {
		t.Errorf("a table without such defaults needs %+v, %v", none, err)
	}
	backup := newBackupOf(t, src, export.Plan{Schema: needs}, 0, chosen...)
	for name, fill := range map[string]func(dst *mysql.Sink, preview bool) ([]load.Planned, []source.Statement, error){
		"load": func(dst *mysql.Sink, preview bool) (planned []load.Planned, made []source.Statement, err error) {
			plan := &load.Plan{Create: true}
			if !preview {
				_, err = plan.Directory(t.Context(), dst, backup.Directory, nil)
				return nil, nil, err
			}
			if planned, err = plan.Preview(t.Context(), dst, backup.Directory, nil); err == nil {
				made, err = plan.PreviewNeeds(t.Context(), dst, backup.Directory, planned)
			}
			return planned, made, err
		},
		"copy": func(dst *mysql.Sink, preview bool) (planned []load.Planned, made []source.Statement, err error) {
			plan := &load.Plan{Create: true}
			tables := []load.Names{{From: "items", To: "items"}, {From: "orders", To: "orders"}}
			if !preview {
				_, err = plan.CopyTables(t.Context(), dst, src, tables)
				return nil, nil, err
			}
			if planned, err = plan.PreviewTables(t.Context(), dst, src, tables); err == nil {
				made, err = plan.PreviewCopyNeeds(t.Context(), dst, src, planned)
			}
			return planned, made, err
		},
	} {
		to := server.NewDatabase(t)
		dst, err := mysql.OpenSink(t.Context(), to.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, dst)
		planned, made, err := fill(dst, true)
		if err != nil || len(made) != 4 {
			t.Fatalf("%s would make %+v, error %v", name, made, err)
		}
		left := slices.Concat(planned[0].Omitted, planned[1].Omitted)
		if len(left) != 1 || !strings.HasSuffix(left[0], ` + 1) of column "c"`) {
			t.Errorf("%s would leave out %q", name, left)
		}
		if _, _, err = fill(dst, false); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		to.Exec(t, "INSERT INTO orders (v) VALUES ('b')")
		to.Exec(t, "INSERT INTO items () VALUES ()")
		got := to.Query(t, "SELECT GROUP_CONCAT(id ORDER BY id), (SELECT CONCAT(id, ' ', n) FROM items) FROM orders")[0]
		if want := []string{"20,25", "30 1"}; !slices.Equal(got, want) {
			t.Errorf("after a %s, the tables have %q, want %q", name, got, want)
		}
	}
}
