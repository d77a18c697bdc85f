package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/bench/internal/files"
	"culvert/bench/internal/harness"
	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

func TestMain(m *testing.M) {
	m.Run()
	if err := harness.RemovePrograms(); err != nil {
		panic(err)
	}
}

// long are workloads that start several servers or many processes, and take long with small inputs too.
var long = []string{"buckets", "bucketmemory", "columns", "load", "memory", "parts", "small", "subset", "workers"}

// turns is in how many parts the workloads are run. ./dev test takes one of them, another each day.
const turns = 3

// TestWorkloads runs all of them with small inputs: the long ones only in the long form, and of the others those whose
// turn it is, if the environment has one.
func TestWorkloads(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: they build programs and start a database")
	}
	turn, err := strconv.Atoi(os.Getenv("CULVERT_TEST_TURN"))
	takesTurns := err == nil && !testkit.Soak()
	for i, w := range workloads {
		if slices.Contains(long, w.name) && !testkit.Soak() || takesTurns && i%turns != turn%turns {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			require(t, w.name)
			out := t.TempDir()
			args := []string{"-quick", "-out", out, "-host", "here", w.name}
			if err := run(t.Context(), io.Discard, args); err != nil {
				t.Fatal(err)
			}
			found, err := filepath.Glob(filepath.Join(out, "*-here-*", w.name+".txt"))
			if err != nil || len(found) != 1 {
				t.Fatalf("files of samples: %v, %v", found, err)
			}
			text, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, pattern := range []string{
				`(?m)^goos: `,
				`(?m)^date: 20`,
				`(?m)^Benchmark\w+(/[\w-]+=[\w-]+)*/impl=(culvert|bytebuf) 1 [\d.e+]+ ns/op `,
				`(?m)^# goals \(cores: \d+\): `,
			} {
				if !regexp.MustCompile(pattern).Match(text) {
					t.Errorf("the samples have no line like %s:\n%s", pattern, text)
				}
			}
			if runtime.GOOS == "linux" {
				checkCosts(t, string(text))
			}
		})
	}
}

// free are the benchmarks whose samples have no cost: they do not move a known number of bytes between two ends, or
// only the reader takes time.
var free = regexp.MustCompile(`^Benchmark(Bucket/op=tail|Buffer|LoadMemory|Memory|Moment|Todos|WAL|` +
	`Workers/queue=nats/limit|MountRead/cache=warm/impl=files )`)

// checkCosts expects the processor time of both ends in all other samples.
func checkCosts(t *testing.T, samples string) {
	t.Helper()
	cost := regexp.MustCompile(` [\d.e+]+ cpu-(s/GiB|µs/op)`)
	for line := range strings.Lines(samples) {
		if strings.HasPrefix(line, "Benchmark") && !free.MatchString(line) && !cost.MatchString(line) {
			t.Errorf("a sample has no cost: %s", line)
		}
	}
}

func TestUnknownWorkload(t *testing.T) {
	err := run(t.Context(), io.Discard, []string{"agefiles"})
	if err == nil || !strings.Contains(err.Error(), `"agefiles"`) {
		t.Errorf("error is %v, want one that names it", err)
	}
}

// require skips what the machine has no programs for.
func require(t *testing.T, workload string) {
	t.Helper()
	if err := files.CanMount(); err != nil && workload == "fusefs" {
		testkit.Missing(t, "mounts: "+err.Error(), "apt-get install fuse3, on a machine with /dev/fuse")
	}
	needsStore := strings.HasPrefix(workload, "bucket") || workload == "workers"
	if err := stores.Installed("seaweedfs"); err != nil && needsStore {
		testkit.Missing(t, "SeaweedFS", "./dev test")
	}
	if workload == "agefile" {
		return
	}
	if testkit.PostgresPrograms() == "" {
		testkit.Missing(t, "PostgreSQL server", "./dev test")
	}
	for _, tool := range []string{"psql", "zstd", "gzip", "sqlite3"} {
		if _, err := exec.LookPath(tool); err != nil {
			testkit.Missing(t, tool, "./dev test")
		}
	}
}

// TestWithout takes the samples of a benchmark out of a file of two runs.
func TestWithout(t *testing.T) {
	const one = "goos: linux\ndate: 1\n" +
		"BenchmarkA/n=5/impl=culvert 1 7 ns/op\nBenchmarkA/n=50/impl=culvert 1 8 ns/op\n\n" +
		"# goals (cores: 2): 2 reached, 0 missed, 0 not measured\n# A/n=5   ns/op\n# A/n=50  ns/op\n"
	const two = "goos: linux\ndate: 2\nBenchmarkB/impl=culvert 1 9 ns/op\n\n# B  ns/op\n"
	text := one + "\n" + two
	named := func(name string) []harness.Benchmark { return []harness.Benchmark{{Name: name}} }
	if got, want := without(text, named("C")), text+"\n"; got != want {
		t.Errorf("without nothing, the text is\n%s\nwant\n%s", got, want)
	}
	if got, want := without(text, named("B")), one+"\n"; got != want {
		t.Errorf("without the second run, the text is\n%s\nwant\n%s", got, want)
	}
	got := without(text, named("A/n=5"))
	if strings.Contains(got, "A/n=5/") || strings.Contains(got, "A/n=5 ") ||
		!strings.Contains(got, "\nBenchmarkA/n=50/") || !strings.Contains(got, "# A/n=50 ") ||
		!strings.Contains(got, two) || strings.Contains(got, "# goals (") {
		t.Errorf("without a benchmark of the first run, the text is\n%s", got)
	}
	if got := without("", named("A")); got != "" {
		t.Errorf("of no file there is %q", got)
	}
}
