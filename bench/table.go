package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// goal is what a benchmark is meant to show: the value of a variant, or its ratio to that of a peer, in a unit.
type goal struct {
	variant, peer string // keys; without a peer the value counts as it is
	unit          string
	min, max      float64 // 0 for none
}

// quartiles of some values.
type quartiles struct{ p25, median, p75 float64 }

// quartilesOf interpolates between the nearest values. There must be at least one.
func quartilesOf(values []float64) quartiles {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		below, fraction := math.Modf(q * float64(len(sorted)-1))
		i := int(below)
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + fraction*(sorted[i+1]-sorted[i])
	}
	return quartiles{at(0.25), at(0.5), at(0.75)}
}

// values gives what a variant has measured in a unit, by rounds.
func (r results) values(key, unit string) []float64 {
	var values []float64
	for _, s := range r[key] {
		if v, ok := s[unit]; ok {
			values = append(values, v)
		}
	}
	return values
}

// ratios gives the quotients of two variants, round by round: what disturbs one round touches both.
func (r results) ratios(key, peer, unit string) []float64 {
	a, b := r.values(key, unit), r.values(peer, unit)
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}

// table has a row for each variant of a benchmark and a line for each goal.
func table(b benchmark, r results) string {
	units := []string{"ns/op", "MB/s", "cpu-ns/op", "peak-bytes", "B/op", "allocs/op", "allocs/chunk"}
	units = slices.DeleteFunc(units, func(unit string) bool {
		return !slices.ContainsFunc(b.variants, func(v variant) bool { return len(r.values(v.key, unit)) > 0 })
	})
	head := []string{"median (quartiles)"}
	for _, unit := range units {
		head = append(head, heading(unit))
	}
	rows := [][]string{head}
	for _, v := range b.variants {
		row := []string{v.key}
		for _, unit := range units {
			row = append(row, cell(r.values(v.key, unit), unit))
		}
		rows = append(rows, row)
	}
	text := b.name + "\n" + aligned(rows)
	for _, g := range b.goals {
		text += "  " + g.verdict(r) + "\n"
	}
	return text + "\n"
}

// aligned sets rows in columns as wide as their widest cell.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "  %-*s", widths[i], cell)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

// verdict says how a goal stands: "impl=culvert, MB/s: 3.61 × impl=age (3.40–3.72), goal ≥ 3.00: reached".
func (g goal) verdict(r results) string {
	values, unit, times := r.values(g.variant, g.unit), g.unit, ""
	if g.peer != "" {
		values, unit, times = r.ratios(g.variant, g.peer, g.unit), "", " × "+g.peer
	}
	if len(values) == 0 {
		return fmt.Sprintf("%s, %s: not measured", g.variant, heading(g.unit))
	}
	q := quartilesOf(values)
	var bounds []string
	reached := true
	if g.min > 0 {
		bounds = append(bounds, "≥ "+number(g.min, unit))
		reached = q.median >= g.min
	}
	if g.max > 0 {
		bounds = append(bounds, "≤ "+number(g.max, unit))
		reached = reached && q.median <= g.max
	}
	verdict := "reached"
	if !reached {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s, %s: %s%s (%s–%s), goal %s: %s", g.variant, heading(g.unit), number(q.median, unit), times,
		number(q.p25, unit), number(q.p75, unit), strings.Join(bounds, " and "), verdict)
}

func cell(values []float64, unit string) string {
	if len(values) == 0 {
		return "–"
	}
	q := quartilesOf(values)
	return fmt.Sprintf("%s (%s–%s)", number(q.median, unit), number(q.p25, unit), number(q.p75, unit))
}

// heading and number show units as people read them.
func heading(unit string) string {
	switch unit {
	case "ns/op":
		return "time"
	case "cpu-ns/op":
		return "CPU time"
	case "peak-bytes":
		return "peak memory"
	}
	return unit
}

func number(v float64, unit string) string {
	switch unit {
	case "ns/op", "cpu-ns/op":
		return scaled(v, 1000, "ns", "µs", "ms", "s")
	case "peak-bytes":
		return scaled(v, 1024, "B", "KiB", "MiB", "GiB")
	case "B/op":
		return scaled(v, 1000, "B", "kB", "MB", "GB")
	case "MB/s", "allocs/op":
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// scaled writes v with three digits in the unit that suits it; each is base times the one before.
func scaled(v, base float64, units ...string) string {
	for len(units) > 1 && v >= base {
		v /= base
		units = units[1:]
	}
	digits := 2
	for limit := 10.0; digits > 0 && v >= limit; limit *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f %s", digits, v, units[0])
}
