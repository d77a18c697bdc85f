package read_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
	"culvert/source/sourcetest"
)

// keys are primary keys whose order is not that of their texts or bytes.
var keys = []sourcetest.Key{
	{Name: "TextLinguistic", Columns: `k text COLLATE "en-x-icu" PRIMARY KEY`, Rows: texts},
	{Name: "TextBytes", Columns: `k text COLLATE "C" PRIMARY KEY`, Rows: texts},
	{Name: "TextDefault", Columns: "k text PRIMARY KEY", Rows: texts},
	{Name: "CaseIgnored", Columns: "k text COLLATE ignorecase PRIMARY KEY", Rows: []string{
		"'b'", "'A'", "'Ä'", "'d'", "'C'", "'ZZ'", "'zz1'", "'z z'", "'a\u0308x'", "'äy'", "'ß'", "'sst'",
	}},
	{Name: "Domain", Columns: "k folded PRIMARY KEY", Rows: texts},
	{Name: "Char", Columns: "k char(8) PRIMARY KEY", Rows: []string{"''", "'a'", "' a'", "'A'", "'a b'"}},
	{Name: "Name", Columns: "k name PRIMARY KEY", Rows: texts},
	{Name: "Enum", Columns: "k mood PRIMARY KEY", Rows: []string{"'sad'", "'ok'", "'Happy'", "'a''b'"}},
	{Name: "Float", Columns: "k float8 PRIMARY KEY", Rows: []string{
		"'NaN'", "'Infinity'", "'-Infinity'", "0", "5e-324", "0.1::float8 + 0.2::float8", "0.3", "-1",
	}},
	{Name: "Real", Columns: "k float4 PRIMARY KEY", Rows: []string{"0.1", "0.10000001", "16777216", "-0.1", "'NaN'"}},
	{Name: "Numeric", Columns: "k numeric PRIMARY KEY", Rows: []string{
		"'NaN'", "9", "10", "1e100", "-1e-100", "0.1", "0.10000000000000000001",
	}},
	{Name: "Timestamp", Columns: "k timestamptz PRIMARY KEY", Rows: []string{
		"'infinity'", "'-infinity'", "'2024-03-31 01:59:59.999999+01'", "'2024-03-31 03:00+02'", "'4713-01-01 BC'",
		"'294276-12-31'",
	}},
	{Name: "Interval", Columns: "k interval PRIMARY KEY", Rows: []string{
		"'1 mon'", "'29 days 23:59:59'", "'31 days'", "'-1 year'", "'0'",
	}},
	{Name: "Bytea", Columns: "k bytea PRIMARY KEY", Rows: []string{`'\x'`, `'\x00'`, `'\xff'`, `'\x5c27'`, `'\x00ff'`}},
	{Name: "UUID", Columns: "k uuid PRIMARY KEY", Rows: []string{
		"'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
		"'80000000-0000-0000-0000-000000000000'", "'7fffffff-ffff-ffff-ffff-ffffffffffff'",
	}},
	{Name: "Array", Columns: "k text[] PRIMARY KEY", Rows: []string{
		"'{}'", "'{a}'", "'{NULL}'", `'{"a,\"b"}'`, "'{a,b}'", "'{{a},{b}}'",
	}},
	{Name: "Composite", Columns: `tenant text COLLATE "en-x-icu", id int, "a""b'" numeric,
		PRIMARY KEY ("a""b'", tenant, id) INCLUDE (note), note text`, Rows: []string{
		"'a', 1, 1, NULL", "'A', 1, 1, ''", "'a', -1, 1, 'x'", "'b', 1, 1, 'x'", "'a', 1, -1, 'x'", "'', 10, 1, 'x'",
		"'', 9, 1, 'x'", "'é', 9, 1, 'x'", "'f', 9, 1.0, 'x'", "'f', 9, 'NaN', 'x'", "'f', 10, 'NaN', 'x'",
	}},
	{
		Name: "Partitions", Columns: `id int, note text, PRIMARY KEY (id)) PARTITION BY RANGE (id); CREATE TABLE key_low
		PARTITION OF key_t FOR VALUES FROM (MINVALUE) TO (0); CREATE TABLE key_high (note text, x int, id int NOT NULL);
		ALTER TABLE key_high DROP x; ALTER TABLE key_t ATTACH PARTITION key_high FOR VALUES FROM (0) TO (MAXVALUE`,
		Rows: []string{"-2147483648, 'x'", "-1, NULL", "0, 'x'", "1, 'x'", "2147483647, 'x'", "3, 'x'"},
	},
}

var texts = []string{
	"''", "'a'", "'A'", "'b'", "'B'", "'ä'", "'Z'", "'z'", "'-'", "'a-b'", "'ab'", "' '", "'a b'", `'\'`, `'\\'`,
	"''''", `'"'`, "'é'", "'e\u0301'", "'表'", "'\U0001F700'", "E'\\n'", "E'\\t'", "'{}'", "'NULL'", "'$1'",
	"'--'", "'/*'",
}

// newRestricted returns a database, a function that runs a statement in it, and the connection string of a user who may
// read the columns of all tables, but not ctid.
func newRestricted(
	t *testing.T, server *testkit.PostgresServer,
) (database *testkit.PostgresDatabase, exec func(*testing.T, string), connString string) {
	t.Helper()
	database = server.NewDatabase(t)
	user := database.NewRole(t, "reader", "")
	database.Exec(t, `CREATE COLLATION ignorecase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE DOMAIN folded AS text COLLATE "de-x-icu"; CREATE TYPE mood AS ENUM ('sad', 'ok', 'Happy', 'a''b')`)
	const grant = `; DO $$ DECLARE g text; BEGIN
		FOR g IN SELECT format('GRANT SELECT (%I) ON %s TO %I', attname, attrelid::regclass, '` + "USER" + `')
			FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
			WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND attnum > 0
				AND NOT attisdropped AND c.xmin = pg_current_xact_id()::xid
		LOOP EXECUTE g; END LOOP; END $$`
	exec = func(t *testing.T, sql string) {
		t.Helper()
		if strings.HasPrefix(sql, "CREATE") {
			sql += strings.ReplaceAll(grant, "USER", user)
		}
		database.Exec(t, sql)
	}
	return database, exec, database.ConnStringAs(user)
}

// TestSourceByKey cuts tables by their primary keys, since the user may not read ctid.
func TestSourceByKey(t *testing.T) {
	_, exec, connString := newRestricted(t, testkit.NewPostgres(t, testkit.PostgresConfig{})) // as in TestSource
	exec(t, "CREATE EXTENSION citext")
	sourcetest.Run(t, sourcetest.Fixture{
		Open: func(t *testing.T) source.Source { return open(t, connString) },
		Exec: exec,
		Parting: &sourcetest.Parting{
			Size: 512 << 10, OneRow: 50, Column: " PRIMARY KEY", Keys: keys, Writers: true, Shares: true,
		},
	})
}

func parts(tb testing.TB, db *read.DB, table string, s source.Selection, size int64) []source.Part {
	tb.Helper()
	parts, err := db.Parts(context.Background(), table, s, size)
	if err != nil {
		tb.Fatal(err)
	}
	return parts
}

// counts returns the number of rows of each part.
func counts(tb testing.TB, db *read.DB, parts []source.Part) []int {
	tb.Helper()
	list := make([]int, len(parts))
	for i, part := range parts {
		rows, err := db.Part(context.Background(), part)
		if err != nil {
			tb.Fatal(err)
		}
		if list[i], err = drain(rows); err != io.EOF {
			tb.Fatal(err)
		}
	}
	return list
}

// TestPartsOfEqualWeight cuts tables whose pages have very different weights.
func TestPartsOfEqualWeight(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	db, _ := openNew(t, `
		CREATE TABLE skewed (id int, fill text) PARTITION BY RANGE (id);
		CREATE TABLE skewed1 PARTITION OF skewed FOR VALUES FROM (0) TO (100);
		CREATE TABLE skewed2 PARTITION OF skewed FOR VALUES FROM (100) TO (200);
		CREATE TABLE skewed3 PARTITION OF skewed FOR VALUES FROM (200) TO (300);
		CREATE TABLE skewed4 PARTITION OF skewed FOR VALUES FROM (300) TO (3200);
		CREATE TABLE skewed5 PARTITION OF skewed FOR VALUES FROM (4000) TO (5000);
		ALTER TABLE skewed ALTER fill SET STORAGE plain;
		INSERT INTO skewed SELECT i, repeat('x', 5000) FROM generate_series(0, 3199) AS i;
		CREATE TABLE outside (id int, fill text); ALTER TABLE outside ALTER fill SET STORAGE external;
		INSERT INTO outside SELECT i, repeat('x', 100000) FROM generate_series(1, 100) AS i;
		CREATE TABLE parent (id int, fill text); CREATE TABLE child (more int) INHERITS (parent);
		ALTER TABLE parent ALTER fill SET STORAGE plain; ALTER TABLE child ALTER fill SET STORAGE plain;
		INSERT INTO parent SELECT i, repeat('x', 5000) FROM generate_series(1, 100) AS i;
		INSERT INTO child SELECT i, repeat('x', 5000) FROM generate_series(1, 1000) AS i`)
	for table, total := range map[string]int{"skewed": 3200, "outside": 100, "parent": 1100} {
		const wanted = 20
		bytes := parts(t, db, table, source.Selection{}, 1<<40)[0].Bytes
		cut := parts(t, db, table, source.Selection{}, bytes/wanted)
		if len(cut) < wanted-1 || len(cut) > wanted+1 {
			t.Errorf("%s of %d bytes: %d parts, want about %d", table, bytes, len(cut), wanted)
		}
		sum := 0
		for i, n := range counts(t, db, cut) {
			if sum += n; n < total/wanted/2 || n > 2*total/wanted {
				t.Errorf("%s: part %d of %d has %d of %d rows", table, i, len(cut), n, total)
			}
		}
		if sum != total {
			t.Errorf("%s: all parts have %d rows, want %d", table, sum, total)
		}
	}
}

// TestPartsInOne are tables and selections that are not cut, with the reason.
func TestPartsInOne(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	db, _ := openNew(t, `
		CREATE TABLE t AS SELECT i AS id, now() AS at, repeat('x', 1000) AS fill FROM generate_series(1, 1000) AS i;
		CREATE INDEX ON t (id); ANALYZE t; CREATE VIEW v AS TABLE t; CREATE MATERIALIZED VIEW m AS TABLE t`)
	for _, test := range []struct {
		table, where, whole string
	}{
		{"t", "id > 0", ""},
		{"t", "at > '2001-01-01'", ""},
		{"m", "", ""},
		{"v", "", "a view has no pages of its own"},
		{"t", "id < 3", "less work"},
		{"t", "at > now()", "now()"},
		{"t", "at < 'tomorrow'", "the condition has the day"},
		{"t", "at < 'now'", "'now'"},
	} {
		cut := parts(t, db, test.table, source.Selection{Where: test.where}, 64<<10)
		if test.whole == "" && len(cut) < 10 || test.whole != "" && len(cut) != 1 ||
			!strings.Contains(cut[0].Whole, test.whole) {
			t.Errorf("%s where %s: %d parts: %q, want %q", test.table, test.where, len(cut), cut[0].Whole, test.whole)
		}
	}
	if _, err := db.Parts(context.Background(), "t", source.Selection{}, 0); err == nil {
		t.Error("parts of no bytes are accepted")
	}
}

// TestPartOfChangedTable has tables replaced after they were cut by a session that no longer locks them.
func TestPartOfChangedTable(t *testing.T) {
	db, database := openNew(t, `CREATE TABLE t AS SELECT i AS id, repeat('x', 1000) AS fill
		FROM generate_series(1, 1000) AS i`)
	cut := parts(t, db, "t", source.Selection{}, 64<<10)
	joined, err := db.Join(context.Background(), cut[0].Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	database.Exec(t, "TRUNCATE t")
	for range 2 {
		_, err := joined.(source.Parter).Part(context.Background(), cut[0])
		if err == nil || !strings.Contains(err.Error(), "was truncated") {
			t.Errorf("a part of a table that was truncated: %v", err)
		}
	}
}

// TestStateAfterCrash: a crash empties unlogged tables without a transaction, so the state must be another one.
func TestStateAfterCrash(t *testing.T) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE UNLOGGED TABLE t AS SELECT 1 AS id")
	snapshot := func() source.Snapshot {
		db := open(t, database.ConnString())
		defer db.Close()
		snapshot, err := db.Share(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return snapshot
	}
	before := snapshot()
	if again := snapshot(); !again.Same(before) {
		t.Fatalf("nothing was written, and %+v is not the same as %+v", again, before)
	}
	victim, err := pgconn.Connect(context.Background(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(int(victim.PID()))
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = victim.Close(context.Background()) // it is lost
	testkit.WaitFor(t, "the unlogged table to be emptied", func() bool {
		conn, err := pgconn.Connect(context.Background(), database.ConnString())
		if err != nil {
			return false
		}
		results, err := conn.Exec(context.Background(), "TABLE t").ReadAll()
		return errors.Join(err, conn.Close(context.Background())) == nil && len(results[0].Rows) == 0
	})
	after := snapshot()
	if after.Same(before) {
		t.Errorf("after a crash, %+v is the same as %+v", after, before)
	}
	if after.Server != before.Server {
		t.Errorf("after a crash of a session, the server is %q, and was %q", after.Server, before.Server)
	}
}

// TestStandby shares the snapshots of a standby, which show the same only while it has paused.
func TestStandby(t *testing.T) {
	testkit.SincePostgres(t, 14, "the state of a pause in the replay of the log")
	settings := []string{"wal_level = replica", "max_wal_senders = 4"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	database := primary.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t AS SELECT i AS id FROM generate_series(1, 10000) AS i")
	standby := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	connString := standby.ConnString(database.Name)
	insert := func() {
		database.Exec(t, "INSERT INTO t SELECT i FROM generate_series(1, 10000) AS i")
		at := database.Query(t, "SELECT pg_current_wal_lsn()")[0][0]
		testkit.WaitFor(t, "the standby to replay", func() bool {
			rows := postgresQuery(t, connString, "SELECT pg_last_wal_replay_lsn() >= '"+at+"'")
			return rows == "t"
		})
	}
	cut := func() (*read.DB, []source.Part) {
		db := openAgain(t, connString)
		return db, parts(t, db, "t", source.Selection{}, 64<<10)
	}
	sum := func(list []int) (sum int) {
		for _, n := range list {
			sum += n
		}
		return sum
	}

	first, moving := cut()
	joined, err := first.Join(context.Background(), moving[0].Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	insert()
	if n := sum(counts(t, joined.(*read.DB), moving)); n != 10000 {
		t.Errorf("a session that joined sees %d rows", n)
	}
	second, later := cut()
	if later[0].Snapshot.Same(moving[0].Snapshot) {
		t.Errorf("a moving standby shows the same: %+v", later[0].Snapshot)
	}
	if _, err := second.Part(context.Background(), moving[0]); !errors.Is(err, source.ErrOtherSnapshot) {
		t.Errorf("a part of an earlier snapshot: %v", err)
	}

	postgresQuery(t, connString, "SELECT pg_wal_replay_pause()")
	testkit.WaitFor(t, "replay to pause", func() bool {
		return postgresQuery(t, connString, "SELECT pg_get_wal_replay_pause_state()") == "paused"
	})
	third, paused := cut()
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	database.Exec(t, "DELETE FROM t")
	fourth, still := cut()
	if !still[0].Snapshot.Same(paused[0].Snapshot) {
		t.Errorf("a paused standby shows %+v, and then %+v", paused[0].Snapshot, still[0].Snapshot)
	}
	if n := sum(counts(t, fourth, paused)); n != 20000 {
		t.Errorf("the parts of an earlier session on a paused standby have %d rows", n)
	}
	if _, err := read.Join(context.Background(), database.ConnString(), still[0].Snapshot); !errors.Is(
		err, source.ErrOtherServer) {
		t.Errorf("the primary joins a snapshot of its standby: %v", err)
	}
}

// postgresQuery returns the only value of a query.
func postgresQuery(t *testing.T, connString, sql string) string {
	t.Helper()
	conn, err := pgconn.Connect(context.Background(), connString)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	results, err := conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return string(results[0].Rows[0][0])
}

// TestPooler has servers behind a pooler, which tells its clients processes of its own. In transaction mode, all of
// them come to the same process of the server, one after the other.
func TestPooler(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	direct := openAgain(t, database.ConnString())
	snapshot, err := direct.Share(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, inTransactions := range []bool{false, true} {
		pooler := newProxy(t, server, func(m message) ([]byte, error) {
			switch {
			case m.kind() == 'K':
				return newMessage('K', "\x00\x00\x00\x01"+m.body()[4:]), nil
			case m.kind() == 'D' && inTransactions && isNumber(m.body()):
				return newMessage('D', "\x00\x01\x00\x00\x00\x044711"), nil
			}
			return m, nil
		})
		db := openAgain(t, pooler.connString(database.Name))
		_, sharing := db.Share(context.Background())
		joined, joining := read.Join(context.Background(), pooler.connString(database.Name), snapshot)
		if joining == nil {
			if err := joined.Close(); err != nil {
				t.Error(err)
			}
		}
		for what, err := range map[string]error{"sharing": sharing, "joining": joining} {
			want := ""
			if inTransactions {
				want = "pooler in transaction mode"
			}
			if (err != nil) != inTransactions || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s, in transaction mode %v: %v", what, inTransactions, err)
			}
		}
	}
}

// isNumber reports whether a row has one value, which is a number.
func isNumber(row string) bool {
	return strings.HasPrefix(row, "\x00\x01\x00\x00\x00") && len(row) > 6 && strings.Trim(row[6:], "0123456789") == ""
}
