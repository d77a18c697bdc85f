package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"culvert/secureconn"
)

// withSecond makes a connection between the package, as client or as server, and the second implementation.
func withSecond(tb testing.TB, isClient bool) (*secureconn.Conn, *second) {
	tb.Helper()
	return withSecondOver(tb, isClient, pipePair)
}

func withSecondOver(tb testing.TB, isClient bool, connect func(testing.TB) (net.Conn, net.Conn)) (
	*secureconn.Conn, *second,
) {
	tb.Helper()
	here, there := connect(tb)
	var conn *secureconn.Conn
	own, peer := key(2), key(1)
	if forClient, forServer := configs(); isClient {
		conn = secureconn.Client(here, forClient)
	} else {
		conn = secureconn.Server(here, forServer)
		own, peer = peer, own
	}
	done := make(chan error, 1)
	go func() { done <- conn.Handshake() }()
	other, err := newSecond(there, own, peer, !isClient, secondConfig(own))
	if err != nil {
		tb.Fatal(err)
	}
	if err := <-done; err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { there.Close(); conn.Close() })
	return conn, other
}

var sides = map[string]bool{"client": true, "server": false}

// TestFormat has the package and the second implementation speak to each other.
func TestFormat(t *testing.T) {
	for side, isClient := range sides {
		t.Run(side, func(t *testing.T) {
			conn, other := withSecond(t, isClient)
			if os.Getenv(wantChaCha) != "" && !other.send.chacha {
				t.Error("the cipher is not ChaCha20-Poly1305")
			}

			var background sync.WaitGroup
			defer background.Wait()
			background.Go(func() {
				_, err := conn.Write([]byte("from the package"))
				err = errors.Join(err, conn.CloseWrite())
				if err != nil {
					t.Error(err)
				}
			})
			if got := other.next(t); got.kind != 1 || string(got.plaintext) != "from the package" {
				t.Errorf("got a record of type %d with %q", got.kind, got.plaintext)
			}
			if got := other.next(t); got.kind != 3 || len(got.plaintext) != 0 {
				t.Errorf("got a record of type %d with %q, want CLOSE", got.kind, got.plaintext)
			}

			go func() {
				other.put(t, other.send.seal(1, []byte("to the ")))
				other.put(t, other.send.seal(2, nil))
				other.put(t, other.send.seal(1, []byte("package")))
				other.put(t, other.send.seal(3, nil))
			}()
			got, err := io.ReadAll(conn)
			if err != nil || string(got) != "to the package" {
				t.Errorf("read %q, %v", got, err)
			}
			want := secureconn.Stats{
				BytesSent: 16, RecordsSent: 2, BytesReceived: 14, RecordsReceived: 4, RekeysReceived: 1,
			}
			if got := conn.Stats(); got != want {
				t.Errorf("counted %+v, want %+v", got, want)
			}
			if peer := fingerprintOf(key(map[bool]byte{true: 2, false: 1}[isClient])); conn.Peer() != peer {
				t.Errorf("the peer is %q, want %q", conn.Peer(), peer)
			}
		})
	}
}

// TestChaCha runs TestFormat on a processor that is not good at AES, or says so.
func TestChaCha(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run=^TestFormat$")
	command.Env = append(os.Environ(), "GODEBUG=cpu.all=off", wantChaCha+"=1")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

const wantChaCha = "SECURECONN_TEST_CHACHA"

// TestNonces has records of many connections, in both directions, with re-keys after random counts of bytes, opened by
// the second implementation, which so has seen what each of them was sealed under. No pair of key and nonce may come
// twice.
func TestNonces(t *testing.T) {
	type use struct{ key, nonce string }
	used := map[use]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	var records, rekeys int
	for i := range 16 {
		conn, other := withSecond(t, i%2 == 0)
		conn.SetRekey(1+random.Int64N(2_000<<(10*(i/2%2))), secureconn.RekeyAge)
		sent := make(chan []byte, 1)
		sizes := make([]int, 40)
		for i := range sizes {
			sizes[i] = random.IntN(600)
		}
		sizes[20] = 1<<20 + random.IntN(1<<20) // of several records
		go func() {
			var all []byte
			for i, n := range sizes {
				part := bytes.Repeat([]byte{byte(i)}, n)
				all = append(all, part...)
				if _, err := conn.Write(part); err != nil {
					t.Error(err)
				}
			}
			if err := conn.CloseWrite(); err != nil {
				t.Error(err)
			}
			sent <- all
		}()
		var got []byte
		for {
			s := other.next(t)
			pair := use{s.key, s.nonce}
			if used[pair] {
				t.Fatal("a key and a nonce are used twice")
			}
			used[pair] = true
			records++
			got = append(got, s.plaintext...)
			if s.kind == 2 {
				rekeys++
			}
			if s.kind == 3 {
				break
			}
		}
		for range 40 { // what the second implementation sends must not be under anything of that either
			pair := use{string(other.send.key), string(other.send.nonce())}
			if used[pair] {
				t.Fatal("the directions share a key and a nonce")
			}
			used[pair] = true
		}
		if !bytes.Equal(got, <-sent) {
			t.Error("the bytes are not those that were written")
		}
	}
	if records < 16*40 || rekeys < 16*3 {
		t.Errorf("only %d records and %d re-keys were seen", records, rekeys)
	}
}
