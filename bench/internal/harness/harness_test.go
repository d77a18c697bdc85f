package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	r := Results{
		"impl=culvert": {{"MB/s": 300, "peak-bytes": 10 << 20}, {"MB/s": 100}, {"MB/s": 600}},
		"impl=peer":    {{"MB/s": 100}, {"MB/s": 50}, {"MB/s": 100}},
	}
	for _, c := range []struct {
		goal Goal
		want string
	}{
		// The ratios of the rounds are 3, 2 and 6.
		{
			Goal{Variant: "impl=culvert", Peer: "impl=peer", Unit: "MB/s", Min: 3},
			"MB/s: 3.00 (2.50–4.50), goal ≥ 3.00: reached",
		},
		{
			Goal{Variant: "impl=culvert", Peer: "impl=peer", Unit: "MB/s", Min: 1, Max: 2.9},
			"MB/s: 3.00 (2.50–4.50), goal ≥ 1.00 and ≤ 2.90: MISSED",
		},
		{
			Goal{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
			"peak-bytes: 10.0 MiB (10.0 MiB–10.0 MiB), goal ≤ 96.0 MiB: reached",
		},
		{Goal{Variant: "impl=culvert", Unit: "ns/op", Max: 1}, "ns/op: – (), goal ≤ 1.00 ns: not measured"},
	} {
		v := Judge(Benchmark{Goals: []Goal{c.goal}}, r)[0]
		got := fmt.Sprintf("%s: %s (%s), goal %s: %s", v[1], v[3], v[4], v[5], v[6])
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestGoalsForCores(t *testing.T) {
	goal := Goal{Variant: "impl=culvert", Unit: "cpu-s/GiB", Max: 2}
	goals := append(On(runtime.NumCPU()+1, goal), goal)
	goals = append(goals, On(runtime.NumCPU(), goal)...)
	got := Judge(Benchmark{Name: "Pull", Goals: goals}, Results{"impl=culvert": {{"cpu-s/GiB": 2.5}}})
	if len(got) != 2 {
		t.Errorf("%d goals apply, want those for any number of cores and for this one: %v", len(got), got)
	}
	table := Summary(got)
	for _, pattern := range []string{
		`(?m)^goals \(cores: \d+\): 0 reached, 2 missed, 0 not measured$`,
		`(?m)^Pull +cpu-s/GiB +culvert +2\.50 s +2\.50 s–2\.50 s +≤ 2\.00 s +MISSED$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(table) {
			t.Errorf("the table has no line like %s:\n%s", pattern, table)
		}
	}
}

func TestMeasureTakesTurns(t *testing.T) {
	s := newTestSession(t)
	var order strings.Builder
	named := func(name string) Variant {
		return Variant{Key: "impl=" + name, Run: func() (Sample, error) {
			order.WriteString(name)
			return Sample{"MB/s": 2, "ns/op": float64(order.Len())}, nil
		}}
	}
	var raw strings.Builder
	got, err := Measure(s, Benchmark{Name: "Order", Variants: []Variant{named("a"), named("b")}}, 2, &raw)
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
	got, err := s.Pipeline(output, exec.Command("echo", "hello"), exec.Command("tr", "a-z", "A-Z"), exec.Command("cat"))
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
	_, err = s.Pipeline(output, exec.Command("echo", "hello"), failing, exec.Command("cat"))
	if err == nil || !strings.Contains(err.Error(), "exit status 5\nhello") {
		t.Errorf("error is %v, want the status and what was said", err)
	}
	if _, err = s.Pipeline(output, exec.Command("cat"), exec.Command("/no/such/program")); err == nil {
		t.Error("no error, though a program does not exist")
	}
}

func newTestSession(t *testing.T) *Session {
	t.Helper()
	s, err := NewSession(context.Background(), io.Discard, false, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
