package secureconn_test

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/secureconn"
)

// TestRekey sends in both directions at once, with many new keys by bytes, and by time.
func TestRekey(t *testing.T) {
	for name, set := range map[string]func(*secureconn.Conn){
		"by bytes": func(c *secureconn.Conn) { c.SetRekey(1<<20, secureconn.RekeyAge) },
		"by time":  func(c *secureconn.Conn) { c.SetRekey(1<<30, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			client, server := secure(t, tcpPair)
			var background sync.WaitGroup
			content := noise(300_000)
			const rounds = 20
			for _, c := range []*secureconn.Conn{client, server} {
				set(c)
				background.Go(func() {
					for range rounds {
						if _, err := c.Write(content); err != nil {
							t.Error(err)
						}
					}
					if err := c.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				background.Go(func() {
					got := make([]byte, len(content))
					for range rounds {
						if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, content) {
							t.Error("the bytes are others:", err)
							return
						}
					}
					if _, err := c.Read(got); err != io.EOF {
						t.Error(err)
					}
				})
			}
			background.Wait()
			a, b := client.Stats(), server.Stats()
			if min(a.RekeysSent, b.RekeysSent) < 3 || a.RekeysReceived != b.RekeysSent ||
				b.RekeysReceived != a.RekeysSent {
				t.Errorf("re-keys: %+v and %+v", a, b)
			}
		})
	}
}

// TestLastNumbers has a direction come to the end of its sequence, where no record may be sealed any more.
func TestLastNumbers(t *testing.T) {
	client, server := secure(t, tcpPair)
	client.SetSequence(1<<64 - 3)
	server.SetSequence(1<<64 - 3)
	for range 2 {
		if _, err := client.Write([]byte("word")); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if _, err := client.Write([]byte("more")); err == nil {
			t.Error("Write went well without a number")
		}
	}
	if err := client.CloseWrite(); err == nil {
		t.Error("CloseWrite went well without a number")
	}
	if err := client.Close(); err == nil {
		t.Error("Close went well without a number")
	}
	if got, err := io.ReadAll(server); err != io.ErrUnexpectedEOF || string(got) != "wordword" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestRekeyAfterAPause has a key grow old on a connection that nobody uses.
func TestRekeyAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := secure(t, pipePair)
		go func() { _, _ = io.Copy(server, server) }()
		ask := func() {
			if _, err := client.Write([]byte("ping")); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(client, make([]byte, 4)); err != nil {
				t.Error(err)
			}
		}
		ask()
		<-time.After(secureconn.RekeyAge)
		ask()
		if got := client.Stats(); got.RekeysSent != 0 || got.RekeysReceived != 0 {
			t.Errorf("too early: %+v", got)
		}
		<-time.After(time.Second)
		ask()
		if got := client.Stats(); got.RekeysSent != 1 || got.RekeysReceived != 1 {
			t.Errorf("after the pause: %+v", got)
		}
		client.Close()
		server.Close()
	})
}
