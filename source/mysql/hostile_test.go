package mysql_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
	"culvert/source/mysql"
)

// TestBrokenRows has a row lose bytes at its end, up to all of them. Tables are counted, but queries are not.
func TestBrokenRows(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (i int, s text, at datetime(6), d double, b bit(9)); INSERT INTO t VALUES"+
		" (7, 'MARKER', '2026-01-02 03:04:05.000001', 0.5, 3)")
	const length = 36 // of the row
	for lost := range length {
		socket := breakingProxy(t, database.Server.SocketPath(), lost+1)
		db, err := mysql.Open(context.Background(), "mysql://root@/"+database.Name+"?socket="+url.QueryEscape(socket))
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

// breakingProxy stands before a server, and cuts so many bytes off the row that holds MARKER. It gives its socket.
func breakingProxy(t *testing.T, server string, lost int) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("unix", server)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				_, _ = io.Copy(upstream, client) // ends when either side does
				upstream.Close()
			}()
			cutPackets(client, upstream, lost)
			client.Close()
			upstream.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return socket
}

// cutPackets passes the packets of a server on until one of both sides ends. Before a packet stand its length in three
// bytes, and a number.
func cutPackets(client io.Writer, server io.Reader, lost int) {
	for {
		var header [4]byte
		if _, err := io.ReadFull(server, header[:]); err != nil {
			return
		}
		packet := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
		if _, err := io.ReadFull(server, packet); err != nil {
			return
		}
		if strings.Contains(string(packet), "MARKER") && packet[0] == 0 {
			packet = packet[:max(0, len(packet)-lost)]
			header[0], header[1], header[2] = byte(len(packet)), 0, 0
		}
		if _, err := client.Write(append(header[:], packet...)); err != nil {
			return
		}
	}
}
