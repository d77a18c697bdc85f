package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

func TestVerdict(t *testing.T) {
	r := results{
		"impl=culvert": {{"MB/s": 300, "peak-bytes": 10 << 20}, {"MB/s": 100}, {"MB/s": 600}},
		"impl=peer":    {{"MB/s": 100}, {"MB/s": 50}, {"MB/s": 100}},
	}
	for _, c := range []struct {
		goal goal
		want string
	}{
		// The ratios of the rounds are 3, 2 and 6.
		{
			goal{variant: "impl=culvert", peer: "impl=peer", unit: "MB/s", min: 3},
			"impl=culvert, MB/s: 3.00 × impl=peer (2.50–4.50), goal ≥ 3.00: reached",
		},
		{
			goal{variant: "impl=culvert", peer: "impl=peer", unit: "MB/s", min: 1, max: 2.9},
			"impl=culvert, MB/s: 3.00 × impl=peer (2.50–4.50), goal ≥ 1.00 and ≤ 2.90: MISSED",
		},
		{
			goal{variant: "impl=culvert", unit: "peak-bytes", max: 96 << 20},
			"impl=culvert, peak memory: 10.0 MiB (10.0 MiB–10.0 MiB), goal ≤ 96.0 MiB: reached",
		},
		{
			goal{variant: "impl=culvert", unit: "ns/op", max: 1},
			"impl=culvert, time: not measured",
		},
	} {
		if got := c.goal.verdict(r); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestBenchstat(t *testing.T) {
	s := newTestSession(t)
	tables, err := s.benchstat("cpu: some\n"+
		"BenchmarkWork/size=1/rows=10/impl=old 1 80 ns/op 7 cat-peak-bytes\n"+
		"BenchmarkWork/size=1/rows=10/impl=new 1 20 ns/op 7 cat-peak-bytes\n", "/impl")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`│ +old +│ +new +│`, `(?m)^.*/size=1/rows=10 +80\.00n .* 20\.00n `} {
		if !regexp.MustCompile(pattern).MatchString(tables) {
			t.Errorf("the tables have no %s:\n%s", pattern, tables)
		}
	}
	if strings.Contains(tables, "cat-peak-bytes") {
		t.Errorf("the tables have what a single process takes:\n%s", tables)
	}
	if _, err := s.benchstat("", "("); err == nil || !strings.Contains(err.Error(), "-col") {
		t.Errorf("error is %v, want what benchstat says", err)
	}
}

func TestPivot(t *testing.T) {
	for want, keys := range map[string][]string{
		"/impl":       {"impl=a", "impl=b"},
		"/rows":       {"rows=1/impl=a", "rows=2/impl=a"},
		"/rows,/impl": {"rows=1/impl=a", "rows=2/impl=b"},
		"":            {"impl=a"},
	} {
		var b benchmark
		for _, key := range keys {
			b.variants = append(b.variants, variant{key: key})
		}
		if got := pivot([]benchmark{b}); got != want {
			t.Errorf("%q differ in %q, want %q", keys, got, want)
		}
	}
}

func TestMeasureTakesTurns(t *testing.T) {
	s := newTestSession(t)
	var order strings.Builder
	named := func(name string) variant {
		return variant{"impl=" + name, func() (sample, error) {
			order.WriteString(name)
			return sample{"MB/s": 2, "ns/op": float64(order.Len())}, nil
		}}
	}
	var raw strings.Builder
	got, err := measure(s, benchmark{name: "Order", variants: []variant{named("a"), named("b")}}, 2, &raw)
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "ababab" {
		t.Errorf("the variants ran as %s, want ababab", &order)
	}
	want := "BenchmarkOrder/impl=a 1 3 ns/op 2 MB/s\nBenchmarkOrder/impl=b 1 4 ns/op 2 MB/s\n" +
		"BenchmarkOrder/impl=a 1 5 ns/op 2 MB/s\nBenchmarkOrder/impl=b 1 6 ns/op 2 MB/s\n"
	if raw.String() != want {
		t.Errorf("samples are\n%s\nwant those of all rounds but the first:\n%s", &raw, want)
	}
	if n := len(got["impl=a"]); n != 2 {
		t.Errorf("%d samples are kept, want 2", n)
	}
}

func TestPipeline(t *testing.T) {
	s := newTestSession(t)
	output := filepath.Join(t.TempDir(), "output")
	got, err := s.pipeline(output, exec.Command("echo", "hello"), exec.Command("tr", "a-z", "A-Z"), exec.Command("cat"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(output); err != nil || string(text) != "HELLO\n" {
		t.Errorf("output is %q, %v", text, err)
	}
	if got["ns/op"] <= 0 {
		t.Errorf("sample has no time: %v", got)
	}

	failing := exec.Command("sh", "-c", "cat >&2; exit 5")
	_, err = s.pipeline(output, exec.Command("echo", "hello"), failing, exec.Command("cat"))
	if err == nil || !strings.Contains(err.Error(), "exit status 5\nhello") {
		t.Errorf("error is %v, want the status and what was said", err)
	}
	if _, err = s.pipeline(output, exec.Command("cat"), exec.Command("/no/such/program")); err == nil {
		t.Error("no error, though a program does not exist")
	}
}

// TestWorkloads runs all of them with small inputs.
func TestWorkloads(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: they build programs and start a database")
	}
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			if w.name != "agefile" {
				requireTools(t)
			}
			if w.name == "fusefs" {
				requireMounts(t)
			}
			out := t.TempDir()
			args := []string{"-quick", "-out", out, "-host", "here", w.name}
			if err := run(t.Context(), io.Discard, args); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(out, "*-here", w.name+".txt"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files of samples: %v, %v", files, err)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, pattern := range []string{
				`(?m)^goos: `,
				`(?m)^date: 20`,
				`(?m)^Benchmark\w+(/[\w-]+=[\w-]+)*/impl=(culvert|bytebuf) 1 [\d.e+]+ ns/op `,
				`(?m)^# .*│ +sec/op +│`,
				`(?m)^#   impl=|^#   rows=`,
			} {
				if !regexp.MustCompile(pattern).Match(text) {
					t.Errorf("the samples have no line like %s:\n%s", pattern, text)
				}
			}
		})
	}
}

func TestUnknownWorkload(t *testing.T) {
	err := run(t.Context(), io.Discard, []string{"agefiles"})
	if err == nil || !strings.Contains(err.Error(), `"agefiles"`) {
		t.Errorf("error is %v, want one that names it", err)
	}
}

func newTestSession(t *testing.T) *session {
	t.Helper()
	s, err := newSession(context.Background(), io.Discard, false, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func requireMounts(t *testing.T) {
	t.Helper()
	if err := canMount(); err != nil {
		testkit.Missing(t, "mounts: "+err.Error(), "apt-get install fuse3, on a machine with /dev/fuse")
	}
}

func requireTools(t *testing.T) {
	t.Helper()
	if _, err := serverBinaries(); err != nil {
		testkit.Missing(t, "PostgreSQL server", "./dev test")
	}
	for _, tool := range []string{"psql", "zstd", "gzip", "sqlite3"} {
		if _, err := exec.LookPath(tool); err != nil {
			testkit.Missing(t, tool, "./dev test")
		}
	}
}
