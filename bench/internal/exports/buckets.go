package exports

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"culvert/bench/internal/harness"
	"culvert/internal/testkit/stores"
)

// bucketStore is the object store.
const bucketStore = "seaweedfs"

// bucketCase are exports to a bucket of a store, and reads of it.
type bucketCase struct {
	*exporter
	store  *harness.Store
	csv    int64 // bytes of text in an export
	object int64 // size of the object that is pulled, and of the text of the export that is read
}

// largeExport is read.
const largeExport = "s3://backups/large.csv.zst.age"

// PrepareBuckets compares culvert with pipelines that end in a client of object stores, and with these clients: rclone,
// aws and s5cmd, as far as they are installed.
func PrepareBuckets(s *harness.Session) ([]harness.Benchmark, error) {
	c, err := newBucketCase(s)
	if c == nil {
		return nil, err
	}
	if c.csv, err = c.fillOrders(s.Size(3_000_000, 20_000)); err != nil {
		return nil, err
	}
	if err := c.fill(); err != nil {
		return nil, err
	}
	return []harness.Benchmark{c.exports(), c.pulls(), c.reads(), c.tails()}, nil
}

// newBucketCase starts a store. It returns nil if that is not installed.
func newBucketCase(s *harness.Session) (*bucketCase, error) {
	if err := stores.Installed(bucketStore); err != nil {
		s.Say("%v", err)
		return nil, nil
	}
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	store, err := s.StartObjectStore(bucketStore)
	if err != nil {
		return nil, err
	}
	return &bucketCase{exporter: e, store: store, object: int64(s.Size(1<<30, 12<<20))}, nil
}

// tool returns a command in the environment of the bucket.
func (c *bucketCase) tool(name string, args ...string) *exec.Cmd {
	cmd := c.command(name, args...)
	cmd.Env = slices.Concat(cmd.Env, c.store.Env(c.store.Address), []string{
		"HOME=" + c.Dir, "RCLONE_CONFIG_B_TYPE=s3", "RCLONE_CONFIG_B_PROVIDER=Other",
		"RCLONE_CONFIG_B_ENDPOINT=http://" + c.store.Address, "RCLONE_CONFIG_B_ENV_AUTH=true",
		"RCLONE_CONFIG_B_NO_CHECK_BUCKET=true",
	})
	return cmd
}

// fill makes the object that is pulled, and the export that is read.
func (c *bucketCase) fill() error {
	file := filepath.Join(c.Dir, "object")
	random := fmt.Sprintf("head -c %d /dev/urandom >%s", c.object, file)
	times := c.object/c.csv + 1
	query := fmt.Sprintf("SELECT orders.* FROM generate_series(1, %d) CROSS JOIN orders", times)
	for _, cmd := range []*exec.Cmd{
		c.command("sh", "-c", random),
		c.tool(c.culvert, "push", file, "s3://backups/object"),
		c.tool(c.culvert, "export", "postgres:", "-q", query, "-r", c.recipient, "-o", largeExport),
	} {
		if err := c.Run(cmd); err != nil {
			return err
		}
	}
	return os.Remove(file)
}

// both adds the cost of the server, and of the database.
func (c *bucketCase) both(size int64, run harness.Run) harness.Run {
	return func() (harness.Sample, error) {
		return harness.Work{Bytes: size}.Between("client", []*harness.Tree{c.store.Tree, c.database}, run)
	}
}

// installed reports whether there is a peer.
func (c *bucketCase) installed(name string) bool {
	_, err := exec.LookPath(name)
	if err != nil {
		c.Say("%s is not installed, and not compared", name)
	}
	return err == nil
}

// benchmark returns a benchmark of culvert and those peers that are installed. goal returns the goals for a peer, the
// variant impl=NAME.
func (c *bucketCase) benchmark(
	op string, size int64, culvert harness.Run, peers map[string]harness.Run, goal func(peer string) []harness.Goal,
) harness.Benchmark {
	b := harness.Benchmark{
		Name:     "Bucket/op=" + op + "/store=" + bucketStore,
		Variants: []harness.Variant{{Key: "impl=culvert", Run: c.both(size, culvert)}},
		Goals:    []harness.Goal{{Variant: "impl=culvert", Unit: "peak-bytes", Max: 128 << 20}},
	}
	for _, peer := range []string{"rclone", "aws", "s5cmd", "culvert-file"} {
		run := peers[peer]
		if run == nil || peer != "culvert-file" && !c.installed(peer) {
			continue
		}
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + peer, Run: c.both(size, run)})
		b.Goals = append(b.Goals, goal("impl="+peer)...)
	}
	return b
}

// exports writes a table to the bucket.
func (c *bucketCase) exports() harness.Benchmark {
	pipeline := func(last string, args ...string) harness.Run {
		return c.Piped("", c.command("psql", "-qc", csvSQL), c.command(zstdTool[0], zstdTool[1:]...),
			c.command(c.age, "-r", c.recipient), c.tool(last, args...))
	}
	export := func(to string) harness.Run {
		return c.Piped("", c.tool(c.culvert, "export", "postgres:", "orders", "-j", "4", "-r", c.recipient, "--force",
			"-o", to))
	}
	file := filepath.Join(c.Dir, "orders.csv.zst.age")
	return c.benchmark("export", c.csv, export("s3://backups/orders.csv.zst.age"),
		map[string]harness.Run{
			"rclone":       pipeline("rclone", "rcat", "B:backups/orders.rclone"),
			"aws":          pipeline("aws", "s3", "cp", "--quiet", "-", "s3://backups/orders.aws"),
			"culvert-file": harness.Settled(file, export(file)),
		}, func(peer string) []harness.Goal {
			most := 0.65
			if peer == "impl=culvert-file" {
				most = 1.15
			}
			return []harness.Goal{{Variant: "impl=culvert", Peer: peer, Unit: "ns/op", Max: most}}
		})
}

// pulls copies an object to a file.
func (c *bucketCase) pulls() harness.Benchmark {
	file := filepath.Join(c.Dir, "pulled")
	to := func(name string, args ...string) harness.Run {
		return harness.Settled(file, c.Piped("", c.tool(name, args...)))
	}
	return c.benchmark("pull", c.object, to(c.culvert, "pull", "s3://backups/object", "-o", file),
		map[string]harness.Run{
			"rclone": to("rclone", "copyto", "B:backups/object", file),
			"aws":    to("aws", "s3", "cp", "--quiet", "s3://backups/object", file),
			"s5cmd":  to("s5cmd", "cp", "s3://backups/object", file),
		}, func(peer string) []harness.Goal {
			return []harness.Goal{
				{Variant: "impl=culvert", Peer: peer, Unit: "ns/op", Max: 1},
				{Variant: "impl=culvert", Peer: peer, Unit: "client-cpu-s/GiB", Max: 0.8},
			}
		})
}

// opened runs a tool that writes an encrypted export, and opens that by age and zstd.
func (c *bucketCase) opened(first string, args ...string) harness.Run {
	return c.Piped(os.DevNull, c.tool(first, args...), c.command(c.age, "-d", "-i", c.identity),
		c.command("zstd", "-q", "-d"))
}

// reads decrypts an export in the bucket.
func (c *bucketCase) reads() harness.Benchmark {
	return c.benchmark("cat", (c.object/c.csv+1)*c.csv,
		c.Piped(os.DevNull, c.tool(c.culvert, "cat", "-i", c.identity, largeExport)),
		map[string]harness.Run{
			"rclone": c.opened("rclone", "cat", "B:"+strings.TrimPrefix(largeExport, "s3://")),
			"aws":    c.opened("aws", "s3", "cp", "--quiet", largeExport, "-"),
			"s5cmd":  c.opened("s5cmd", "cat", largeExport),
		}, func(peer string) []harness.Goal {
			return []harness.Goal{{Variant: "impl=culvert", Peer: peer, Unit: "ns/op", Max: 1 / 1.5}}
		})
}

// PrepareBucketMemory compares the memory that a small and a large object take to write, to read and to pull.
func PrepareBucketMemory(s *harness.Session) ([]harness.Benchmark, error) {
	c, err := newBucketCase(s)
	if c == nil {
		return nil, err
	}
	small := int64(s.Size(1024, 12)) // MiB
	flat := func(op string, run func(size int64, object string) (harness.Sample, error)) harness.Benchmark {
		b := harness.Flat("Bucket/op="+op+"/store="+bucketStore+"/compression=none", "MiB", [2]int64{small, 20 * small},
			128<<20, []string{"peak-bytes"}, func(size int64) (harness.Sample, error) {
				return c.both(size<<20, func() (harness.Sample, error) {
					return run(size<<20, fmt.Sprintf("s3://backups/%d.age", size))
				})()
			})
		b.Rounds = 1
		return b
	}
	pulled := filepath.Join(s.Dir, "pulled")
	return []harness.Benchmark{
		flat("encrypt", func(size int64, object string) (harness.Sample, error) {
			got, err := c.Pipeline("", c.command("head", "-c", fmt.Sprint(size), "/dev/zero"),
				c.tool(c.culvert, "encrypt", "-r", c.recipient, "--force", "-o", object))
			if err == nil {
				got["peak-bytes"] = got["culvert-peak-bytes"] // without that of head
			}
			return got, err
		}),
		flat("decrypt", func(_ int64, object string) (harness.Sample, error) {
			return c.Pipeline(os.DevNull, c.tool(c.culvert, "cat", "-i", c.identity, object))
		}),
		flat("pull", func(_ int64, object string) (harness.Sample, error) {
			got, err := c.Pipeline("", c.tool(c.culvert, "pull", object, "-o", pulled))
			return got, errors.Join(err, os.Remove(pulled))
		}),
	}, nil
}
