package main

import (
	"math"
	"regexp"

	"gonum.org/v1/plot"

	"culvert/bench/internal/quantity"
)

// axis is a scale on which values of a unit are drawn.
type axis struct {
	label string
	unit  string // of the values; "rows" or one of Go's benchmarks
	log   bool   // powers of ten at equal distances; a zero stands where the axis begins, and is labelled so
	max   float64
	min   float64 // of a logarithmic axis; others begin at zero

	hasZero bool // is among the values
}

// fit makes room for values.
func (a *axis) fit(values []float64) {
	least := math.Inf(1)
	for _, v := range values {
		a.max = max(a.max, v)
		a.hasZero = a.hasZero || v == 0
		if v > 0 {
			least = min(least, v)
		}
	}
	if a.max == 0 { // all values are: there has to be some scale
		a.max, least = 1, 1
	}
	if !a.log || math.IsInf(least, 1) {
		return
	}
	lowest := math.Pow(10, math.Floor(math.Log10(least)))
	if least < 2*lowest { // so that also the shortest bar is one
		lowest /= 2
	}
	if a.min == 0 || lowest < a.min {
		a.min = lowest
	}
}

// roundUp lets an axis end at a tick.
func (a *axis) roundUp() {
	if a.log {
		a.max = math.Pow(10, math.Ceil(math.Log10(a.max)))
		return
	}
	ticks := a.ticks()
	a.max += ticks[1].Value - ticks[0].Value
	a.max = a.ticks()[len(a.ticks())-1].Value
}

// place gives the value at which v is drawn.
func (a axis) place(v float64) float64 {
	if a.log {
		return max(v, a.min)
	}
	return v
}

// apply sets an axis of a plot up.
func (a axis) apply(to *plot.Axis) {
	to.Min, to.Max = a.min, a.max
	to.Label.Text = a.label
	to.Label.TextStyle.Font = tickStyle.Font
	to.Label.TextStyle.Color = quietColor
	to.Tick.Label.Font = tickStyle.Font
	to.Tick.Label.Color = quietColor
	to.Tick.Length = 3
	to.Tick.LineStyle = line(0.75, peerColor)
	to.LineStyle = line(0.75, peerColor)
	to.Padding = 0
	to.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick { return a.ticks() })
	if a.log {
		to.Scale = plot.LogScale{}
	}
}

func (a axis) ticks() []plot.Tick {
	if a.log {
		return a.logTicks()
	}
	scale := 1.0
	if a.unit == "peak-bytes" {
		scale = 1 << 20
	}
	step := niceStep(a.max/scale) * scale
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= a.max*1.0001; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: a.brief(v)})
	}
	return ticks
}

// logTicks has one at each power of ten, and more where there are few.
func (a axis) logTicks() []plot.Tick {
	var ticks []plot.Tick
	if a.hasZero {
		ticks = append(ticks, plot.Tick{Value: a.min, Label: a.brief(0)})
	}
	steps := []float64{1}
	if a.max/a.min < 50 {
		steps = []float64{1, 2, 5}
	}
	for power := math.Pow(10, math.Floor(math.Log10(a.min))); power <= a.max; power *= 10 {
		for _, step := range steps {
			v := step * power
			if v >= a.min && v <= a.max*1.0001 && (v > a.min || !a.hasZero) {
				ticks = append(ticks, plot.Tick{Value: v, Label: a.brief(v)})
			}
		}
	}
	return ticks
}

// niceStep gives 1, 2 or 5 times a power of ten, of which three to seven reach up to top.
func niceStep(top float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(top)))
	for _, step := range []float64{0.2, 0.5, 1} {
		if top/(step*power) <= 6 {
			return step * power
		}
	}
	return 2 * power
}

// zeros end a decimal fraction.
var zeros = regexp.MustCompile(`(\.\d*[1-9])0+ |\.0+ `)

// brief writes a round value.
func (a axis) brief(v float64) string {
	switch {
	case v == 0:
		return "0"
	case a.unit != "rows":
		return zeros.ReplaceAllString(quantity.Format(v, a.unit), "$1 ")
	case v >= 1e6:
		return quantity.Format(v/1e6, "allocs/op") + " million"
	}
	return quantity.Format(v, "allocs/op")
}
