package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"

	"culvert/bench/internal/quantity"
	"culvert/export"
	"culvert/format"
	"culvert/source/postgres"
)

// profiled takes CPU profiles of exports that this program does itself.
type profiled struct {
	*exporter
	recipient age.Recipient
}

// stages are what the processor time of an export goes to, in the order in which rows come through them. Each has what
// is in the name of a function below which all time is that of the stage. If several fit, the last one counts.
var stages = []struct{ name, below string }{
	{"read", "culvert/source/postgres."},
	{"format", ".AppendRows"},
	{"compress", "compress.(*Encoder).AppendFrame"},
	{"seal", "culvert/agefile."},
	{"write", "os.(*File)."},
}

// others are what the time goes to that no stage has: the scheduler, the network poller and the garbage collector.
const others = "other"

// prepareProfile says where the processor time of exports goes, of server and client, beside what the server alone
// takes for the same rows: four psqls that print the table as CSV, each a range of its pages.
func prepareProfile(s *session) ([]benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	p := &profiled{e, identity.Recipient()}
	if err := p.fillTable(p.env, "orders", p.size(3_000_000, 60_000)); err != nil {
		return nil, err
	}
	byHand, err := p.ranges(parallelJobs)
	if err != nil {
		return nil, err
	}
	encrypted := []age.Recipient{p.recipient}
	var benchmarks []benchmark
	for _, c := range []struct {
		name string
		plan export.Plan
	}{
		{"format=csv/compression=zstd", export.Plan{Recipients: encrypted}},
		{"format=csv/compression=gzip", export.Plan{Recipients: encrypted, Compression: export.Gzip}},
		{"format=csv/compression=none", export.Plan{Unencrypted: true, Compression: export.None}},
		{"format=jsonl/compression=zstd", export.Plan{Recipients: encrypted, Format: format.JSONL{}}},
	} {
		c.plan.Jobs = parallelJobs
		b := benchmark{
			name: "Profile/source=postgres/" + c.name,
			variants: []variant{
				{"impl=limit", func() (sample, error) {
					return p.withServer(func() (sample, error) {
						return p.pipeline(os.DevNull, p.command("sh", "-c", byHand))
					})
				}},
				{"impl=culvert", func() (sample, error) {
					return p.withServer(func() (sample, error) { return p.export(c.plan) })
				}},
			},
		}
		b.summary = shares
		if c.plan.Compression == export.None {
			b.goals = []goal{{variant: "impl=culvert", peer: "impl=limit", unit: "ns/op", max: 1.1}}
		}
		benchmarks = append(benchmarks, b)
	}
	return benchmarks, nil
}

// withServer adds to a sample what the server has spent on the connections that began and ended meanwhile.
func (p *profiled) withServer(run func() (sample, error)) (sample, error) {
	before := cpuOfChildren(p.serverPID)
	got, err := run()
	if err != nil {
		return nil, err
	}
	select { // until the processes of the connections have ended
	case <-time.After(200 * time.Millisecond):
	case <-p.ctx.Done():
	}
	if spent := cpuOfChildren(p.serverPID) - before; spent > 0 {
		got["server-cpu-ns/op"] = float64(spent.Nanoseconds())
	}
	return got, nil
}

// cpuOfChildren is the processor time of all children of a process that have ended, or 0 if the system does not tell.
func cpuOfChildren(pid int) time.Duration {
	const cutime = 13
	return cpuIn(pid, cutime)
}

// cpuOfProcess is the processor time of a process that runs, or 0 if the system does not tell.
func cpuOfProcess(pid int) time.Duration {
	const utime = 11
	return cpuIn(pid, utime)
}

// cpuIn reads a time of a process, and the one behind it, that of the kernel (proc_pid_stat(5)).
func cpuIn(pid, field int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	const ticks = 100                               // per second, on all systems that Go knows
	_, behind, _ := strings.Cut(string(stat), ") ") // the name, which may have blanks
	fields := strings.Fields(behind)
	if len(fields) <= field+1 {
		return 0
	}
	user, err1 := strconv.ParseInt(fields[field], 10, 64)
	system, err2 := strconv.ParseInt(fields[field+1], 10, 64)
	if errors.Join(err1, err2) != nil {
		return 0
	}
	return time.Duration(user+system) * time.Second / ticks
}

// export does what culvert export does, and gives the processor time of each stage.
func (p *profiled) export(plan export.Plan) (sample, error) {
	db, err := postgres.Open(p.ctx, connString(p.env))
	if err != nil {
		return nil, err
	}
	name, samples := filepath.Join(p.dir, "export"), filepath.Join(p.dir, "cpu.pprof")
	if plan.Compression == export.None {
		name = os.DevNull
	}
	file, err1 := os.Create(name)
	out, err2 := os.Create(samples)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, err
	}
	_, err = plan.Table(p.ctx, file, db, "orders")
	elapsed := time.Since(start)
	pprof.StopCPUProfile()
	if err := errors.Join(err, db.Close(), file.Close(), out.Close()); err != nil {
		return nil, err
	}
	if name != os.DevNull {
		if err := settle(name); err != nil {
			return nil, err
		}
	}
	got, err := p.byStages(samples)
	if err != nil {
		return nil, err
	}
	got["ns/op"] = float64(elapsed.Nanoseconds())
	return got, nil
}

// byStages reads a profile by pprof, which prints each stack with the time that was spent in it, callers last.
func (p *profiled) byStages(samples string) (sample, error) {
	traces, err := exec.CommandContext(p.ctx, "go", "tool", "pprof", "-traces", samples).Output()
	if err != nil {
		return nil, err
	}
	got := sample{}
	stacks := strings.Split(string(traces), "\n-----------+")
	for _, stack := range stacks[1:] { // behind what the profile is of
		_, stack, _ = strings.Cut(stack, "\n")
		first, _, _ := strings.Cut(strings.TrimSpace(stack), " ")
		if first == "" {
			continue // the last line has none behind it
		}
		spent, err := time.ParseDuration(first)
		if err != nil {
			return nil, fmt.Errorf("pprof prints %q in place of a time: %w", first, err)
		}
		got[stageOf(stack)+cpuOf] += float64(spent.Nanoseconds())
	}
	return got, nil
}

// cpuOf ends the units of the stages.
const cpuOf = "-cpu-ns/op"

func stageOf(stack string) string {
	for _, s := range slices.Backward(stages) {
		if strings.Contains(stack, s.below) {
			return s.name
		}
	}
	return others
}

// shares tells at a glance what the stages take of all processor time, and how far the export is from the limit.
func shares(r results) string {
	names := []string{"server"}
	for _, s := range stages {
		names = append(names, s.name)
	}
	names = append(names, others)
	medians, total := map[string]float64{}, 0.0
	for _, name := range names {
		if values := r.values("impl=culvert", name+cpuOf); len(values) > 0 {
			medians[name] = quantity.QuartilesOf(values).Median
			total += medians[name]
		}
	}
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", name, 100*medians[name]/total))
	}
	median := func(key, unit string) string {
		values := r.values(key, unit)
		if len(values) == 0 {
			return "?"
		}
		return quantity.Format(quantity.QuartilesOf(values).Median, "ns/op")
	}
	ratio := quantity.QuartilesOf(quantity.Ratios(r.values("impl=culvert", "ns/op"), r.values("impl=limit", "ns/op")))
	return fmt.Sprintf("  processor time: %s: %s\n"+
		"  time: %s, %.2f × the limit of the server: %s, with %s of processor time\n",
		quantity.Format(total, "ns/op"), strings.Join(parts, ", "), median("impl=culvert", "ns/op"), ratio.Median,
		median("impl=limit", "ns/op"), median("impl=limit", "server"+cpuOf))
}
