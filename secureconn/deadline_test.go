package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

// TestPeerThatNeverReads has a deadline, and then Close, end what the peer would have last for ever.
func TestPeerThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		content := noise(1 << 20)
		if err := client.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		start, sent := time.Now(), 0
		var err error
		for err == nil {
			var n int
			n, err = client.Write(content)
			sent += n
		}
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Minute {
			t.Errorf("after %v: %v", took, err)
		}
		if sent > secureconn.SendQueue {
			t.Errorf("%d bytes were taken without being read", sent)
		}
		if n, err := client.Write(content); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the next Write: %d, %v", n, err)
		}
		start = time.Now()
		err = client.Close()
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != secureconn.CloseTimeout {
			t.Errorf("Close after %v: %v", took, err)
		}
		if _, err := io.ReadAll(server); err != io.ErrUnexpectedEOF {
			t.Errorf("the peer reads %v", err)
		}
		server.Close()
	})
}

// TestWriteAfterDeadline has the rest of what a deadline has cut go out with the next one, and nothing be lost.
func TestWriteAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		content := noise(3 << 20)
		if err := client.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := client.Write(content)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n == len(content) {
			t.Fatalf("Write: %d, %v", n, err)
		}
		var background sync.WaitGroup
		background.Go(func() {
			got := make([]byte, n)
			if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, content[:n]) {
				t.Error("what was sealed does not come:", err)
			}
		})
		synctest.Wait()
		// To set the deadline is enough to have the queue written.
		if err := client.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		background.Wait()
		background.Go(func() {
			got, err := io.ReadAll(server)
			if err != nil || !bytes.Equal(got, content[n:]) {
				t.Errorf("read %d bytes more, %v", len(got), err)
			}
		})
		_, err = client.Write(content[n:])
		if err := errors.Join(err, client.Close()); err != nil {
			t.Error(err)
		}
		background.Wait()
		server.Close()
	})
}

// TestReadDeadline has a record come in two parts, with a deadline between them.
func TestReadDeadline(t *testing.T) {
	conn, other := withSecondOver(t, true, tcpPair)
	record := other.send.seal(1, noise(100_000))
	other.put(t, record[:50_000])
	if err := conn.SetReadDeadline(time.Now().Add(-1)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100_000)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %d, %v", n, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	other.put(t, record[50_000:])
	got := make([]byte, 100_000)
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, noise(100_000)) {
		t.Error(err)
	}
}
