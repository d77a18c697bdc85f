package main

import (
	"fmt"
	"strings"

	"culvert/bench/internal/quantity"
)

// comparison says how the variants of a benchmark are shown beside each other.
type comparison struct {
	unit   string
	peer   string            // the variant that ours are compared with; "" for no ratios
	labels map[string]string // of variants, before those of all figures

	order []string // of the variants, where they took turns in being the first; else that in which they ran
}

// labels are what readers know the variants by.
var labels = map[string]string{
	"culvert":       "Culvert",
	"csv":           "CSV",
	"jsonl":         "JSON Lines",
	"limit":         "machine's limit",
	"tools":         "psql | … | age",
	"sqlite3":       "sqlite3 -csv",
	"cipher":        "crypto/cipher",
	"map":           "map of buffers",
	"gorm-before":   "GORM, Sprintf",
	"gorm-pooled":   "GORM, pooled",
	"none":          "no cipher",
	"raw":           "pgconn alone",
	"culvert-table": "Culvert, whole table",
	"culvert-plan":  "Culvert, export.Plan",
	"bytes":         "bytes.Buffer",
	"bytebuf":       "bytebuf.Buffer",
	"stack":         "array on the stack",
	"pool":          "sync.Pool of bytes.Buffer",

	"cipherio-klauspost": "cipherio, other gzip",
	"builder":            "strings.Builder",
}

func (c comparison) label(impl string) string {
	if label, ok := c.labels[impl]; ok {
		return label
	}
	if label, ok := labels[impl]; ok {
		return label
	}
	for _, joint := range []string{"-", "+"} {
		if inner, ok := strings.CutSuffix(impl, joint+"bufio"); ok {
			return c.label(inner) + " + bufio"
		}
	}
	if way, ok := strings.CutPrefix(impl, "culvert-"); ok {
		return c.label("culvert") + ", " + way
	}
	return impl
}

// roleOf says what a variant is. Those of Culvert may have a suffix: culvert-table.
func roleOf(impl string) role {
	name, _, _ := strings.Cut(strings.ReplaceAll(impl, "+", "-"), "-")
	switch name {
	case "culvert", "cipherio", "bytebuf":
		return ours
	case "limit", "none", "floor", "plain", "framed", "cp", "gofuse":
		return limit
	}
	return peer
}

// bars gives a bar for each variant that has measured the unit.
func (c comparison) bars(r *recording) []bar {
	var bars []bar
	impls := c.order
	if impls == nil {
		impls = r.distinct("impl")
	}
	for _, impl := range impls {
		values := r.where("impl", impl).values(c.unit)
		if len(values) == 0 {
			continue
		}
		b := bar{label: c.label(impl), role: roleOf(impl), value: quantity.QuartilesOf(values)}
		if ratio, ok := c.speedUp(r, impl); ok && b.role == ours {
			b.note = times(ratio) + " as fast"
		}
		bars = append(bars, b)
	}
	return bars
}

// speedUp gives how many times as fast a variant is as the peer, which is the median of the rounds.
func (c comparison) speedUp(r *recording, impl string) (float64, bool) {
	ours, peers := r.where("impl", impl).values(c.unit), r.where("impl", c.peer).values(c.unit)
	if len(ours) == 0 || len(peers) == 0 {
		return 0, false
	}
	if c.unit == "MB/s" {
		return quantity.QuartilesOf(quantity.Ratios(ours, peers)).Median, true
	}
	return quantity.QuartilesOf(quantity.Ratios(peers, ours)).Median, true
}

// median gives that of a variant.
func (c comparison) median(r *recording, impl string) (float64, bool) {
	values := r.where("impl", impl).values(c.unit)
	if len(values) == 0 {
		return 0, false
	}
	return quantity.QuartilesOf(values).Median, true
}

// times writes a ratio: "3.9 ×".
func times(ratio float64) string {
	switch {
	case ratio < 1:
		return fmt.Sprintf("%.2f ×", ratio)
	case ratio < 10:
		return fmt.Sprintf("%.1f ×", ratio)
	}
	return quantity.Format(ratio, "allocs/op") + " ×"
}

// fit makes room on an axis for all values of groups.
func fit(a axis, groups []group) axis {
	var values []float64
	for _, g := range groups {
		for _, b := range g.bars {
			values = append(values, b.value.P25, b.value.Median, b.value.P75)
		}
	}
	a.fit(values)
	return a
}

// measured is the sub-title: what, where, when and how often.
func measured(r *recording, what string) string {
	date, _, _ := strings.Cut(r.facts["date"], "T")
	times := "medians and quartiles of " + r.rounds() + " rounds"
	if r.rounds() == "1" {
		times = "one round"
	}
	text := fmt.Sprintf("%s  ·  %s cores  ·  %s  ·  %s", r.facts["host"], r.facts["cores"], date, times)
	if what != "" {
		text = what + "  ·  " + text
	}
	return text
}
