package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
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

// TestRekeyBytes adds up what is under each key, headers, tags and the REKEY included: never more than the bound, and a
// new key only if the next record would have been too much.
func TestRekeyBytes(t *testing.T) {
	conn, other := withSecond(t, true)
	const limit = 1000
	conn.SetRekey(limit, secureconn.RekeyAge)
	var background sync.WaitGroup
	background.Go(func() {
		random := rand.New(rand.NewPCG(1, 3))
		for range 300 {
			if _, err := conn.Write(make([]byte, 1+random.IntN(300))); err != nil {
				t.Error(err)
			}
		}
		if err := conn.CloseWrite(); err != nil {
			t.Error(err)
		}
	})
	under, before := 0, 0
	for kind := byte(0); kind != 3; {
		record := other.next(t)
		kind = record.kind
		n := 8 + len(record.plaintext) + 16
		if under += n; under > limit {
			t.Errorf("%d bytes are under one key", under)
		}
		if before > 0 && before+n+24 <= limit { // another REKEY has to fit, too
			t.Errorf("a new key after %d bytes, and before a record of %d", before, n)
		}
		if before = 0; kind == 2 {
			under, before = 0, under
		}
	}
	background.Wait()
}

// TestForgottenSecrets looks whether a secret is overwritten when it is of no use any more.
func TestForgottenSecrets(t *testing.T) {
	isGone := func(secret []byte) bool { return bytes.Equal(secret, make([]byte, len(secret))) }
	conn, other := withSecondOver(t, true, tcpPair)
	conn.SetRekey(100, secureconn.RekeyAge)
	first := conn.Secrets()
	if len(first[0]) == 0 || isGone(first[0]) || isGone(first[1]) {
		t.Fatal("there are no secrets")
	}
	for range 2 {
		if _, err := conn.Write(make([]byte, 80)); err != nil {
			t.Error(err)
		}
	}
	other.put(t, append(other.send.seal(2, nil), other.send.seal(1, []byte("x"))...))
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	second := conn.Secrets()
	if !isGone(first[0]) || !isGone(first[1]) || isGone(second[0]) || isGone(second[1]) {
		t.Error("after a REKEY the old secrets are there, or there are no new ones")
	}
	if err := conn.CloseWrite(); err != nil || !isGone(second[0]) {
		t.Errorf("after CloseWrite its secret is there, or not: %v", err)
	}
	other.put(t, append([]byte{1, 0, 0, 0, 0, 0, 0, 17}, make([]byte, 17)...))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, secureconn.ErrRecord) || !isGone(second[1]) {
		t.Errorf("after a forgery the secret is there, or not: %v", err)
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
