package main

import (
	"fmt"
	"strings"

	"culvert/bench/internal/quantity"
)

// goal is a bound for the value of a variant in a unit, or for its ratio to the value of a peer.
type goal struct {
	variant, peer string // keys; without a peer the value counts as it is
	unit          string
	min, max      float64 // 0 for none
}

// values returns the values of a variant in a unit, by round.
func (r results) values(key, unit string) []float64 {
	var values []float64
	for _, s := range r[key] {
		if v, ok := s[unit]; ok {
			values = append(values, v)
		}
	}
	return values
}

// verdicts has a line for each goal of a benchmark.
func verdicts(b benchmark, r results) string {
	text := b.name + "\n"
	for _, g := range b.goals {
		text += "  " + g.verdict(r) + "\n"
	}
	return text
}

// verdict compares a goal with the results: "impl=culvert, MB/s: 3.61 × impl=age (3.40–3.72), goal ≥ 3.00: reached".
func (g goal) verdict(r results) string {
	values, unit, times := r.values(g.variant, g.unit), g.unit, ""
	if g.peer != "" {
		values, unit, times = quantity.Ratios(values, r.values(g.peer, g.unit)), "", " × "+g.peer
	}
	if len(values) == 0 {
		return fmt.Sprintf("%s, %s: not measured", g.variant, quantity.Name(g.unit))
	}
	q := quantity.QuartilesOf(values)
	show := func(v float64) string { return quantity.Format(v, unit) }
	var bounds []string
	reached := true
	if g.min > 0 {
		bounds = append(bounds, "≥ "+show(g.min))
		reached = q.Median >= g.min
	}
	if g.max > 0 {
		bounds = append(bounds, "≤ "+show(g.max))
		reached = reached && q.Median <= g.max
	}
	verdict := "reached"
	if !reached {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s, %s: %s%s (%s–%s), goal %s: %s", g.variant, quantity.Name(g.unit), show(q.Median), times,
		show(q.P25), show(q.P75), strings.Join(bounds, " and "), verdict)
}
