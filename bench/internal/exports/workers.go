package exports

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"culvert/bench/internal/harness"
	"culvert/internal/testkit/stores"
)

// workersCase are exports by many processes, over NATS.
type workersCase struct {
	*exporter
	size int64 // of the table as CSV
	runs int
}

// PrepareWorkers measures exports by many processes: what the queue costs on one machine, what more processes bring,
// what the coordinator spends on each task, and the requests for each part to a bucket.
func PrepareWorkers(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	c := &workersCase{exporter: e}
	if c.size, err = e.fillOrders(s.Size(3_000_000, 10_000)); err != nil {
		return nil, err
	}
	nats, err := s.Queue()
	if err != nil {
		return nil, err
	}
	embedded := e.inParts("Workers/queue=embedded/size="+partSize, c.size, "--job-key", e.identity, "--workers",
		strconv.Itoa(runtime.NumCPU()))
	benchmarks := []harness.Benchmark{embedded, c.tasks(nats)}
	if limit, err := s.NewLimit(fifth); err != nil {
		s.Say("processes are not limited to a part of a core, and not compared: %v", err)
	} else {
		benchmarks = append(benchmarks, c.processes(nats, limit))
	}
	if err := stores.Installed("seaweedfs"); err != nil {
		s.Say("%v", err)
		return benchmarks, nil
	}
	store, err := s.StartObjectStore("seaweedfs")
	if err != nil {
		return nil, err
	}
	small := fmt.Sprintf("%dKiB", c.Size(1024, 128)) // for hundreds of parts, or dozens
	return append(benchmarks, c.requests(nats, store, "small", small),
		c.requests(nats, store, "large", partSize, "-c", "none")), nil
}

// export returns the command of an export in parts, with a queue.
func (c *workersCase) export(to, table, size string, more ...string) *exec.Cmd {
	args := []string{
		"export", "postgres:", table, "-r", c.recipient, "--job-key", c.identity, "--part-size", size, "-o", to,
	}
	return c.command(c.culvert, append(args, more...)...)
}

// work returns the command of a worker, which runs until it is stopped.
func (c *workersCase) work(nats *harness.Queue, sessions string) *exec.Cmd {
	return c.command(c.culvert, "worker", "--queue", nats.URL, "--job-key", c.identity, "-j", sessions, "postgres:")
}

// fifth of a core, to which each worker is limited.
const fifth = 0.2

// processes has one worker and four, each with a fifth of a core. Database, coordinator and queue have what they need.
func (c *workersCase) processes(nats *harness.Queue, limit *harness.Limit) harness.Benchmark {
	run := func(n int) func() (harness.Sample, error) {
		return func() (harness.Sample, error) {
			dir := filepath.Join(c.Dir, "export")
			var workers []*exec.Cmd
			for i := range n {
				cmd, err := limit.Command(i, c.work(nats, "1"))
				if err != nil {
					return nil, err
				}
				workers = append(workers, cmd)
			}
			got, err := c.together(c.export(dir, "orders", "4MiB", "--queue", nats.URL), workers)
			if err == nil {
				err = c.verified(dir)
			}
			return got, err
		}
	}
	return harness.Benchmark{
		Name:   "Workers/queue=nats/limit=fifth",
		Rounds: 3,
		Variants: []harness.Variant{
			{Key: "impl=one", Run: run(1)}, {Key: "impl=culvert", Run: run(4)},
		},
		Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=one", Unit: "ns/op", Max: 1 / 3.5}},
	}
}

// together runs a coordinator, and workers until it ends. The sample is the coordinator's.
func (c *workersCase) together(coordinator *exec.Cmd, workers []*exec.Cmd) (got harness.Sample, err error) {
	var started []*harness.Process
	defer func() {
		for _, p := range started {
			_ = p.Stop() // it may have ended by itself
		}
	}()
	for _, cmd := range workers {
		p, err := harness.StartProcess(cmd)
		if err != nil {
			return nil, err
		}
		started = append(started, p)
	}
	return c.Pipeline("", coordinator)
}

// tasks has parts of one row each. The files are in memory, since syncing them would take most of the time.
func (c *workersCase) tasks(nats *harness.Queue) harness.Benchmark {
	n := c.Size(100_000, 100)
	run := func() (harness.Sample, error) {
		// Each page has room for one row.
		fill := fmt.Sprintf("DROP TABLE IF EXISTS tiny; CREATE UNLOGGED TABLE tiny (id int, pad text) "+
			"WITH (fillfactor = 10); ALTER TABLE tiny ALTER pad SET STORAGE plain; "+
			"INSERT INTO tiny SELECT i, repeat('x', 600) FROM generate_series(1, %d) AS i", n)
		if err := c.Run(c.command("psql", "-qc", fill)); err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("/dev/shm", "culvert-bench-")
		if err != nil {
			return nil, err
		}
		got, err := harness.Work{Ops: n}.Between("coordinator", []*harness.Tree{nats.Tree},
			func() (harness.Sample, error) {
				return c.together(c.export(dir, "tiny", "8KiB", "--queue", nats.URL), []*exec.Cmd{c.work(nats, "4")})
			})
		return got, errors.Join(err, os.RemoveAll(dir))
	}
	return harness.Benchmark{
		Name:     fmt.Sprintf("Workers/queue=nats/tasks=%d", n),
		Rounds:   1,
		Variants: []harness.Variant{{Key: "impl=culvert", Run: run}},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Unit: "coordinator-cpu-µs/op", Max: 1000},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 128 << 20},
		},
	}
}

// requests counts those to a bucket: with small files, each of which is one request, and with files of more than 8 MiB,
// whose content takes several. Those that carry content are no overhead, beyond one for each file.
func (c *workersCase) requests(
	nats *harness.Queue, store *harness.Store, files, size string, more ...string,
) harness.Benchmark {
	run := func() (harness.Sample, error) {
		proxy, err := newRequestCounter(store.Address)
		if err != nil {
			return nil, err
		}
		c.runs++
		to := fmt.Sprintf("s3://backups/run-%d/", c.runs)
		environment := func(cmd *exec.Cmd) *exec.Cmd {
			cmd.Env = slices.Concat(cmd.Env, store.Env(proxy.Addr().String()), []string{"HOME=" + c.Dir})
			return cmd
		}
		got, err := harness.Work{Bytes: c.size}.Between("client", []*harness.Tree{c.database, store.Tree},
			func() (harness.Sample, error) {
				return c.together(environment(c.export(to, "orders", size, append(more, "--queue", nats.URL)...)),
					[]*exec.Cmd{environment(c.work(nats, "2"))})
			})
		if err := errors.Join(err, proxy.Close()); err != nil {
			return nil, err
		}
		parts := proxy.parts.Load()
		if parts == 0 {
			return nil, errors.New("no part was written")
		}
		pieces := proxy.pieces.Load()
		got["requests/part"] = float64(proxy.requests.Load()-pieces) / float64(parts)
		got["pieces/part"] = float64(pieces) / float64(parts)
		return got, nil
	}
	return harness.Benchmark{
		Name:     "Workers/queue=nats/store=seaweedfs/files=" + files,
		Rounds:   1,
		Variants: []harness.Variant{{Key: "impl=culvert", Run: run}},
		Goals:    []harness.Goal{{Variant: "impl=culvert", Unit: "requests/part", Max: 4}},
	}
}
