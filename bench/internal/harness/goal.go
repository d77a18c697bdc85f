package harness

import (
	"fmt"
	"strings"

	"culvert/bench/internal/quantity"
)

// Goal is a bound for the value of a variant in a unit, or for its ratio to the value of a peer.
type Goal struct {
	Variant, Peer string // keys; without a peer the value counts as it is
	Unit          string
	Min, Max      float64 // 0 for none
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

// Verdicts has a line for each goal of a benchmark.
func Verdicts(b Benchmark, r Results) string {
	text := b.Name + "\n"
	for _, g := range b.Goals {
		text += "  " + g.Verdict(r) + "\n"
	}
	return text
}

// Verdict compares a goal with the results: "impl=culvert, MB/s: 3.61 × impl=age (3.40–3.72), goal ≥ 3.00: reached".
func (g Goal) Verdict(r Results) string {
	values, unit, times := r.values(g.Variant, g.Unit), g.Unit, ""
	if g.Peer != "" {
		values, unit, times = quantity.Ratios(values, r.values(g.Peer, g.Unit)), "", " × "+g.Peer
	}
	if len(values) == 0 {
		return fmt.Sprintf("%s, %s: not measured", g.Variant, quantity.Name(g.Unit))
	}
	q := quantity.QuartilesOf(values)
	show := func(v float64) string { return quantity.Format(v, unit) }
	var bounds []string
	reached := true
	if g.Min > 0 {
		bounds = append(bounds, "≥ "+show(g.Min))
		reached = q.Median >= g.Min
	}
	if g.Max > 0 {
		bounds = append(bounds, "≤ "+show(g.Max))
		reached = reached && q.Median <= g.Max
	}
	verdict := "reached"
	if !reached {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s, %s: %s%s (%s–%s), goal %s: %s", g.Variant, quantity.Name(g.Unit), show(q.Median), times,
		show(q.P25), show(q.P75), strings.Join(bounds, " and "), verdict)
}
