package main

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"culvert/bench/internal/quantity"
)

// boxes are groups of horizontal box plots, of latencies on a logarithmic axis: the box from the 25th to the 75th
// percentile with a line at the median, whiskers at the 5th and the 95th, and diamonds for what lies outside: the 99th,
// the 99.9th, and the longest. The median stands right of them.
type boxes struct {
	heading
	axis   axis
	groups []boxGroup
}

type boxGroup struct {
	title string
	boxes []box
}

type box struct {
	label                      string
	role                       role
	low, p25, median, p75, top float64
	outliers                   []float64
}

// boxOf gives the box of a variant: the median of the rounds for each percentile.
func boxOf(r *recording, label string, role role) (box, bool) {
	at := func(unit string) float64 {
		if values := r.values(unit); len(values) > 0 {
			return quantity.QuartilesOf(values).Median
		}
		return 0
	}
	b := box{
		label: label, role: role,
		low: at("p5-ns"), p25: at("p25-ns"), median: at("p50-ns"), p75: at("p75-ns"), top: at("p95-ns"),
		outliers: []float64{at("p99-ns"), at("p999-ns"), at("max-ns")},
	}
	return b, b.low > 0
}

func (b *boxes) height() vg.Length {
	height := vg.Length(axisHeight)
	for _, g := range b.groups {
		height += vg.Length(groupHeight + len(g.boxes)*barPitch + groupGap)
	}
	return height
}

// fit makes room for all that is drawn.
func (b *boxes) fit() *boxes {
	var values []float64
	for _, g := range b.groups {
		for _, box := range g.boxes {
			values = append(append(values, box.low, box.top), box.outliers...)
		}
	}
	b.axis.fit(values)
	b.axis.min = roundDown(slices.Min(values))
	return b
}

// roundDown gives 1, 2 or 5 times a power of ten.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{5, 2} {
		if v >= step*power {
			return step * power
		}
	}
	return power
}

func (b *boxes) draw(c draw.Canvas) {
	p := plot.New()
	p.BackgroundColor = nil
	p.HideY()
	p.Y.Padding = 0
	b.axis.apply(&p.X)
	p.Y.Min, p.Y.Max = 0, float64(b.height()-axisHeight)
	var names vg.Length
	for _, g := range b.groups {
		for _, box := range g.boxes {
			names = max(names, bar{role: box.role}.nameStyle().Width(box.label)+gap)
		}
	}
	// The label is wide, and gonum would leave room for half of it right of the middle of a scale that is not
	// logarithmic.
	p.X.Label.Text = ""
	write(c, tickStyle, c.Min.X+names, c.Min.Y+tickStyle.Font.Size/2, b.axis.label)
	p.Add(verticalGrid{b.axis}, boxPlotter{b, names})
	p.Draw(draw.Crop(c, names, 0, tickStyle.Font.Size+3, 0))
}

// boxPlotter draws the boxes into a plot, and their names left of it.
type boxPlotter struct {
	*boxes
	names vg.Length
}

// Plot implements plot.Plotter.
func (b boxPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	y := c.Max.Y
	write(c, tickStyle, c.Max.X+2*gap, y-groupHeight/2, "median")
	for _, g := range b.groups {
		barPlotter{names: b.names}.drawTitle(c, g.title, y-groupHeight/2)
		y -= groupHeight
		for _, box := range g.boxes {
			b.drawBox(c, p, box, y-barPitch/2)
			y -= barPitch
		}
		y -= groupGap
	}
}

func (b boxPlotter) drawBox(c draw.Canvas, p *plot.Plot, box box, y vg.Length) {
	at := func(v float64) vg.Length { return c.X(p.X.Norm(b.axis.place(v))) }
	look := bar{role: box.role}
	name := look.nameStyle()
	write(c, name, c.Min.X-gap-name.Width(box.label), y, box.label)

	whisker := line(1, textColor)
	c.StrokeLine2(whisker, at(box.low), y, at(box.top), y)
	for _, v := range []float64{box.low, box.top} {
		c.StrokeLine2(whisker, at(v), y-3.5, at(v), y+3.5)
	}
	const half = barWidth / 2.0
	fill(c, look.color(), at(box.p25), y-half, max(at(box.p75), at(box.p25)+1), y+half)
	c.StrokeLine2(line(2, textColor), at(box.median), y-half, at(box.median), y+half)
	for _, v := range box.outliers {
		x := at(v)
		c.FillPolygon(quietColor, []vg.Point{{X: x - 3, Y: y}, {X: x, Y: y + 3}, {X: x + 3, Y: y}, {X: x, Y: y - 3}})
	}
	write(c, name, c.Max.X+2*gap, y, box.medianText(b.axis.unit))
}

func (b box) medianText(unit string) string { return quantity.Format(b.median, unit) }

// GlyphBoxes implements plot.GlyphBoxer: the medians have a column.
func (b boxPlotter) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	width := tickStyle.Width("median")
	for _, g := range b.groups {
		for _, box := range g.boxes {
			width = max(width, bar{role: box.role}.nameStyle().Width(box.medianText(b.axis.unit)))
		}
	}
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: 2*gap + width}}}}
}
