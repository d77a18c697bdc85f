package streams

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"runtime"
	"sync"
	"time"

	"culvert/bench/internal/harness"
	"culvert/secureconn"
)

// link makes pairs of connections of one kind: what is written to the first comes out of the second. Both have shaken
// hands.
type link struct {
	impl    string
	connect func(*Identities) (from, to net.Conn, err error)
}

// Identities are the keys of both ends, as each kind of connection wants them.
type Identities struct {
	Client, Server       *secureconn.Config
	TLSClient, TLSServer *tls.Config
}

var (
	rawTCP     = link{"tcp", connectTCP}
	rawTCPKept = link{"tcp-queue", connectTCPWithQueue}
	plainTLS   = link{"tls", connectTLS}
	ours       = link{"culvert", ConnectSecure}
)

// PrepareSecureconn compares package secureconn with crypto/tls, and with TCP without encryption, the limit. All of it
// is between goroutines of this program, over loopback TCP. Then over net.Pipe it is compared with what the article on
// KeibiDrop has before and after it removed copies.
//
// tcp is what net.Dial and net.Listen give. secureconn bounds the send buffer within one machine, which makes TCP
// faster too, so tcp-queue has the same bound.
func PrepareSecureconn(s *harness.Session) ([]harness.Benchmark, error) {
	ids, err := NewIdentities()
	if err != nil {
		return nil, err
	}
	full := int64(s.Size(2<<30, 4<<20))
	stream := func(size, conns int, links []link, goals ...harness.Goal) harness.Benchmark {
		b := harness.Benchmark{Name: fmt.Sprintf("Stream/conns=%d/write=%d", conns, size), Goals: goals}
		for _, l := range links {
			b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + l.impl, Run: func() (harness.Sample, error) {
				return ids.transfer(l, conns, size, full/int64(conns))
			}})
		}
		return b
	}
	all := []link{rawTCP, rawTCPKept, plainTLS, ours}
	faster := func(peer string, least float64) harness.Goal {
		return harness.Goal{Variant: "impl=culvert", Peer: "impl=" + peer, Unit: "MB/s", Min: least}
	}
	// The collector empties free lists now and then, which makes less than 200 allocations in a run of 2 GiB.
	noGarbage := harness.Goal{Variant: "impl=culvert", Unit: "allocs/write", Max: 0.1}
	benchmarks := []harness.Benchmark{
		stream(1<<20, 1, all, faster("tcp", 0.75), faster("tls", 2), noGarbage),
		stream(64<<10, 1, all, faster("tls", 1.5), noGarbage),
		stream(16<<10, 1, all, faster("tls", 1.2), noGarbage),
		stream(1<<20, 4, all, faster("tcp", 0.4), faster("tls", 1.5), noGarbage),
	}
	// A Write of less than 128 KiB is one record, and one of up to 512 KiB is two of half its size.
	for _, size := range []int{4 << 10, 32 << 10, 128 << 10, 256 << 10, 512 << 10} {
		benchmarks = append(benchmarks, stream(size, 1, []link{rawTCP, plainTLS, ours}))
	}
	benchmarks = append(benchmarks, pipeBenchmarks(s, ids)...)
	return append(benchmarks, ids.handshakes(s), ids.roundTrips(s), ids.memory(s),
		Layered(s, "Layers", Layers(ids, full))), nil
}

// transfer writes total bytes through each of so many connections at once.
func (ids *Identities) transfer(l link, conns, size int, total int64) (_ harness.Sample, err error) {
	var from, to []net.Conn
	defer func() {
		for _, c := range append(from, to...) {
			_ = c.Close() // what counts has been read
		}
	}()
	for range conns {
		a, b, err := l.connect(ids)
		if err != nil {
			return nil, err
		}
		from, to = append(from, a), append(to, b)
	}
	if err := pump(from, to, size, min(total, 32<<20)); err != nil {
		return nil, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := harness.Work{Bytes: total * int64(conns)}.Here(func() error { return pump(from, to, size, total) })
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	writes := float64(total) / float64(size) * float64(conns)
	got["allocs/write"] = float64(after.Mallocs-before.Mallocs) / writes
	return got, nil
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

// handshakes has both sides of a connection shake hands, the connection of TCP included.
func (ids *Identities) handshakes(s *harness.Session) harness.Benchmark {
	b := harness.Benchmark{Name: "Handshake", Goals: []harness.Goal{
		{Variant: "impl=culvert", Peer: "impl=tls", Unit: "ns/op", Max: 1.2},
	}}
	for _, l := range []link{plainTLS, ours} {
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + l.impl, Run: func() (harness.Sample, error) {
			count := s.Size(500, 5)
			return harness.Work{Ops: count}.Repeated(count, func() error {
				from, to, err := l.connect(ids)
				if err != nil {
					return err
				}
				return errors.Join(RawConn(from).Close(), RawConn(to).Close())
			})
		}})
	}
	return b
}

// RawConn returns the connection below.
func RawConn(c net.Conn) net.Conn {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok {
		return wrapped.NetConn()
	}
	return c
}

// roundTrips sends 100 bytes and waits for as many.
func (ids *Identities) roundTrips(s *harness.Session) harness.Benchmark {
	b := harness.Benchmark{Name: "RoundTrip/bytes=100", Goals: []harness.Goal{
		{Variant: "impl=culvert", Peer: "impl=tls", Unit: "ns/op", Max: 1.05},
	}}
	for _, l := range []link{rawTCP, plainTLS, ours} {
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + l.impl, Run: func() (harness.Sample, error) {
			from, to, err := l.connect(ids)
			if err != nil {
				return nil, err
			}
			echoed := make(chan error, 1)
			go func() {
				defer RawConn(to).Close() //nolint:errcheck // what counts has been read
				p := make([]byte, 100)
				for {
					if _, err := io.ReadFull(to, p); err != nil {
						echoed <- err
						return
					}
					if _, err := to.Write(p); err != nil {
						echoed <- err
						return
					}
				}
			}()
			p := make([]byte, 100)
			count := s.Size(20_000, 100)
			got, err := harness.Work{Ops: count}.Repeated(count, func() error {
				if _, err := from.Write(p); err != nil {
					return err
				}
				_, err := io.ReadFull(from, p)
				return err
			})
			_ = RawConn(from).Close()
			if end := <-echoed; err == nil && end == nil {
				err = errors.New("the echo has not ended") // it does with an error
			}
			return got, err
		}})
	}
	return b
}

// memory counts what connections take that have been busy and are idle.
func (ids *Identities) memory(s *harness.Session) harness.Benchmark {
	b := harness.Benchmark{
		Name:  "Idle",
		Goals: []harness.Goal{{Variant: "impl=culvert", Unit: "idle-bytes", Max: 64 << 10}},
	}
	for _, l := range []link{plainTLS, ours} {
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + l.impl, Run: func() (harness.Sample, error) {
			count := s.Size(200, 10)
			var from, to []net.Conn
			start, before := time.Now(), inUse()
			var errs []error
			for range count {
				a, b, err := l.connect(ids)
				if err != nil {
					return nil, err
				}
				from, to = append(from, a), append(to, b)
				errs = append(errs, pump(from[len(from)-1:], to[len(to)-1:], 1<<20, 8<<20))
			}
			got := harness.Timed(start, int64(count)*8<<20)
			got["idle-bytes"] = (inUse() - before) / float64(2*count)
			for _, c := range append(from, to...) {
				errs = append(errs, RawConn(c).Close())
			}
			return got, errors.Join(errs...)
		}})
	}
	return b
}

// inUse gives the memory of the heap and of stacks that is in use.
func inUse() float64 {
	var m runtime.MemStats
	for range 3 { // free lists are given up after two
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
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
	ids.Client = &secureconn.Config{Key: client, Peers: []string{fingerprint(server)}}
	ids.Server = &secureconn.Config{Key: server, Peers: []string{fingerprint(client)}}
	if ids.TLSClient, err = mutualTLS(client, server); err != nil {
		return nil, err
	}
	ids.TLSServer, err = mutualTLS(server, client)
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

func connectTCP(*Identities) (from, to net.Conn, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close() //nolint:errcheck // nothing was written to it
	if from, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	to, err = listener.Accept()
	return from, to, err
}

// connectTCPWithQueue bounds the send buffer as secureconn does.
func connectTCPWithQueue(ids *Identities) (from, to net.Conn, err error) {
	from, to, err = connectTCP(ids)
	if err == nil {
		err = from.(*net.TCPConn).SetWriteBuffer(256 << 10)
	}
	return from, to, err
}

func connectTLS(ids *Identities) (from, to net.Conn, err error) {
	a, b, err := connectTCP(ids)
	if err != nil {
		return nil, nil, err
	}
	client, server := tls.Client(a, ids.TLSClient), tls.Server(b, ids.TLSServer)
	return client, server, both(client.Handshake, server.Handshake)
}

// ConnectSecure connects two ends over loopback by package secureconn.
func ConnectSecure(ids *Identities) (from, to net.Conn, err error) {
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", ids.Server)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close() //nolint:errcheck // nothing was written to it
	err = both(func() error {
		from, err = secureconn.Dial(context.Background(), "tcp", listener.Addr().String(), ids.Client)
		return err
	}, func() error {
		accepted, err := listener.Accept()
		if err != nil {
			return err
		}
		to = accepted
		return accepted.(*secureconn.Conn).Handshake()
	})
	return from, to, err
}

// both runs two functions at once.
func both(f, g func() error) error {
	other := make(chan error, 1)
	go func() { other <- g() }()
	return errors.Join(f(), <-other)
}
