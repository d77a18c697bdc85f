package exports

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"culvert/bench/internal/harness"
)

// tails read the first byte of the last hundredth of an export: in a mount, and at the end of a pipeline that has to
// read all of it.
func (c *bucketCase) tails() harness.Benchmark {
	text := (c.object/c.csv + 1) * c.csv
	offset := text - text/100
	counted := func(read func(address string) (harness.Sample, error)) func() (harness.Sample, error) {
		return func() (harness.Sample, error) {
			proxy, err := newCountingProxy(c.Ctx, c.store.Address)
			if err != nil {
				return nil, err
			}
			got, err := read(proxy.Addr().String())
			if err := errors.Join(err, proxy.Close()); err != nil {
				return nil, err
			}
			got["fetched-bytes"] = float64(proxy.received.Load())
			return got, nil
		}
	}
	b := harness.Benchmark{
		Name: "Bucket/op=tail/store=" + c.name,
		Variants: []harness.Variant{{Key: "impl=culvert", Run: counted(func(address string) (harness.Sample, error) {
			return c.mountedByte(address, offset)
		})}},
	}
	if c.installed("aws") {
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=aws", Run: counted(
			func(address string) (harness.Sample, error) {
				return c.Pipeline(os.DevNull, c.through(address, "aws", "s3", "cp", "--quiet", largeExport, "-"),
					c.command(c.age, "-d", "-i", c.identity), c.command("zstd", "-q", "-d"))
			})})
		b.Goals = []harness.Goal{{Variant: "impl=culvert", Peer: "impl=aws", Unit: "fetched-bytes", Max: 0.1}}
	}
	return b
}

// mountedByte returns the time from the start of a mount until a byte of a file in it has been read.
func (c *bucketCase) mountedByte(address string, offset int64) (got harness.Sample, err error) {
	dir := filepath.Join(c.Dir, "mounted")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	start := time.Now()
	server, err := harness.StartProcess(
		c.through(address, c.culvert, "mount", "--decrypt", "-i", c.identity, "s3://backups/", dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	file := filepath.Join(dir, "large.csv")
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			return nil, errors.New("no file has appeared in the mount")
		}
		select {
		case <-time.After(time.Millisecond):
		case <-c.Ctx.Done():
			return nil, context.Cause(c.Ctx)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	if _, err := f.ReadAt(make([]byte, 1), offset); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	got = harness.Timed(start, 0)
	got["peak-bytes"] = float64(server.Peak.Load())
	return got, f.Close()
}

// countingProxy forwards connections to a server, and counts what the server sends.
type countingProxy struct {
	net.Listener
	received atomic.Int64
}

func newCountingProxy(ctx context.Context, to string) (*countingProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &countingProxy{Listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(ctx, client, to)
		}
	}()
	return p, nil
}

func (p *countingProxy) forward(ctx context.Context, client net.Conn, to string) {
	defer func() { _ = client.Close() }()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return // which the client notices
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, io.TeeReader(server, (*received)(&p.received)))
}

type received atomic.Int64

func (n *received) Write(p []byte) (int, error) {
	(*atomic.Int64)(n).Add(int64(len(p)))
	return len(p), nil
}
