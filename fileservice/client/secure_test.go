package client_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/secureconn"
)

func TestOverSecureconn(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 20 << 20})
	serverKey, serverName := filetest.NewKey(t)
	clientKey, clientName := filetest.NewKey(t)
	strangerKey, strangerName := filetest.NewKey(t)
	address := filetest.ListenSecurely(t, dir, serverKey, clientName, nil)
	dial := func(key ed25519.PrivateKey, peer string) func(context.Context) (net.Conn, error) {
		config := &secureconn.Config{Key: key, Peers: []string{peer}}
		return func(ctx context.Context) (net.Conn, error) { return secureconn.Dial(ctx, "tcp", address, config) }
	}
	want, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := filetest.Connect(t, client.Config{Dial: dial(clientKey, serverName)}).ReadFile("file")
	if err != nil || string(got) != string(want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}

	unlisted := filetest.Connect(t, client.Config{Dial: dial(strangerKey, serverName)})
	_, err = unlisted.Stat("file")
	if !errors.Is(err, fileservice.ErrUnreachable) || !errors.Is(err, secureconn.ErrRefused) {
		t.Errorf("one who is not listed: %v", err)
	}
	wrong := filetest.Connect(t, client.Config{Dial: dial(clientKey, strangerName), Timeout: filetest.ShortTimeout})
	if _, err := wrong.Stat("file"); !errors.Is(err, fileservice.ErrUnreachable) {
		t.Errorf("a server that is another one: %v", err)
	}
}

// brittle is a connection that breaks after so many bytes have come.
type brittle struct {
	net.Conn
	left *atomic.Int64
	how  func(p []byte)
}

func (b *brittle) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if left := b.left.Add(-int64(n)); left < 0 && left+int64(n) >= 0 {
		if b.how == nil {
			return 0, errors.Join(io.ErrUnexpectedEOF, b.Close())
		}
		b.how(p[left+int64(n) : n])
	}
	return n, err
}

// TestBrokenConnections cuts a connection, or flips a bit of what comes, at many places. The client gives an error or
// the right bytes, and goes on with a new connection.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	const size = 2*fileservice.BlockSize + 100
	dir, _ := filetest.Tree(t, map[string]int{"file": size})
	address := filetest.Listen(t, dir, nil)
	want, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)}).Stat("file")
	if err != nil {
		t.Fatal(err)
	}
	flip := func(p []byte) {
		if len(p) > 0 {
			p[0] ^= 0x10
		}
	}
	offsets := []int64{0, 1, 8, 9, 20, 50, 100, 200, 300, 16 << 10, 100_000, 1 << 20, 1<<20 + 400, 2 << 20, size}
	for name, how := range map[string]func([]byte){"cut": nil, "flip": flip} {
		var failed atomic.Int64
		t.Run(name, func(t *testing.T) {
			for _, offset := range offsets {
				t.Run(fmt.Sprint("at ", offset), func(t *testing.T) {
					t.Parallel()
					var left atomic.Int64
					left.Store(offset)
					client := filetest.Connect(t, client.Config{
						Connections: 1, Timeout: 5 * filetest.ShortTimeout,
						Dial: func(ctx context.Context) (net.Conn, error) {
							conn, err := filetest.Dialer(address)(ctx)
							if err != nil {
								return nil, err
							}
							return &brittle{conn, &left, how}, nil
						},
					})
					if broke := seeRecovery(t, client, fileservice.VersionOf(info), want); broke {
						failed.Add(1)
					}
				})
			}
		})
		if failed.Load() == 0 {
			t.Errorf("%s: nothing was broken", name)
		}
	}
}

// seeRecovery reads a file, and says whether that failed, and then again and again until it comes whole: once more also
// if it did not fail, since what was flipped may leave the connection in any state, which a second call finds out.
func seeRecovery(t *testing.T, client *client.Client, version fileservice.Version, want []byte) (broke bool) {
	t.Helper()
	var err error
	for n := range 4 {
		var got []byte
		err = client.ReadBlocks(t.Context(), "file", version, 0, 3,
			func(_ int64, data []byte, _ fileservice.Sum) error {
				got = append(got, data...)
				return nil
			})
		if string(got) != string(want[:len(got)]) || err == nil && len(got) != len(want) {
			t.Error("other bytes were handed out")
		}
		if n == 0 {
			broke = err != nil
		} else if err == nil {
			return broke
		}
	}
	t.Errorf("it does not recover: %v", err)
	return broke
}
