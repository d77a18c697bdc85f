package read_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

// TestBrokenRows has a row lose bytes at its end, up to all of them. Tables are counted, but queries are not.
func TestBrokenRows(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int, s text, at datetime(6), d double, b bit(9)); INSERT INTO t VALUES"+
		" (7, 'MARKER', '2026-01-02 03:04:05.000001', 0.5, 3)")
	const length = 36 // of the row
	for lost := range length {
		socket := proxy(t, []string{database.Server.SocketPath()}, func(client io.Writer, server io.Reader) {
			passPackets(client, server, func(packet []byte) (_ []byte, last bool) {
				if strings.Contains(string(packet), "MARKER") && packet[0] == 0 {
					packet = packet[:max(0, len(packet)-lost-1)]
				}
				return packet, false
			})
		})
		db, err := read.Open(context.Background(), socketURL(database.Name, socket))
		if err != nil {
			t.Fatal(err)
		}
		rows := query(t, db, "SELECT s, i, at, d, b FROM t")
		if n, err := drain(rows); !errors.Is(err, source.ErrUnavailable) || n != 0 {
			t.Errorf("without %d bytes of the row: %d rows and the error %v", lost+1, n, err)
		}
		if err := errors.Join(rows.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestBrokenPackets cuts each packet of the server in turn, also of a table that was prepared, which is read as text.
// Nothing may panic, nor give other rows.
func TestBrokenPackets(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int, s text, at datetime(6), d double); INSERT INTO t VALUES"+
		" (7, 'x', '2026-01-02 03:04:05.000001', 0.5)")
	for i, keep := range []float64{0.01, 0.3, 0.9, 0.01, 0.3, 0.9} {
		complete := false
		for number := 1; !complete; number++ {
			if number == 1000 {
				t.Fatal("there is no end of packets")
			}
			socket := proxy(t, []string{database.Server.SocketPath()}, func(client io.Writer, server io.Reader) {
				left := number
				passPackets(client, server, func(packet []byte) (_ []byte, last bool) {
					left--
					if left > 0 {
						return packet, false
					}
					return packet[:1+int(keep*float64(len(packet)-1))], true
				})
			})
			db, err := read.Open(context.Background(), socketURL(database.Name, socket))
			if err != nil {
				if !errors.Is(err, source.ErrUnavailable) || strings.Contains(err.Error(), "\n") {
					t.Errorf("packet %d cut to %v: %v", number, keep, err)
				}
				continue
			}
			complete, err = breaks(db, i > 2)
			if err == nil {
				t.Errorf("packet %d cut to %v: no error", number, keep)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// breaks reads the table t, and reports whether it has its row.
func breaks(db *read.DB, prepared bool) (complete bool, err error) {
	if prepared {
		if err := db.Prepare(context.Background(), []string{"t"}); err != nil {
			return false, err
		}
	}
	rows, err := db.Table(context.Background(), "t")
	if err != nil {
		return false, err
	}
	n, err := drain(rows)
	return err == io.EOF && n == 1, errors.Join(err, rows.Close())
}

// TestOtherCount has the server count another number of rows than it has sent, of a table that is read as text.
func TestOtherCount(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int, s text); INSERT INTO t VALUES (7, 'x')")
	socket := proxy(t, []string{database.Server.SocketPath()}, func(client io.Writer, server io.Reader) {
		passPackets(client, server, func(packet []byte) (_ []byte, last bool) {
			if bytes.Equal(packet, []byte("\x011\x010")) { // one row, and no warnings
				packet = []byte("\x012\x010")
			}
			return packet, false
		})
	})
	db := openAgain(t, socketURL(database.Name, socket))
	if err := db.Prepare(t.Context(), []string{"t"}); err != nil {
		t.Fatal(err)
	}
	rows := table(t, db, "t")
	_, err := drain(rows)
	if count, is := errors.AsType[*source.CountError](err); !is || count.Received != 1 || count.Confirmed != 2 {
		t.Errorf("a row that is lost gives %v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

// TestOtherColumns has the server answer with one column where there have to be two, in the third answer of two: the
// first tells when the server was started, and the second when the snapshot was taken.
func TestOtherColumns(t *testing.T) {
	testkit.NeedsMariaDB(t, "these answers")
	server := testkit.MariaDB(t)
	row := []byte("\x01x")
	socket := proxy(t, []string{server.SocketPath()}, func(client io.Writer, server io.Reader) {
		answers := 0
		changed := 0 // packets of the answer: the number of columns, of which it also says that they follow, and both
		passPackets(client, server, func(packet []byte) (_ []byte, last bool) {
			if bytes.Equal(packet, []byte{2, 1}) {
				answers++
			}
			if answers < 3 || changed == 3 {
				return packet, false
			}
			changed++
			return [][]byte{{1, 1}, packet, row}[changed-1], false
		})
	})
	db := openAgain(t, socketURL("", socket))
	if got, err := db.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "unexpected answer") {
		t.Errorf("a status of one column gives %+v and the error %v", got, err)
	}
}

func socketURL(database, socket string) string {
	return "mysql://root@/" + database + "?socket=" + url.QueryEscape(socket)
}

// proxy stands before servers, of which each connection gets the next one, and then the last. What they send, pass
// hands on until one of both sides ends. The result is its socket.
func proxy(t *testing.T, servers []string, pass func(client io.Writer, server io.Reader)) string {
	t.Helper()
	next := func() string {
		socket := servers[0]
		servers = servers[min(1, len(servers)-1):]
		return socket
	}
	both := func(client, server net.Conn) (ask, answer func()) {
		ask = func() {
			_, _ = io.Copy(server, client) // ends when either side does
			server.Close()
		}
		return ask, func() { pass(client, server) }
	}
	return testkit.NewRelay(t, testkit.ListenUnix(t), next, both).Address()
}

// passPackets passes the packets of a server on, changed, until one of both sides ends, or the last. Before a packet
// stand its length in three bytes, and a number.
func passPackets(client io.Writer, server io.Reader, change func(packet []byte) (_ []byte, last bool)) {
	for {
		var header [4]byte
		if _, err := io.ReadFull(server, header[:]); err != nil {
			return
		}
		packet := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
		if _, err := io.ReadFull(server, packet); err != nil {
			return
		}
		packet, last := change(packet)
		header[0], header[1], header[2] = byte(len(packet)), byte(len(packet)>>8), byte(len(packet)>>16)
		if _, err := client.Write(append(header[:], packet...)); err != nil || last {
			return
		}
	}
}
