package exports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"culvert/bench/internal/harness"
	"culvert/internal/testkit/stores"
)

// PrepareBucketMemory compares the memory that a small and a large object take to write, to read and to pull, with each
// of the stores that are installed.
func PrepareBucketMemory(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	var benchmarks []harness.Benchmark
	for _, name := range harness.ObjectStores {
		if err := stores.Installed(name); err != nil {
			s.Say("%v", err)
			continue
		}
		c := &bucketCase{exporter: e, name: name}
		if c.store, err = s.StartObjectStore(name); err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, c.memory()...)
	}
	return benchmarks, nil
}

// memory writes objects, and then reads them.
func (c *bucketCase) memory() []harness.Benchmark {
	small := int64(c.Size(1<<30, 12<<20))
	sizes := []int64{small, 20 * small}
	key := func(size int64) string { return fmt.Sprintf("MiB=%d/impl=culvert", size>>20) }
	object := func(size int64) string { return fmt.Sprintf("s3://backups/%d.age", size) }
	benchmark := func(op string, run func(size int64) (harness.Sample, error)) harness.Benchmark {
		b := harness.Benchmark{Name: "Bucket/op=" + op + "/store=" + c.name + "/compression=none", Rounds: 1}
		for _, size := range sizes {
			b.Variants = append(b.Variants, harness.Variant{
				Key: key(size), Run: c.both(size, func() (harness.Sample, error) { return run(size) }),
			})
			b.Goals = append(b.Goals, harness.Goal{Variant: key(size), Unit: "peak-bytes", Max: 128 << 20})
		}
		b.Goals = append(b.Goals, harness.Goal{
			Variant: key(sizes[1]), Peer: key(sizes[0]), Unit: "peak-bytes", Min: 0.9, Max: 1.1,
		})
		return b
	}
	pulled := filepath.Join(c.Dir, "pulled")
	return []harness.Benchmark{
		benchmark("encrypt", func(size int64) (harness.Sample, error) {
			got, err := c.Pipeline("", c.command("head", "-c", fmt.Sprint(size), "/dev/zero"),
				c.tool(c.culvert, "encrypt", "-r", c.recipient, "--force", "-o", object(size)))
			if err == nil {
				got["peak-bytes"] = got["culvert-peak-bytes"] // without that of head
			}
			return got, err
		}),
		benchmark("decrypt", func(size int64) (harness.Sample, error) {
			return c.Pipeline(os.DevNull, c.tool(c.culvert, "cat", "-i", c.identity, object(size)))
		}),
		benchmark("pull", func(size int64) (harness.Sample, error) {
			got, err := c.Pipeline("", c.tool(c.culvert, "pull", object(size), "-o", pulled))
			return got, errors.Join(err, os.Remove(pulled))
		}),
	}
}
