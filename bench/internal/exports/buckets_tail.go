package exports

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"culvert/bench/internal/harness"
)

// tails read the first byte of the last hundredth of an export: in a mount, and at the end of a pipeline that has to
// read all of it.
func (c *bucketCase) tails() harness.Benchmark {
	text := (c.object/c.csv + 1) * c.csv
	b := harness.Benchmark{
		Name: "Bucket/op=tail/store=" + bucketStore,
		Variants: []harness.Variant{{Key: "impl=culvert", Run: func() (harness.Sample, error) {
			return c.mountedByte(text - text/100)
		}}},
	}
	if c.installed("aws") {
		whole := c.opened("aws", "s3", "cp", "--quiet", largeExport, "-")
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=aws", Run: whole})
		b.Goals = []harness.Goal{{Variant: "impl=culvert", Peer: "impl=aws", Unit: "ns/op", Max: 0.1}}
	}
	return b
}

// mountedByte returns the time from the start of a mount until a byte of a file in it has been read.
func (c *bucketCase) mountedByte(offset int64) (got harness.Sample, err error) {
	dir := filepath.Join(c.Dir, "mounted")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	start := time.Now()
	server, err := harness.StartProcess(c.tool(c.culvert, "mount", "--decrypt", "-i", c.identity, "s3://backups/", dir))
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
	took := float64(time.Since(start).Nanoseconds())
	return harness.Sample{"ns/op": took, "peak-bytes": float64(server.Peak.Load())}, f.Close()
}
