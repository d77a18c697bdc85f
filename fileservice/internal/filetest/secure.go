package filetest

import (
	"crypto/ed25519"
	"testing"

	"culvert/fileservice/server"
	"culvert/secureconn"
)

// NewKey returns a new key and its fingerprint.
func NewKey(t testing.TB) (ed25519.PrivateKey, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return private, secureconn.Fingerprint(public)
}

// ListenSecurely serves a directory to one peer.
func ListenSecurely(t testing.TB, dir string, key ed25519.PrivateKey, peer string, change func(*server.Config)) string {
	t.Helper()
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", &secureconn.Config{Key: key, Peers: []string{peer}})
	if err != nil {
		t.Fatal(err)
	}
	return ListenOn(t, listener, dir, change)
}
