package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/secureconn"
)

// mortal is a connection that ends after a number of bytes in both directions.
type mortal struct {
	net.Conn
	left atomic.Int64
}

func (m *mortal) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if err == nil && m.left.Add(-int64(n)) < 0 {
		return 0, errors.Join(net.ErrClosed, m.Conn.Close())
	}
	return n, err
}

func (m *mortal) Write(p []byte) (int, error) {
	if m.left.Add(-int64(len(p))) < 0 {
		return 0, errors.Join(net.ErrClosed, m.Conn.Close())
	}
	return m.Conn.Write(p)
}

// mortals connects to a server over encrypted connections that each end after so many bytes.
func mortals(t *testing.T, address string, bytes int64, config *secureconn.Config) *client.Client {
	t.Helper()
	return filetest.Connect(t, client.Config{
		Connections: 2,
		Dial: func(ctx context.Context) (net.Conn, error) {
			inner, err := filetest.Dialer(address)(ctx)
			if err != nil {
				return nil, err
			}
			conn := &mortal{Conn: inner}
			conn.left.Store(bytes)
			secure := secureconn.Client(conn, config)
			if err := secure.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return secure, nil
		},
	})
}

// TestShortConnections moves files although no connection lasts for a block.
func TestShortConnections(t *testing.T) {
	keys, names := [2]ed25519.PrivateKey{}, [2]string{}
	for i := range keys {
		keys[i], names[i] = filetest.NewKey(t)
	}
	peer := &secureconn.Config{Key: keys[0], Peers: names[1:]}
	files := map[string]int{"large": 5*fileservice.BlockSize/2 + 1}
	for i := range 40 { // more in one call than a connection lasts for
		files[fmt.Sprint("small/", i)] = fileservice.SmallFileSize/2 - i
	}
	for role, run := range filetest.Transfers() {
		for _, bytes := range []int64{120_000, 300_000, 700_000} {
			t.Run(fmt.Sprint(role, " with ", bytes), func(t *testing.T) {
				t.Parallel()
				from, _ := filetest.Tree(t, files)
				to := t.TempDir()
				there, here := from, to
				if role == "push" {
					there, here = to, from
				}
				address := filetest.ListenSecurely(t, there, keys[1], names[0], filetest.Writable)
				failures := 0
				_, err := run(t.Context(), mortals(t, address, bytes, peer), transfer.Config{
					Root: filetest.OpenRoot(t, here), Local: ".", Remote: ".",
					Retry: func(error) bool { failures++; return failures < 100 },
				})
				if err != nil {
					t.Errorf("after %d failures: %v", failures, err)
				}
				filetest.SeeSame(t, from, to)
			})
		}
	}
}

// TestForgottenParts has a server that ends a connection in a block, and then refuses a part of the block, as one that
// was restarted does. The block is begun again, once.
func TestForgottenParts(t *testing.T) {
	for name, stubborn := range map[string]bool{"once": false, "always": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var offsets []int64
			remote := filetest.Lie(t, &filetest.Liar{
				OnData: func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
					offset := int64(binary.BigEndian.Uint64(r.Head))
					mu.Lock()
					offsets = append(offsets, offset)
					count := len(offsets)
					mu.Unlock()
					switch {
					case len(r.Data) == fileservice.BlockSize:
						return filetest.ErrCut
					case offset > 0 && (stubborn || count == 3):
						return send(r.Fail(codes.FailedPrecondition, "the beginning is missing"))
					}
					return send(&filetest.DataMessage{ID: r.ID, Kind: filetest.End})
				},
			})
			content := bytes.NewReader(make([]byte, fileservice.BlockSize))
			version := fileservice.Version{Size: fileservice.BlockSize}
			err := remote.WriteBlocks(t.Context(), "file", version, 0, 1, content,
				func(int64, []byte, fileservice.Sum) {})
			mu.Lock()
			defer mu.Unlock()
			beginnings := 0
			for _, offset := range offsets {
				if offset == 0 {
					beginnings++
				}
			}
			if beginnings != 3 { // as a whole, and twice in parts
				t.Errorf("offsets %d", offsets)
			}
			if stubborn && !errors.Is(err, fileservice.ErrRefused) || !stubborn && err != nil {
				t.Error(err)
			}
		})
	}
}
