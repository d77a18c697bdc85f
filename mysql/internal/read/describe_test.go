package read_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

func describe(tb testing.TB, db *read.DB) source.Description {
	tb.Helper()
	description, err := db.Describe(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return description
}

var snapshotName = regexp.MustCompile(`^CONSISTENT SNAPSHOT at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC$`)

func TestDescribe(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--log-bin=log", "--server-id=7"}})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int PRIMARY KEY); INSERT INTO t VALUES (1)")
	status := database.Query(t, "SHOW MASTER STATUS")[0]
	db := openAgain(t, database.URL())
	database.Exec(t, "INSERT INTO t VALUES (2)")
	got := describe(t, db)
	version, _, _ := strings.Cut(database.Query(t, "SELECT VERSION()")[0][0], "-")
	if got.System != "MariaDB "+version || got.Database != database.Name || got.Position != status[0]+":"+status[1] {
		t.Errorf("description is %+v, and the status at the snapshot was %q", got, status)
	}
	if !snapshotName.MatchString(got.Snapshot) {
		t.Errorf("snapshot is %q", got.Snapshot)
	}
	expectRows(t, table(t, db, "t"), 1)
	if again := describe(t, db); again != got {
		t.Errorf("the description has changed from %+v to %+v", got, again)
	}
	next := describe(t, openAgain(t, database.URL()))
	if next.Position == got.Position || next.Snapshot == got.Snapshot {
		t.Errorf("a later snapshot is described as %+v, the one before as %+v", next, got)
	}
	if _, err := db.Parts(context.Background(), "t", source.Selection{}, 1); err != nil {
		t.Error(err)
	}
	if opened := database.Query(t, "SHOW GLOBAL STATUS LIKE 'Opened_views'")[0][1]; opened != "0" {
		t.Errorf("the server has opened %s views of other databases to answer questions about a table", opened)
	}
}

// TestDescribeLittle has a server without a log, and no database.
func TestDescribeLittle(t *testing.T) {
	db := openAgain(t, socketURL("", testkit.MariaDB(t).SocketPath()))
	if got := describe(t, db); got.Position != "" || got.Database != "" || got.Snapshot == "" {
		t.Errorf("description is %+v", got)
	}
}

func TestSize(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t (i int PRIMARY KEY, n int); INSERT INTO t SELECT seq, seq FROM seq_1_to_10000;"+
		"ANALYZE TABLE t; CREATE TABLE m (i int) ENGINE=MyISAM; INSERT INTO m VALUES (1), (2), (3);"+
		"CREATE TABLE vacant (i int); CREATE VIEW v AS SELECT * FROM t")
	for _, test := range []struct {
		table     string
		selection source.Selection
		low, high int64 // of rows
	}{
		{"t", source.Selection{}, 9_000, 11_000},
		{"t", source.Selection{Limit: 5}, 5, 5},
		{"t", source.Selection{Limit: 50_000}, 9_000, 11_000},
		{"t", source.Selection{Where: "i <= 100 -- comment"}, 90, 110},
		{"t", source.Selection{Where: "i <= 100", Limit: 10}, 10, 10},
		{"t", source.Selection{Where: "i < 0"}, 0, 1},
		{"t", source.Selection{Where: "FALSE"}, 0, 0},
		{"m", source.Selection{}, 3, 3},
		{"vacant", source.Selection{}, 0, 0},
		{"v", source.Selection{}, 0, 0},
		{"information_schema.TABLES", source.Selection{}, 0, 0},
	} {
		rows, err := db.Select(context.Background(), test.table, test.selection)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows.(source.Sized).Size()
		if err != nil || got.Rows < test.low || got.Rows > test.high || (got.Bytes > 0) != (got.Rows > 0) {
			t.Errorf("%s, %+v: %+v and the error %v, want from %d to %d rows",
				test.table, test.selection, got, err, test.low, test.high)
		}
		if test.table == "t" && test.selection.IsZero() {
			expectRows(t, rows, 10_000)
			if got, err := rows.(source.Sized).Size(); got != (source.Size{}) || err != nil {
				t.Errorf("size after the end is %+v, %v", got, err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	rows, err := db.Table(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	var b source.Batch
	_, sizeErr := rows.(source.Sized).Size()
	if err := rows.Next(&b); err == nil || sizeErr == nil {
		t.Errorf("with a canceled context, the size gives the error %v, and then Next gives %v", sizeErr, err)
	}
}
