package main

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
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/server"
	"culvert/secureconn"
)

// transport is what fileservice runs over.
type transport struct {
	impl   string
	listen func(*identities) (net.Listener, error)
	dial   func(ctx context.Context, ids *identities, address string) (net.Conn, error)
}

var (
	overTCP = transport{
		"plain",
		func(*identities) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
		func(ctx context.Context, _ *identities, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
	overTLS = transport{
		"tls",
		func(ids *identities) (net.Listener, error) { return tls.Listen("tcp", "127.0.0.1:0", ids.tlsServer) },
		func(ctx context.Context, ids *identities, address string) (net.Conn, error) {
			return (&tls.Dialer{Config: ids.tlsClient}).DialContext(ctx, "tcp", address)
		},
	}
	overSecureconn = transport{
		"culvert",
		func(ids *identities) (net.Listener, error) {
			return secureconn.Listen("tcp", "127.0.0.1:0", ids.server)
		},
		func(ctx context.Context, ids *identities, address string) (net.Conn, error) {
			return secureconn.Dial(ctx, "tcp", address, ids.client)
		},
	}
)

// served is the file that is read.
const served = "file"

// prepareFileservice reads one file from a server in this program, over loopback TCP, from a warm page cache into
// memory. The same gRPC with the same codec runs over TCP, over crypto/tls and over secureconn; framed is the least a
// protocol can do over secureconn: a request of 16 bytes, and then the bytes. Then the ways to fetch a file are
// compared as the article on KeibiDrop does: ranges that are asked for, and streams that the server pushes.
func prepareFileservice(s *session) ([]benchmark, error) {
	ids, err := newIdentities()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, "served")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	size := int64(s.size(1<<30, 32<<20))
	if err := writeRandom(filepath.Join(dir, served), size); err != nil {
		return nil, err
	}
	f := &fileReads{ids: ids, dir: dir, size: size, into: make([]byte, size)}
	ratio := func(peer string, least float64) goal {
		return goal{variant: "impl=culvert", peer: "impl=" + peer, unit: "MB/s", min: least}
	}
	var benchmarks []benchmark
	for _, conns := range []int{1, 4} {
		b := benchmark{name: fmt.Sprintf("FileRead/conns=%d", conns)}
		for _, t := range []transport{overTCP, overTLS, overSecureconn} {
			b.variants = append(b.variants, variant{"impl=" + t.impl, func() (sample, error) {
				return f.read(s.ctx, t, conns)
			}})
		}
		b.variants = append(b.variants, variant{"impl=framed", func() (sample, error) { return f.framed(conns) }})
		if conns == 4 {
			b.goals = []goal{
				ratio("plain", 0.5), ratio("tls", 1.5), ratio("framed", 0.6),
				{variant: "impl=culvert", unit: "MB/s", min: 1200},
				{variant: "impl=culvert", unit: "alloc-MiB/GiB", max: 16},
			}
		}
		benchmarks = append(benchmarks, b)
	}
	return append(benchmarks, f.strategies(s)), nil
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
	ids  *identities
	dir  string
	size int64
	into []byte
}

// serve runs a server while work goes on.
func (f *fileReads) serve(
	ctx context.Context, t transport, conns int, work func(*client.Client) (sample, error),
) (got sample, err error) {
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
	// All connections are made, and their windows and buffers are there.
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

// metered gives the sample of work that moves so many bytes.
func metered(bytes int64, work func() error) (sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	if err := work(); err != nil {
		return nil, err
	}
	got := timed(start, bytes)
	got["cpu-ns/op"] = float64((cpuTime() - cpu).Nanoseconds())
	runtime.ReadMemStats(&after)
	got["alloc-MiB/GiB"] = float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20) * (1 << 30) / float64(bytes)
	return got, nil
}

func (f *fileReads) read(ctx context.Context, t transport, conns int) (sample, error) {
	return f.serve(ctx, t, conns, func(remote *client.Client) (sample, error) {
		return metered(f.size, func() error { return readAll(remote, f.into) })
	})
}

// strategies fetch all blocks and check their hashes. The order changes from round to round, so that each takes each
// place (a Latin square).
func (f *fileReads) strategies(s *session) benchmark {
	const standard = "strategy=ranges/blocks=4/calls=8" // what Pull does, unless the way is long
	b := benchmark{name: "Fetch/verified=yes", rotate: true, goals: []goal{
		{variant: standard, peer: "strategy=push/calls=1", unit: "MB/s", min: 1},
		{variant: standard, peer: "strategy=push/calls=8", unit: "MB/s", min: 1},
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
		b.variants = append(b.variants, variant{v.key, func() (sample, error) {
			read := func(remote *client.Client) (sample, error) {
				info, err := remote.Stat(served)
				if err != nil {
					return nil, err
				}
				return metered(f.size, func() error {
					return fetch(s.ctx, remote, fileservice.VersionOf(info), v.workers, v.batch)
				})
			}
			return f.serve(s.ctx, overSecureconn, client.DefaultConnections, read)
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
			buffer := make([]byte, fileservice.BlockSize)
			for errs[i] == nil {
				first := next.Add(batch) - batch
				if first >= blocks {
					return
				}
				errs[i] = remote.ReadBlocks(ctx, served, version, first, min(batch, blocks-first), buffer,
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
