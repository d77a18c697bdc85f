package harness

import (
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"culvert/bench/internal/quantity"
)

// Goal is a bound for the value of a variant in a unit, or for its ratio to the value of a peer.
type Goal struct {
	Variant, Peer string // keys; without a peer the value counts as it is
	Unit          string
	Min, Max      float64 // 0 for none
	Cores         int     // the only number of cores on which it applies; 0 for any
}

// On returns goals that apply only to runs on the given number of cores.
func On(cores int, goals ...Goal) []Goal {
	for i := range goals {
		goals[i].Cores = cores
	}
	return goals
}

// Flat compares the memory of work of two sizes, key=small and key=large, in units of which no process may exceed most
// bytes, nor take a tenth more for the large size.
func Flat(
	name, key string, sizes [2]int64, most float64, units []string, work func(size int64) (Sample, error),
) Benchmark {
	b := Benchmark{Name: name, Rounds: 3} // large sizes take long
	for _, size := range sizes {
		v := fmt.Sprintf("%s=%d/impl=culvert", key, size)
		b.Variants = append(b.Variants, Variant{v, func() (Sample, error) { return work(size) }})
		for _, unit := range units {
			b.Goals = append(b.Goals, Goal{Variant: v, Unit: unit, Max: most})
		}
	}
	for _, unit := range units {
		b.Goals = append(b.Goals, Goal{Variant: b.Variants[1].Key, Peer: b.Variants[0].Key, Unit: unit, Max: 1.1})
	}
	return b
}

// values returns the values of a variant in a unit, by round.
func (r Results) values(key, unit string) []float64 {
	var values []float64
	for _, s := range r[key] {
		if v, ok := s[unit]; ok {
			values = append(values, v)
		}
	}
	return values
}

// Verdict is a row of the table of goals: the benchmark, the unit, the variant and its peer, the median, the quartiles,
// the goal, and whether it is reached.
type Verdict [7]string

// Judge compares the goals of a benchmark with its results. It leaves out those for other numbers of cores.
func Judge(b Benchmark, r Results) []Verdict {
	var verdicts []Verdict
	for _, g := range b.Goals {
		if g.Cores == 0 || g.Cores == runtime.NumCPU() {
			verdicts = append(verdicts, g.judge(b.Name, r))
		}
	}
	return verdicts
}

func (g Goal) judge(benchmark string, r Results) Verdict {
	values, unit, of := r.values(g.Variant, g.Unit), g.Unit, strings.TrimPrefix(g.Variant, "impl=")
	if g.Peer != "" {
		values, unit = quantity.Ratios(values, r.values(g.Peer, g.Unit)), ""
		of += " : " + strings.TrimPrefix(g.Peer, "impl=")
	}
	show := func(v float64) string { return quantity.Format(v, unit) }
	var bounds []string
	if g.Min > 0 {
		bounds = append(bounds, "≥ "+show(g.Min))
	}
	if g.Max > 0 {
		bounds = append(bounds, "≤ "+show(g.Max))
	}
	goal := strings.Join(bounds, " and ")
	if len(values) == 0 {
		return Verdict{benchmark, g.Unit, of, "–", "", goal, notMeasured}
	}
	q, word := quantity.QuartilesOf(values), missed
	if q.Median >= g.Min && (g.Max == 0 || q.Median <= g.Max) {
		word = reached
	}
	return Verdict{benchmark, g.Unit, of, show(q.Median), show(q.P25) + "–" + show(q.P75), goal, word}
}

// Whether goals are reached.
const (
	reached     = "reached"
	missed      = "MISSED"
	notMeasured = "not measured"
)

// Summary returns a table with a row for each verdict, after a line that counts them.
func Summary(verdicts []Verdict) string {
	count := map[string]int{}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "benchmark\tunit\tof\tmeasured\tquartiles\tgoal\t") // a Builder takes it all
	for _, v := range verdicts {
		count[v[len(v)-1]]++
		_, _ = fmt.Fprintln(w, strings.Join(v[:], "\t"))
	}
	_ = w.Flush()
	return fmt.Sprintf("goals (cores: %d): %d reached, %d missed, %d not measured\n%s",
		runtime.NumCPU(), count[reached], count[missed], count[notMeasured], &table)
}
