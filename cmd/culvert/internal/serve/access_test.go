package serve

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/secureconn"
)

func TestAllowedInUpperCase(t *testing.T) {
	const someFingerprint = "o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq"
	o := &options{allow: []string{strings.ToUpper(someFingerprint), someFingerprint}}
	got, err := o.allowed(t.Context(), &command.App{}, "")
	if err != nil || !slices.Equal(got, []string{someFingerprint}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestAccess connects two peers, takes one from the list, and connects both again.
func TestAccess(t *testing.T) {
	keys := map[string]ed25519.PrivateKey{}
	names := map[string]string{}
	for n, who := range []string{"server", "stays", "goes"} {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(n)
		keys[who] = ed25519.NewKeyFromSeed(seed)
		names[who] = secureconn.Fingerprint(keys[who].Public().(ed25519.PublicKey))
	}
	a := &access{peers: []string{names["stays"], names["goes"]}, conns: map[*accessConn]struct{}{}}
	inner, err := secureconn.Listen("tcp", "127.0.0.1:0",
		&secureconn.Config{Key: keys["server"], Authorize: a.authorize})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	listener := accessListener{inner, a}
	connect := func(who string) (client, server net.Conn, err error) {
		dialed := make(chan error, 1)
		go func() {
			var dialErr error
			client, dialErr = secureconn.Dial(t.Context(), "tcp", inner.Addr().String(),
				&secureconn.Config{Key: keys[who], Peers: []string{names["server"]}})
			dialed <- dialErr
		}()
		if server, err = listener.Accept(); err != nil {
			t.Fatal(err)
		}
		err = server.(interface{ HandshakeContext(context.Context) error }).HandshakeContext(t.Context())
		if err != nil {
			_ = server.Close()
		}
		return client, server, errors.Join(err, <-dialed)
	}
	conns := map[string][2]net.Conn{}
	for _, who := range []string{"stays", "goes"} {
		client, server, err := connect(who)
		if err != nil {
			t.Fatal(err)
		}
		conns[who] = [2]net.Conn{client, server}
	}
	if ended := a.replace([]string{names["stays"]}); ended != 1 {
		t.Errorf("%d connections have ended", ended)
	}
	if _, err := conns["goes"][0].Read(make([]byte, 1)); err == nil {
		t.Error("the connection of the peer that was taken from the list goes on")
	}
	if _, err := conns["stays"][1].Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := conns["stays"][0].Read(make([]byte, 1)); err != nil {
		t.Errorf("the connection of the peer on the list: %v", err)
	}
	if _, _, err := connect("goes"); !errors.Is(err, errNotAllowed) {
		t.Errorf("the peer that was taken from the list connects again: %v", err)
	}
	for _, pair := range conns {
		_, _ = pair[0].Close(), pair[1].Close() // one of them has failed
	}
	if len(a.conns) != 0 {
		t.Errorf("%d closed connections are remembered", len(a.conns))
	}
}
