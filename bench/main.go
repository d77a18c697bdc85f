// Command bench measures Culvert against the tools that people use today.
//
//	go run . [-h] [WORKLOAD]…
//
// A workload has one or more benchmarks. Each has variants that do the same work: Culvert's, a peer's, and sometimes
// the limit of the machine. The variants run in turn, A B C A B C, in one run of the program, so that other load on the
// machine affects all of them. It is a program, not a set of testing.B, because those run one after the other. The
// README says what is measured and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"culvert/bench/internal/exports"
	"culvert/bench/internal/files"
	"culvert/bench/internal/harness"
	"culvert/bench/internal/streams"
)

// workload is a set of benchmarks that share what they prepare.
type workload struct {
	name    string
	rounds  int // unless the flag is set; benchstat needs 6 for a confidence interval
	prepare func(*harness.Session) ([]harness.Benchmark, error)
}

var workloads = []workload{
	{"agefile", 10, streams.PrepareAgefile},
	{"codec", 5, streams.PrepareCodec},
	{"export", 6, exports.PrepareExport},
	{"parallel", 6, exports.PrepareParallel},
	{"tables", 6, exports.PrepareTables},
	{"small", 6, exports.PrepareSmall},
	{"masks", 7, exports.PrepareMasks},
	{"subset", 7, exports.PrepareSubset},
	{"parts", 6, exports.PrepareParts},
	{"workers", 6, exports.PrepareWorkers},
	{"buckets", 6, exports.PrepareBuckets},
	{"bucketmemory", 1, exports.PrepareBucketMemory},
	{"columns", 5, exports.PrepareColumns},
	{"sqlite", 10, exports.PrepareSQLite},
	{"mariadb", 6, exports.PrepareMariaDB},
	{"memory", 6, exports.PrepareMemory},
	{"load", 6, exports.PrepareLoad},
	{"foreign", 5, exports.PrepareForeign},
	{"across", 6, exports.PrepareAcross},
	{"loadmemory", 3, exports.PrepareLoadMemory},
	{"todos", 10, exports.PrepareTodos},
	{"cipherio", 10, streams.PrepareCipherio},
	{"bytebuf", 20, streams.PrepareBytebuf},
	{"wal", 6, streams.PrepareWAL},
	{"secureconn", 10, streams.PrepareSecureconn},
	{"fileservice", 10, files.PrepareFileservice},
	{"transfer", 6, files.PrepareTransfer},
	{"fusefs", 6, files.PrepareFusefs},
}

// options are the flags.
type options struct {
	rounds int
	quick  bool
	out    string
	host   string
	files  string
	only   string
	begun  time.Time
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ended := context.AfterFunc(ctx, func() {
		fmt.Fprintln(os.Stderr, "bench: interrupted; what runs in this program comes to its end first")
	})
	err := errors.Join(run(ctx, os.Stdout, os.Args[1:]), harness.RemovePrograms())
	if !ended() {
		os.Exit(130)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdout io.Writer, args []string) error {
	var opts options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&opts.rounds, "rounds", 0, "rounds of each benchmark; 0 means what suits it")
	flags.BoolVar(&opts.quick, "quick", false, "small inputs and one round: to see that it works")
	flags.StringVar(&opts.out, "out", "", "directory for the samples; empty for results, or with -quick for none")
	flags.StringVar(&opts.host, "host", "", "name of this machine in the results, without its cores; empty for its own")
	flags.StringVar(&opts.files, "dir", "", "directory for the files that are written; empty for the temporary one")
	flags.StringVar(&opts.only, "run", "", "only the benchmarks whose names have a match of this regular expression; "+
		"the samples of the others stay")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if opts.host == "" {
		opts.host, _ = os.Hostname()
	}
	if opts.out == "" && !opts.quick { // small inputs give no results
		opts.out = "results"
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	start := time.Now()
	opts.begun = start
	var verdicts []harness.Verdict
	for i, w := range chosen {
		harness.Say(stdout, "workload %d of %d, %v after the start: %s", i+1, len(chosen), since(start), w.name)
		more, err := runWorkload(ctx, stdout, w, opts)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		verdicts = append(verdicts, more...)
	}
	if _, err := fmt.Fprintf(stdout, "\n%s\n", harness.Summary(verdicts)); err != nil {
		return err
	}
	harness.Say(stdout, "all of it took %v", since(start))
	if dir := opts.dir(); dir != "" {
		harness.Say(stdout, "the samples are in %s; name it in docs/performance.md to show them there", dir)
	}
	return nil
}

// dir returns the directory of the samples, or "" if none are kept. A run that goes on after midnight has one.
func (o options) dir() string {
	if o.out == "" {
		return ""
	}
	name := fmt.Sprintf("%s-%s-%d", o.begun.Format(time.DateOnly), o.host, runtime.NumCPU())
	return filepath.Join(o.out, name)
}

// choose returns the workloads with the given names, or all.
func choose(wanted []string) ([]workload, error) {
	if len(wanted) == 0 {
		return workloads, nil
	}
	var chosen []workload
	for _, name := range wanted {
		i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no workload %q; README.md lists them", name)
		}
		chosen = append(chosen, workloads[i])
	}
	return chosen, nil
}

func runWorkload(
	ctx context.Context, stdout io.Writer, w workload, opts options,
) (verdicts []harness.Verdict, err error) {
	start := time.Now()
	s, err := harness.NewSession(ctx, stdout, opts.quick, opts.files)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Only, err = regexp.Compile(opts.only); err != nil {
		return nil, err
	}

	s.Say("preparing %s", w.name)
	benchmarks, err := w.prepare(s)
	benchmarks = slices.DeleteFunc(benchmarks, func(b harness.Benchmark) bool { return !s.Wants(b.Name) })
	if opts.only != "" && len(benchmarks) == 0 && err == nil {
		s.Say("no benchmark of %s can be run whose name matches %s", w.name, opts.only)
	}
	if err != nil || len(benchmarks) == 0 { // it has said what this machine lacks
		return nil, err
	}
	raw := new(strings.Builder)
	raw.WriteString(harness.HostFacts(ctx, opts.host))
	for i, b := range benchmarks {
		s.Say("benchmark %d of %d, %v after the start of %s", i+1, len(benchmarks), since(start), w.name)
		results, err := harness.Measure(s, b, opts.roundsOf(w, b), io.MultiWriter(raw, stdout))
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, harness.Judge(b, results)...)
	}
	summary := harness.Summary(verdicts)
	_, err = fmt.Fprintf(stdout, "\n%s\n", summary)
	s.Say("%s took %v", w.name, since(start))
	dir := opts.dir()
	if err != nil || dir == "" {
		return verdicts, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, w.name+".txt")
	kept := ""
	if opts.only != "" {
		before, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		kept = without(string(before), benchmarks)
	}
	s.Say("samples are in %s", name)
	return verdicts, os.WriteFile(name, []byte(kept+raw.String()+"\n"+comment(summary)), 0o644)
}

// without removes the samples of some benchmarks from the text of a file of samples. A run that has no samples left is
// removed whole.
func without(text string, benchmarks []harness.Benchmark) string {
	const head = "goos: "
	var kept strings.Builder
	for i, part := range strings.Split("\n"+text, "\n"+head) {
		var lines strings.Builder
		hasSamples, isWhole := false, true
		for line := range strings.Lines(part) {
			if slices.ContainsFunc(benchmarks, func(b harness.Benchmark) bool {
				return strings.HasPrefix(line, "Benchmark"+b.Name+"/") || strings.HasPrefix(line, "# "+b.Name+" ")
			}) {
				isWhole = false
				continue
			}
			if strings.HasPrefix(line, "# goals (") && !isWhole {
				line = "# goals of those that were not run again:\n"
			}
			hasSamples = hasSamples || strings.HasPrefix(line, "Benchmark")
			lines.WriteString(line)
		}
		if i > 0 && hasSamples {
			kept.WriteString(head + strings.TrimRight(lines.String(), "\n") + "\n\n")
		}
	}
	return kept.String()
}

// since returns the time since start in whole seconds.
func since(start time.Time) time.Duration { return time.Since(start).Round(time.Second) }

// roundsOf returns the number of rounds of a benchmark.
func (o options) roundsOf(w workload, b harness.Benchmark) int {
	switch {
	case o.rounds > 0:
		return o.rounds
	case o.quick:
		return 1
	case b.Rounds > 0:
		return b.Rounds
	}
	return w.rounds
}

// comment marks lines that readers of the samples skip.
func comment(text string) string {
	return "# " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n# ") + "\n"
}
