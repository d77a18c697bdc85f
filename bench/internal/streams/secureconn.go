package streams

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"culvert/bench/internal/harness"
	"culvert/secureconn"
)

// connecter makes pairs of connections: what is written to the first comes out of the second. Both have shaken hands.
type connecter func(*Identities) (from, to net.Conn, err error)

// Transport is a kind of connections over loopback.
type Transport struct {
	Impl   string
	Listen func(*Identities) (net.Listener, error)
	Dial   func(ctx context.Context, ids *Identities, address string) (net.Conn, error)
}

const anyPort = "127.0.0.1:0"

// The transports that are compared. TCP is not encrypted: it is the limit.
var (
	TCP = Transport{
		"tcp", func(*Identities) (net.Listener, error) { return net.Listen("tcp", anyPort) },
		func(ctx context.Context, _ *Identities, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	TLS = Transport{
		"tls", func(ids *Identities) (net.Listener, error) { return tls.Listen("tcp", anyPort, ids.tlsServer) },
		func(ctx context.Context, ids *Identities, address string) (net.Conn, error) {
			return (&tls.Dialer{Config: ids.tlsClient}).DialContext(ctx, "tcp", address)
		},
	}
	Secure = Transport{
		"culvert", func(ids *Identities) (net.Listener, error) { return secureconn.Listen("tcp", anyPort, ids.server) },
		func(ctx context.Context, ids *Identities, address string) (net.Conn, error) {
			return secureconn.Dial(ctx, "tcp", address, ids.client)
		},
	}
)

// connect makes a pair of connections.
func (t Transport) connect(ids *Identities) (from, to net.Conn, err error) {
	listener, err := t.Listen(ids)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close() //nolint:errcheck // nothing was written to it
	err = both(func() (err error) {
		from, err = t.Dial(context.Background(), ids, listener.Addr().String())
		return err
	}, func() (err error) {
		to, err = listener.Accept()
		if shaking, ok := to.(interface{ Handshake() error }); ok && err == nil {
			err = shaking.Handshake()
		}
		return err
	})
	return from, to, err
}

// Identities are the keys of both ends, as each kind of connection wants them.
type Identities struct {
	client, server       *secureconn.Config
	tlsClient, tlsServer *tls.Config
}

// PrepareSecureconn compares package secureconn with crypto/tls, and with TCP without encryption, the limit. All of it
// is between goroutines of this program, over loopback TCP. Then over net.Pipe it is compared with what the article on
// KeibiDrop has before and after it removed copies.
func PrepareSecureconn(s *harness.Session) ([]harness.Benchmark, error) {
	ids, err := NewIdentities()
	if err != nil {
		return nil, err
	}
	full := int64(s.Size(2<<30, 4<<20))
	stream := func(size, conns int, goals ...harness.Goal) harness.Benchmark {
		b := harness.Benchmark{Name: fmt.Sprintf("Stream/conns=%d/write=%d", conns, size), Goals: goals}
		for _, t := range []Transport{TCP, TLS, Secure} {
			b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + t.Impl, Run: func() (harness.Sample, error) {
				return ids.transfer(t.connect, conns, size, full/int64(conns))
			}})
		}
		return b
	}
	faster := func(peer string, least float64) harness.Goal {
		return harness.Goal{Variant: "impl=culvert", Peer: "impl=" + peer, Unit: "MB/s", Min: least}
	}
	// The collector empties free lists now and then, which makes less than 200 allocations in a run of 2 GiB.
	noGarbage := harness.Goal{Variant: "impl=culvert", Unit: "allocs/write", Max: 0.1}
	return append([]harness.Benchmark{
		stream(1<<20, 1, faster("tcp", 0.75), faster("tls", 2), noGarbage),
		stream(64<<10, 1, faster("tls", 1.5), noGarbage),
		stream(1<<20, 4, faster("tcp", 0.4), faster("tls", 1.5), noGarbage),
	}, pipeBenchmarks(s, ids)...), nil
}

// transfer writes total bytes through each of so many connections at once.
func (ids *Identities) transfer(connect connecter, conns, size int, total int64) (_ harness.Sample, err error) {
	var from, to []net.Conn
	defer func() {
		for _, c := range append(from, to...) {
			_ = c.Close() // what counts has been read
		}
	}()
	for range conns {
		a, b, err := connect(ids)
		if err != nil {
			return nil, err
		}
		from, to = append(from, a), append(to, b)
	}
	if err := pump(from, to, size, min(total, 32<<20)); err != nil {
		return nil, err
	}
	got, err := harness.Work{Bytes: total * int64(conns)}.Here(func() error { return pump(from, to, size, total) })
	if err == nil {
		got["allocs/write"] = got["allocs/op"] / (float64(total) / float64(size) * float64(conns))
	}
	return got, err
}

// pump writes total bytes to each of from, in slices of size, and reads them from the to beside it.
func pump(from, to []net.Conn, size int, total int64) error {
	errs := make([]error, 2*len(from))
	var all sync.WaitGroup
	for i := range from {
		all.Go(func() {
			p := make([]byte, size)
			for left := total; left > 0 && errs[2*i] == nil; left -= int64(size) {
				_, errs[2*i] = from[i].Write(p[:min(left, int64(size))])
			}
			if errs[2*i] != nil {
				_ = from[i].Close() // so that the reader ends
			}
		})
		all.Go(func() {
			p := make([]byte, max(size, 64<<10))
			for left := total; left > 0 && errs[2*i+1] == nil; {
				var n int
				n, errs[2*i+1] = to[i].Read(p)
				left -= int64(n)
			}
			if errs[2*i+1] != nil {
				_ = to[i].Close() // so that the writer ends
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// NewIdentities makes new keys.
func NewIdentities() (*Identities, error) {
	_, client, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	_, server, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	ids := new(Identities)
	fingerprint := func(k ed25519.PrivateKey) string {
		return secureconn.Fingerprint(k.Public().(ed25519.PublicKey))
	}
	ids.client = &secureconn.Config{Key: client, Peers: []string{fingerprint(server)}}
	ids.server = &secureconn.Config{Key: server, Peers: []string{fingerprint(client)}}
	if ids.tlsClient, err = mutualTLS(client, server); err != nil {
		return nil, err
	}
	ids.tlsServer, err = mutualTLS(server, client)
	return ids, err
}

// mutualTLS is what a program does that pins the key of its peer with crypto/tls, with the key exchange of secureconn.
func mutualTLS(own, peer ed25519.PrivateKey) (*tls.Config, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: own}},
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.X25519MLKEM768},
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // VerifyConnection pins the key
		VerifyConnection: func(state tls.ConnectionState) error {
			if !peer.Public().(ed25519.PublicKey).Equal(state.PeerCertificates[0].PublicKey) {
				return errors.New("wrong peer")
			}
			return nil
		},
	}, nil
}

// both runs two functions at once.
func both(f, g func() error) error {
	other := make(chan error, 1)
	go func() { other <- g() }()
	return errors.Join(f(), <-other)
}
