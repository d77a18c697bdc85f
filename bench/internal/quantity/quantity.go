// Package quantity says what measured values amount to, for tables and for plots: their quartiles, their ratio to those
// of a peer, and how people read them in the units of Go's benchmarks.
package quantity

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Quartiles of some values.
type Quartiles struct{ P25, Median, P75 float64 }

// QuartilesOf interpolates between the nearest values. There must be at least one.
func QuartilesOf(values []float64) Quartiles {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		below, fraction := math.Modf(q * float64(len(sorted)-1))
		i := int(below)
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + fraction*(sorted[i+1]-sorted[i])
	}
	return Quartiles{at(0.25), at(0.5), at(0.75)}
}

// Ratios gives the quotients of the values of two variants, round by round: what disturbs one round touches both.
func Ratios(values, peer []float64) []float64 {
	ratios := make([]float64, min(len(values), len(peer)))
	for i := range ratios {
		ratios[i] = values[i] / peer[i]
	}
	return ratios
}

// Format writes a value in the multiple of its unit that suits it. Memory of processes is counted in powers of 1024, as
// their limits are, and allocated bytes in powers of 1000, as Go's tools do. What has no unit, a ratio, has two
// decimals.
func Format(v float64, unit string) string {
	switch unit {
	case "ns/op", "cpu-ns/op", "lock-ns/op":
		return scaled(v, 1000, "ns", "µs", "ms", "s")
	case "peak-bytes", "server-peak-bytes", "mount-peak-bytes":
		return scaled(v, 1024, "B", "KiB", "MiB", "GiB")
	case "B/op":
		return scaled(v, 1000, "B", "kB", "MB", "GB")
	case "MB/s", "files/s", "reads/s", "allocs/op":
		return thousands(fmt.Sprintf("%.0f", v))
	case "allocs/write":
		return fmt.Sprintf("%.4f", v)
	}
	switch {
	case strings.HasSuffix(unit, "cpu-s/GiB"):
		return fmt.Sprintf("%.2f s", v)
	case strings.HasSuffix(unit, "cpu-µs/op"):
		return scaled(v*1e3, 1000, "ns", "µs", "ms", "s")
	}
	return fmt.Sprintf("%.2f", v)
}

// scaled writes v with three digits in the unit that suits it; each is base times the one before.
func scaled(v, base float64, units ...string) string {
	for len(units) > 1 && math.Round(v) >= base { // what would be written as base of a unit is one of the next
		v /= base
		units = units[1:]
	}
	digits := 2
	if v == 0 || v == math.Trunc(v) && units[0] == "B" {
		digits = 0
	}
	for limit := 10.0; digits > 0 && v >= limit-0.5*math.Pow10(-digits); limit *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f %s", digits, v, units[0])
}

// thousands sets a comma before each three digits.
func thousands(digits string) string {
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}
