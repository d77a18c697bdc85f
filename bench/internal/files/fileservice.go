// Package files has the workloads that read and write the files of another machine: calls, transfers and mounts.
package files

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"culvert/bench/internal/harness"
	"culvert/bench/internal/streams"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/server"
	"culvert/secureconn"
)

// transport is what fileservice runs over.
type transport struct {
	impl   string
	listen func(*streams.Identities) (net.Listener, error)
	dial   func(ctx context.Context, ids *streams.Identities, address string) (net.Conn, error)
}

var (
	overTCP = transport{
		"plain",
		func(*streams.Identities) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		func(ctx context.Context, _ *streams.Identities, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	overTLS = transport{
		"tls",
		func(ids *streams.Identities) (net.Listener, error) {
			return tls.Listen("tcp", "127.0.0.1:0", ids.TLSServer)
		},
		func(ctx context.Context, ids *streams.Identities, address string) (net.Conn, error) {
			return (&tls.Dialer{Config: ids.TLSClient}).DialContext(ctx, "tcp", address)
		},
	}
	overSecureconn = transport{
		"culvert",
		func(ids *streams.Identities) (net.Listener, error) {
			return secureconn.Listen("tcp", "127.0.0.1:0", ids.Server)
		},
		func(ctx context.Context, ids *streams.Identities, address string) (net.Conn, error) {
			return secureconn.Dial(ctx, "tcp", address, ids.Client)
		},
	}
)

// served is the file that is read.
const served = "file"

// PrepareFileservice reads one file from a server in this program, over loopback TCP, from a warm page cache into
// memory. fileservice runs over TCP, over crypto/tls and over secureconn; framed is the least a protocol can do over
// secureconn: a request of 16 bytes, and then the bytes. Then calls for a few blocks are compared with calls for equal
// parts of the file, as the article on KeibiDrop compares requests with streams. At last the layers of a read are
// measured one by one.
func PrepareFileservice(s *harness.Session) ([]harness.Benchmark, error) {
	ids, err := streams.NewIdentities()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, "served")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	size := int64(s.Size(1<<30, 8<<20))
	if err := writeRandom(filepath.Join(dir, served), size); err != nil {
		return nil, err
	}
	f := &fileReads{ids: ids, dir: dir, size: size, into: make([]byte, size)}
	ratio := func(peer string, least float64) harness.Goal {
		return harness.Goal{Variant: "impl=culvert", Peer: "impl=" + peer, Unit: "MB/s", Min: least}
	}
	var benchmarks []harness.Benchmark
	for _, conns := range []int{1, 4} {
		b := harness.Benchmark{Name: fmt.Sprintf("FileRead/conns=%d", conns)}
		for _, w := range f.ways() {
			b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + w.impl, Run: func() (harness.Sample, error) {
				return w.read(conns)
			}})
		}
		if conns == 4 {
			b.Goals = []harness.Goal{
				ratio("plain", 0.5), ratio("tls", 1.5), ratio("framed", 0.6),
				{Variant: "impl=culvert", Unit: "MB/s", Min: 1200},
				{Variant: "impl=culvert", Unit: "alloc-MiB/GiB", Max: 16},
			}
		}
		benchmarks = append(benchmarks, b)
	}
	return append(benchmarks, f.strategies(s), f.layers(s)), nil
}

// fileWay is a way to read the whole file into memory.
type fileWay struct {
	impl, does string
	read       func(conns int) (harness.Sample, error)
}

// ways returns all of them. Another protocol is one more row.
func (f *fileReads) ways() []fileWay {
	by := func(t transport) func(int) (harness.Sample, error) {
		return func(conns int) (harness.Sample, error) { return f.read(t, conns) }
	}
	return []fileWay{
		{"plain", "fileservice over TCP", by(overTCP)},
		{"tls", "fileservice over crypto/tls", by(overTLS)},
		{"culvert", "fileservice over secureconn", by(overSecureconn)},
		{"framed", "requests of 16 bytes over secureconn", f.framed},
	}
}

func writeRandom(name string, size int64) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.CopyN(file, rand.NewChaCha8([32]byte{}), size)
	return err
}

// fileReads is what the benchmarks of one file share.
type fileReads struct {
	ids  *streams.Identities
	dir  string
	size int64
	into []byte
}

// serve runs a server while work goes on.
func (f *fileReads) serve(
	t transport, conns int, work func(*client.Client) (harness.Sample, error),
) (got harness.Sample, err error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	server, err := server.New(server.Config{Root: root})
	if err != nil {
		return nil, err
	}
	listener, err := t.listen(f.ids)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { err = errors.Join(err, server.Close(), <-ended) }()

	remote, err := client.New(client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return t.dial(ctx, f.ids, listener.Addr().String())
		},
		Connections: conns,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remote.Close()) }()
	// All connections are made, and their buffers are there.
	if _, err := remote.Stat(served); err != nil {
		return nil, err
	}
	if err := readAll(remote, f.into[:min(int64(len(f.into)), 64<<20)]); err != nil {
		return nil, err
	}
	return work(remote)
}

func readAll(remote *client.Client, p []byte) error {
	file, err := remote.Open(served)
	if err != nil {
		return err
	}
	_, err = file.(io.ReaderAt).ReadAt(p, 0)
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, file.Close())
}

// metered returns the sample of work that moves a number of bytes.
func metered(bytes int64, work func() error) (harness.Sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := harness.Work{Bytes: bytes}.Here(work)
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	got["alloc-MiB/GiB"] = float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20) * (1 << 30) / float64(bytes)
	return got, nil
}

func (f *fileReads) read(t transport, conns int) (harness.Sample, error) {
	return f.serve(t, conns, func(remote *client.Client) (harness.Sample, error) {
		return metered(f.size, func() error { return readAll(remote, f.into) })
	})
}

// strategies fetch all blocks and check their sums. The order changes from round to round, so that each takes each
// place (a Latin square).
func (f *fileReads) strategies(s *harness.Session) harness.Benchmark {
	const standard = "strategy=ranges/blocks=4/calls=8" // what Pull does on four cores, unless the way is long
	b := harness.Benchmark{Name: "Fetch/verified=yes", Rotate: true, Goals: []harness.Goal{
		{Variant: standard, Peer: "strategy=push/calls=1", Unit: "MB/s", Min: 1},
		{Variant: standard, Peer: "strategy=push/calls=8", Unit: "MB/s", Min: 1},
	}}
	for _, v := range []struct {
		key            string
		workers, batch int64 // blocks in a call; 0 means an equal part of all for each worker
	}{
		{"strategy=ranges/blocks=4/calls=4", 4, 4},
		{standard, 8, 4},
		{"strategy=ranges/blocks=16/calls=4", 4, 16},
		{"strategy=ranges/blocks=16/calls=8", 8, 16},
		{"strategy=push/calls=1", 1, 0},
		{"strategy=push/calls=8", 8, 0},
	} {
		b.Variants = append(b.Variants, harness.Variant{Key: v.key, Run: func() (harness.Sample, error) {
			read := func(remote *client.Client) (harness.Sample, error) {
				info, err := remote.Stat(served)
				if err != nil {
					return nil, err
				}
				return metered(f.size, func() error {
					return fetch(s.Ctx, remote, fileservice.VersionOf(info), v.workers, v.batch)
				})
			}
			return f.serve(overSecureconn, client.DefaultConnections, read)
		}})
	}
	return b
}

func fetch(ctx context.Context, remote *client.Client, version fileservice.Version, workers, batch int64) error {
	blocks := fileservice.Blocks(version.Size)
	if batch == 0 {
		batch = (blocks + workers - 1) / workers
	}
	var next, seen atomic.Int64
	errs := make([]error, workers)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for errs[i] == nil {
				first := next.Add(batch) - batch
				if first >= blocks {
					return
				}
				errs[i] = remote.ReadBlocks(ctx, served, version, first, min(batch, blocks-first),
					func(int64, []byte, fileservice.Sum) error {
						seen.Add(1)
						return nil
					})
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if seen.Load() != blocks {
		return fmt.Errorf("%d blocks came of %d", seen.Load(), blocks)
	}
	return nil
}
