package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"culvert/bench/internal/harness"
	"culvert/bench/internal/streams"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/server"
)

// served is the file that is read.
const served = "file"

// PrepareFileservice reads one file from a server in this program, over loopback TCP, from a warm page cache into
// memory. fileservice runs over TCP, over crypto/tls and over secureconn. Then calls for a few blocks are compared with
// calls for equal parts of the file, as the article on KeibiDrop compares requests with streams.
func PrepareFileservice(s *harness.Session) ([]harness.Benchmark, error) {
	ids, err := streams.NewIdentities()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, "served")
	size := int64(s.Size(1<<30, 8<<20))
	if err := errors.Join(os.Mkdir(dir, 0o755), writeRandom(filepath.Join(dir, served), size)); err != nil {
		return nil, err
	}
	f := &fileReads{ids: ids, dir: dir, size: size, into: make([]byte, size)}
	ratio := func(peer string, least float64) harness.Goal {
		return harness.Goal{Variant: "impl=culvert", Peer: "impl=" + peer, Unit: "MB/s", Min: least}
	}
	var benchmarks []harness.Benchmark
	for _, conns := range []int{1, 4} {
		b := harness.Benchmark{Name: fmt.Sprintf("FileRead/conns=%d", conns)}
		for _, t := range []streams.Transport{streams.TCP, streams.TLS, streams.Secure} {
			b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + t.Impl, Run: func() (harness.Sample, error) {
				return f.serve(t, conns, func(remote *client.Client) (harness.Sample, error) {
					return metered(size, func() error { return readAll(remote, f.into) })
				})
			}})
		}
		if conns == 4 {
			b.Goals = []harness.Goal{
				ratio("tcp", 0.5), ratio("tls", 1.5),
				{Variant: "impl=culvert", Unit: "MB/s", Min: 1200},
				{Variant: "impl=culvert", Unit: "alloc-MiB/GiB", Max: 16},
			}
		}
		benchmarks = append(benchmarks, b)
	}
	return append(benchmarks, f.strategies(s)), nil
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
	t streams.Transport, conns int, work func(*client.Client) (harness.Sample, error),
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
	listener, err := t.Listen(f.ids)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { err = errors.Join(err, server.Close(), <-ended) }()

	remote, err := client.New(client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return t.Dial(ctx, f.ids, listener.Addr().String())
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
	got, err := harness.Work{Bytes: bytes}.Here(work)
	if err == nil {
		got["alloc-MiB/GiB"] = got["B/op"] / (1 << 20) * (1 << 30) / float64(bytes)
	}
	return got, err
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
			return f.serve(streams.Secure, client.DefaultConnections, read)
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
	var all errgroup.Group
	for range workers {
		all.Go(func() error {
			for {
				first := next.Add(batch) - batch
				if first >= blocks {
					return nil
				}
				err := remote.ReadBlocks(ctx, served, version, first, min(batch, blocks-first),
					func(int64, []byte, fileservice.Sum) error {
						seen.Add(1)
						return nil
					})
				if err != nil {
					return err
				}
			}
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if seen.Load() != blocks {
		return fmt.Errorf("%d blocks came of %d", seen.Load(), blocks)
	}
	return nil
}
