package read_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

// manyRows is larger than all buffers between the server and a reader.
const manyRows = "CREATE TABLE t AS SELECT seq AS i, REPEAT('x', 100) AS fill FROM seq_1_to_300000"

// expectIdle waits until the server runs nothing, and has no connection but that of the question and so many others.
func expectIdle(t *testing.T, database *testkit.MariaDBDatabase, others int) {
	t.Helper()
	const question = "SELECT COUNT(*), SUM(COMMAND <> 'Sleep') FROM information_schema.PROCESSLIST" +
		" WHERE DB = DATABASE()"
	testkit.WaitFor(t, "the server to end what it did", func() bool {
		answer := database.Query(t, question)[0]
		return len(answer[0]) == 1 && int(answer[0][0]-'0') == others+1 && answer[1] == "1"
	})
}

// TestServerEnds pins what happens when the server goes away while it is read.
func TestServerEnds(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, manyRows)
	leaks := goleak.IgnoreCurrent()
	for name, end := range map[string]func(testing.TB){
		"Kill": server.Kill,
		"Stop": server.Stop,
		"KILL": func(tb testing.TB) {
			database.KillOthers(tb)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, database.URL())
			rows := table(t, db, "t")
			var b source.Batch
			if err := rows.Next(&b); err != nil {
				t.Fatal(err)
			}
			n := b.Rows()
			end(t)
			var err error
			for err == nil {
				if err = rows.Next(&b); err == nil {
					n += b.Rows()
				}
			}
			if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), database.Name+`.t", after `) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("after %d rows: %v", n, err)
			}
			if again := rows.Next(&b); again != err {
				t.Errorf("Next again: %v", again)
			}
			if err := rows.Close(); err != nil {
				t.Error(err)
			}
			if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
				t.Errorf("Table afterwards: %v", err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			if name != "KILL" {
				server.Start(t)
			}
			expectIdle(t, database, 0)
		})
	}
	goleak.VerifyNone(t, leaks)
}

// TestCancel has the end of a context end the statement on the server: one that sends rows without end, after which the
// connection is kept, and one that sends nothing, of which only the end of the connection frees the reader.
func TestCancel(t *testing.T) {
	_, database := openNew(t, manyRows)
	for sql, isKept := range map[string]bool{
		"SELECT SLEEP(3600)": false, "SELECT /*+ NO_BNL() */ a.i FROM t a, t b, t c": true,
	} {
		db := openAgain(t, database.URL())
		ctx, cancel := context.WithCancel(context.Background())
		begun, ended := make(chan struct{}), make(chan error, 1)
		go func() { ended <- runFrom(ctx, db, sql, begun) }()
		if isKept {
			<-begun // before, it is prepared, and computes what it sends first
		} else {
			testkit.WaitFor(t, "the statement", func() bool { return strings.Contains(running(t, database), sql) })
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", sql, err)
		}
		others := 1
		if isKept {
			others++
		}
		expectIdle(t, database, others)
		rows, err := db.Query(context.Background(), "SELECT 1")
		if isKept && err != nil || !isKept && !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("after %s: %v", sql, err)
		}
		if err == nil {
			err = rows.Close()
			if err = errors.Join(err, db.Close()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCancelBetween has the context end while nothing is being read, and the statement is silent.
func TestCancelBetween(t *testing.T) {
	_, database := openNew(t, manyRows)
	ended := make(chan struct{}, 2)
	socket := proxy(t, []string{database.Server.SocketPath()}, func(client io.Writer, server io.Reader) {
		_, _ = io.Copy(client, server)
		ended <- struct{}{}
	})
	db := openAgain(t, socketURL(database.Name, socket))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rows, err := db.Query(ctx, "SELECT i, fill, IF(i = 1000, BENCHMARK(1000000000000, SHA2(i, 256)), 0) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	// What the server makes after these rows, and before it is silent, is less than it sends at a time.
	var b source.Batch
	b.SetLimit(1)
	for range 900 {
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	<-ended // the connection
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	expectIdle(t, database, 1)
	if _, err := db.Query(context.Background(), "SELECT 1"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestCloseAfterFailure closes rows of which the server has already sent the error that ends them.
func TestCloseAfterFailure(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (i int); INSERT INTO t VALUES (1)")
	rows := query(t, db, testkit.ForMySQL("SELECT IF(seq < 200, seq, (SELECT 1 UNION SELECT 2)) FROM seq_1_to_200"))
	var b source.Batch
	b.SetLimit(1)
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	database.Exec(t, "INSERT INTO t VALUES (2)")
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	expectRows(t, table(t, db, "t"), 1)
}

// TestOtherServer has the connection for a KILL come out at another server, as behind a balancer.
func TestOtherServer(t *testing.T) {
	first, second := testkit.MariaDB(t), testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	socket := proxy(t, []string{first.SocketPath(), second.SocketPath()}, func(client io.Writer, server io.Reader) {
		_, _ = io.Copy(client, server) // until one of them ends
	})
	db := openAgain(t, "mysql://root@/mysql?socket="+url.QueryEscape(socket))
	rows := query(t, db, testkit.ForMySQL("SELECT seq, REPEAT('x', 100) FROM seq_1_to_1000000"))
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Query(context.Background(), "SELECT 1"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("afterwards: %v", err)
	}
	status := second.NewDatabase(t).Query(t, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_kill', 'Connections')")
	if len(status) != 2 || status[0][1] != "0" || len(status[1][1]) == 0 {
		t.Errorf("the other server has the counts %q, want no KILL", status)
	}
}

// TestRestartedServer has another connection get the number that the one of the source had before a restart. Ending
// the rows must not kill it.
func TestRestartedServer(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, manyRows)
	for range 20 { // so that the number is not one that the server itself needs at its start
		database.Query(t, "SELECT 1")
	}
	db := openAgain(t, database.URL())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rows, err := db.Query(ctx, "SELECT CONNECTION_ID(), fill FROM t")
	if err != nil {
		t.Fatal(err)
	}
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	_, text := b.Value(0, 0)
	number := string(text)

	testkit.WaitFor(t, "the server to be older than its start can be told", func() bool {
		age, err := strconv.Atoi(database.Query(t, "SHOW GLOBAL STATUS LIKE 'Uptime'")[0][1])
		return err == nil && age > 3
	})
	server.Kill(t)
	server.Start(t)
	other := connectionWithNumber(t, database, number)
	cancel()
	if err := rows.Next(&b); err == nil {
		t.Error("rows were read of a server that has been killed")
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if err := other.PingContext(context.Background()); err != nil {
		t.Errorf("the connection of somebody else was ended: %v", err)
	}
}

// connectionWithNumber makes connections until one has the number.
func connectionWithNumber(t *testing.T, database *testkit.MariaDBDatabase, number string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("mysql", "root@unix("+database.Server.SocketPath()+")/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 200 {
		c, err := pool.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var has string
		if err := c.QueryRowContext(context.Background(), "SELECT CONNECTION_ID()").Scan(&has); err != nil {
			t.Fatal(err)
		}
		if has == number {
			return c
		}
	}
	t.Fatalf("no connection has the number %s", number)
	return nil
}

// run reads the rows of a query until they end.
func run(ctx context.Context, db *read.DB, sql string) error {
	return runFrom(ctx, db, sql, make(chan struct{}))
}

// runFrom is run, and closes a channel after the first batch, or at the end.
func runFrom(ctx context.Context, db *read.DB, sql string, begun chan<- struct{}) error {
	began := sync.OnceFunc(func() { close(begun) })
	defer began()
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	var b source.Batch
	for err == nil {
		err = rows.Next(&b)
		began()
	}
	return errors.Join(err, rows.Close())
}

// running is what the server runs in a database.
func running(t *testing.T, database *testkit.MariaDBDatabase) string {
	t.Helper()
	var all []string
	for _, row := range database.Query(t, "SELECT INFO FROM information_schema.PROCESSLIST WHERE DB = DATABASE()") {
		all = append(all, row[0])
	}
	return strings.Join(all, "\n")
}

// TestCloseInTheMiddle closes rows that the server could send for years, and reads on in the same snapshot.
func TestCloseInTheMiddle(t *testing.T) {
	db, database := openNew(t, manyRows)
	for _, sql := range []string{"SELECT /*+ NO_BNL() */ a.i, a.fill FROM t a, t b, t c", "SELECT i FROM t LIMIT 1"} {
		rows := query(t, db, sql)
		var b source.Batch
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
		database.Exec(t, "INSERT INTO t VALUES (0, '')")
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		expectIdle(t, database, 1)
		expectRows(t, table(t, db, "t"), 300_000)
	}
}

// TestCloseWhileOpen closes the source with rows open.
func TestCloseWhileOpen(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, manyRows)
	leaks := goleak.IgnoreCurrent()
	db := open(t, database.URL())
	rows := query(t, db, "SELECT /*+ NO_BNL() */ a.i FROM t a, t b, t c")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	var b source.Batch
	if err := rows.Next(&b); err == nil || err == io.EOF {
		t.Errorf("Next after the source was closed: %v", err)
	}
	if _, err := db.Query(context.Background(), "SELECT 1"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Query after Close: %v", err)
	}
	expectIdle(t, database, 0)
	goleak.VerifyNone(t, leaks)
}

// TestCanceledKeepsConnection ends the rows of a table by their context, as an export does if a value cannot be
// written. The connections can then read the next table.
func TestCanceledKeepsConnection(t *testing.T) {
	_, database := openNew(t, strings.Replace(manyRows, " AS", " (PRIMARY KEY (i)) AS", 1)+"; ANALYZE TABLE t")
	for _, connections := range []int{1, 3} {
		db := openTogether(t, database.URL(), connections)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rows, err := db.Table(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		all, err := rows.(source.Divider).Divide(connections)
		if err != nil || len(all) != connections {
			t.Fatalf("%d readers, %v", len(all), err)
		}
		var b source.Batch
		for _, one := range all {
			if err := one.Next(&b); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		for _, one := range all {
			if err := one.Next(&b); !errors.Is(err, context.Canceled) {
				t.Errorf("a reader: %v, want context.Canceled", err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		beside, _ := db.Beside(connections - 1)
		for _, src := range append([]source.Source{db}, beside...) {
			again, err := src.Table(t.Context(), "t")
			if err != nil {
				t.Fatalf("of %d connections: %v", connections, err)
			}
			expectRows(t, again, 300_000)
			if err := errors.Join(again.Close(), src.Close()); err != nil {
				t.Error(err)
			}
		}
		if len(beside) != connections-1 {
			t.Errorf("%d connections are left, want %d", 1+len(beside), connections)
		}
	}
}
