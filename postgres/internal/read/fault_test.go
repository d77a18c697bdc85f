package read_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// ways are both ways to read rows. After so many rows, or a batch of them, meanwhile is called once.
var ways = []struct {
	name string
	read func(rows source.Rows, after int, meanwhile func()) (int64, error)
}{
	{"Next", func(rows source.Rows, _ int, meanwhile func()) (n int64, err error) {
		var b source.Batch
		for {
			if err := rows.Next(&b); err != nil {
				return n, err
			}
			if n == 0 {
				meanwhile()
			}
			n += int64(b.Rows())
		}
	}},
	{"WriteCSV", func(rows source.Rows, after int, meanwhile func()) (int64, error) {
		n, err := rows.(source.CSVWriter).WriteCSV(&callingWriter{after: after, call: meanwhile})
		if err == nil {
			err = io.EOF
		}
		return n, err
	}},
}

// callingWriter calls a function after so many rows.
type callingWriter struct {
	after int
	call  func()
}

func (w *callingWriter) Write(p []byte) (int, error) {
	w.after--
	if w.after == 0 {
		w.call()
	}
	return len(p), nil
}

// manyRows is larger than all buffers between the server and a reader.
const manyRows = "CREATE TABLE t AS SELECT i, repeat('x', 100) AS fill FROM generate_series(1, 300000) AS i"

func TestServerKilled(t *testing.T) {
	server := testkit.NewPostgres(t, testkit.PostgresConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, manyRows)
	for _, way := range ways {
		for _, end := range []string{"Kill", "Stop"} {
			t.Run(way.name+"/"+end, func(t *testing.T) {
				db := openAgain(t, database.ConnString())
				n, err := way.read(table(t, db, "t"), 1000, func() {
					if end == "Kill" {
						server.Kill(t)
					} else {
						server.Stop(t)
					}
				})
				if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), `table "public.t"`) ||
					!strings.Contains(err.Error(), " rows") {
					t.Errorf("after %d rows: %v", n, err)
				}
				if n < 1000 || n >= 300_000 {
					t.Errorf("%d rows came", n)
				}
				if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
					t.Errorf("Table afterwards: %v", err)
				}
				_, err = read.Open(context.Background(), database.ConnString())
				if !errors.Is(err, source.ErrUnavailable) {
					t.Errorf("Open afterwards: %v", err)
				}
				server.Start(t)
			})
		}
	}
}

// TestSessionEnded ends the session as an administrator does, while it runs a query and between two.
func TestSessionEnded(t *testing.T) {
	db, database := openNew(t, "")
	end := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'culvert' AND datname = '" +
		database.Name + "'"
	result := make(chan error)
	rows := query(t, db, "SELECT 1 FROM pg_sleep(60)")
	go func() {
		_, err := drain(rows)
		result <- err
	}()
	for ended := false; !ended; {
		ended = len(database.Query(t, end+" AND query LIKE 'SELECT 1%'")) > 0
	}
	err := <-result
	if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "57P01") {
		t.Errorf("a session that is ended in a query: %v", err)
	}

	db = openAgain(t, database.ConnString())
	database.Query(t, end)
	if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("a session that is ended between queries: %v", err)
	}
}

// TestWrongCount has a proxy change the number of rows that the server confirms, or lose a row.
func TestWrongCount(t *testing.T) {
	_, database := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 10) AS i")
	more := func(m message) ([]byte, error) {
		if m.kind() == 'C' && (m.body() == "COPY 10\x00" || m.body() == "SELECT 10\x00") {
			m = newMessage('C', strings.Replace(m.body(), "10", "11", 1))
		}
		return m, nil
	}
	none := func(m message) ([]byte, error) {
		if m.kind() == 'C' && (m.body() == "COPY 10\x00" || m.body() == "SELECT 10\x00") {
			m = newMessage('C', strings.Replace(m.body(), " 10", "", 1))
		}
		return m, nil
	}
	less := func(m message) ([]byte, error) {
		// A row of the value 7, as CSV and as one value of one byte.
		if m.kind() == 'd' && m.body() == "7\n" || m.kind() == 'D' && m.body() == "\x00\x01\x00\x00\x00\x017" {
			return nil, nil
		}
		return m, nil
	}
	for _, test := range []struct {
		name string
		edit func(message) ([]byte, error)
		want source.CountError
	}{
		{"more", more, source.CountError{Received: 10, Confirmed: 11}},
		{"none", none, source.CountError{Received: 10, Confirmed: 0}},
		{"less", less, source.CountError{Received: 9, Confirmed: 10}},
	} {
		db := openAgain(t, newProxy(t, database.Server, test.edit).connString(database.Name))
		for _, way := range ways {
			rows := table(t, db, "t")
			_, err := way.read(rows, 0, func() {})
			count, ok := errors.AsType[*source.CountError](err)
			if !ok || *count != test.want || errors.Is(err, source.ErrUnavailable) {
				t.Errorf("%s by %s: %v, want %v", test.name, way.name, err, &test.want)
			}
			var b source.Batch
			if again := rows.Next(&b); again != err {
				t.Errorf("%s by %s: Next afterwards: %v", test.name, way.name, again)
			}
		}
	}
}

// TestCut cuts the connection at several places of what the server sends.
func TestCut(t *testing.T) {
	_, database := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 10) AS i")
	for _, test := range []struct {
		name  string
		keep  int // of the message, in bytes
		cutAt func(message) bool
	}{
		{"before a row", 0, func(m message) bool { return isRow(m, "7") }},
		{"in a header", 3, func(m message) bool { return isRow(m, "7") }},
		{"in a row", 6, func(m message) bool { return isRow(m, "7") }},
		{"before the end of the copy", 0, func(m message) bool { return m.kind() == 'c' }},
		{"before the tag", 0, func(m message) bool { return m.kind() == 'C' && strings.Contains(m.body(), " 10") }},
		{"in the tag", 8, func(m message) bool { return m.kind() == 'C' && strings.Contains(m.body(), " 10") }},
	} {
		for _, way := range ways {
			cut := false
			edit := func(m message) ([]byte, error) {
				if cut = test.cutAt(m); cut {
					return m[:test.keep], io.EOF
				}
				return m, nil
			}
			if way.name == "Next" && strings.Contains(test.name, "copy") {
				continue
			}
			db := openAgain(t, newProxy(t, database.Server, edit).connString(database.Name))
			_, err := way.read(table(t, db, "t"), 0, func() {})
			if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "lost the connection after") {
				t.Errorf("cut %s by %s: %v", test.name, way.name, err)
			}
			if errors.Is(err, io.EOF) {
				t.Errorf("cut %s by %s: %v is the end of the rows", test.name, way.name, err)
			}
		}
	}
}

// isRow reports whether a message is a row of one value, as CSV or as such.
func isRow(m message, value string) bool {
	return m.kind() == 'd' && m.body() == value+"\n" || m.kind() == 'D' && strings.HasSuffix(m.body(), "\x01"+value)
}

// TestNonsense has the server send what it must not.
func TestNonsense(t *testing.T) {
	_, database := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 10) AS i")
	for name, nonsense := range map[string]message{
		"a row of two values":  newMessage('D', "\x00\x02\x00\x00\x00\x017\x00\x00\x00\x017"),
		"a row of no values":   newMessage('D', "\x00\x00"),
		"a value cut short":    newMessage('D', "\x00\x01\x00\x00\xff\xff7"),
		"a negative length":    newMessage('D', "\x00\x01\xff\xff\xff\xf07"),
		"a message of 2 GiB":   {'D', 0x7f, 0xff, 0xff, 0xff},
		"an unknown message":   newMessage('?', ""),
		"too short a message":  {'D', 0, 0, 0, 1},
		"an error of nothing":  newMessage('E', "\x00"),
		"an empty row message": newMessage('D', ""),
	} {
		edit := func(m message) ([]byte, error) {
			if isRow(m, "7") {
				return nonsense, nil
			}
			return m, nil
		}
		db := openAgain(t, newProxy(t, database.Server, edit).connString(database.Name))
		if n, err := drain(table(t, db, "t")); err == nil || err == io.EOF || n >= 10 {
			t.Errorf("%s: %d rows and the error %v", name, n, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	db, database := openNew(t, manyRows)
	running := "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND application_name = 'culvert'" +
		" AND datname = '" + database.Name + "'"
	for _, way := range ways {
		ctx, cancel := context.WithCancel(context.Background())
		rows, err := db.Table(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		n, err := way.read(rows, 1000, func() {
			if got := database.Query(t, running); len(got) != 1 {
				t.Errorf("%s: %d queries are running before", way.name, len(got))
			}
			cancel()
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: %v, want context.Canceled", way.name, err)
		}
		if n < 1000 || n >= 300_000 {
			t.Errorf("%s: %d rows came", way.name, n)
		}
		if got := database.Query(t, running); len(got) != 0 {
			t.Errorf("%s: %d queries are running afterwards", way.name, len(got))
		}
		if n, err := drain(query(t, db, "SELECT 1")); n != 1 || err != io.EOF {
			t.Errorf("%s: a query afterwards has %d rows and the error %v", way.name, n, err)
		}
	}
}

// TestCancelHitsOnlyItsOwn cancels queries at all moments, their ends included. The query that follows must not notice.
func TestCancelHitsOnlyItsOwn(t *testing.T) {
	db, _ := openNew(t, "")
	canceled := 0
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		rows, err := db.Query(ctx, "SELECT generate_series(1, 20000)")
		if err != nil {
			t.Fatal(err)
		}
		var b source.Batch
		if i%2 == 0 {
			err = rows.Next(&b)
		}
		go cancel()
		if err == nil {
			_, err = drain(rows)
		}
		switch {
		case errors.Is(err, context.Canceled):
			canceled++
		case err != io.EOF:
			t.Fatal(err)
		}
		if n, err := drain(query(t, db, "SELECT generate_series(1, 1000)")); n != 1000 || err != io.EOF {
			t.Fatalf("after %d cancellations, a query has %d rows and the error %v", canceled, n, err)
		}
	}
	if canceled == 0 {
		t.Error("nothing was canceled")
	}
}

// TestCancelGetsLost cancels a query, of which the server does not hear at first. The connection must not be given up.
func TestCancelGetsLost(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var reading atomic.Bool
	server := testkit.Postgres(t)
	p := newProxy(t, server, func(m message) ([]byte, error) {
		if m.kind() == 'D' && reading.Load() {
			cancel()
		}
		return m, nil
	})
	p.lost.Store(2)
	db := openAgain(t, p.connString(server.NewDatabase(t).Name))
	rows, err := db.Query(ctx, "SELECT generate_series(1, 1000000000000)")
	if err != nil {
		t.Fatal(err)
	}
	reading.Store(true)
	if _, err := drain(rows); !errors.Is(err, context.Canceled) {
		t.Errorf("the query ends with %v", err)
	}
	if n, err := drain(query(t, db, "SELECT 1")); n != 1 || err != io.EOF {
		t.Errorf("the next query has %d rows, and ends with %v", n, err)
	}
}

// TestClosedInTheMiddle closes the database while rows are open.
func TestClosedInTheMiddle(t *testing.T) {
	_, database := openNew(t, manyRows)
	db := open(t, database.ConnString())
	rows := table(t, db, "t")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := rows.Next(&b); err == nil || err == io.EOF {
		t.Errorf("Next after the database was closed: %v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Table(context.Background(), "t"); err == nil {
		t.Error("Table after the database was closed did not fail")
	}
}

// TestSilence has the server fall silent in the middle of the rows, for cancel requests too. Nothing may hang.
func TestSilence(t *testing.T) {
	read.ShortenGrace(t)
	_, database := openNew(t, "CREATE TABLE t AS SELECT i FROM generate_series(1, 10) AS i")
	for _, way := range ways {
		silent, release := make(chan struct{}), make(chan struct{})
		edit := func(m message) ([]byte, error) {
			if isRow(m, "7") {
				close(silent)
				<-release
			}
			return m, nil
		}
		p := newProxy(t, database.Server, edit)
		db := open(t, p.connString(database.Name))
		ctx, cancel := context.WithCancel(context.Background())
		rows, err := db.Table(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-silent
			p.Refuse() // a cancel request needs a connection
			cancel()
		}()
		if _, err := way.read(rows, 0, func() {}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", way.name, err)
		}
		if _, err := db.Table(context.Background(), "t"); !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: Table afterwards: %v", way.name, err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("%s: %v", way.name, err)
		}
		close(release)
	}
}

func TestOpenCanceled(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // it never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = read.Open(ctx, "postgres://u@"+listener.Addr().String()+"/d")
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Open with a deadline: %v", err)
	}
}
