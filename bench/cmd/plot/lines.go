package main

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"culvert/bench/internal/quantity"
)

// lines show how values grow with something, each with its name and its last value at its end.
type lines struct {
	heading
	x, y   axis
	series []series
}

type series struct {
	label  string
	role   role
	points []point // from left to right
}

type point struct {
	x float64
	y quantity.Quartiles
}

const (
	linesHeight = 300
	aboveLines  = 20 // for what the vertical axis shows
	endDistance = 16 // between the names at the ends
	endGap      = 16
)

func (l *lines) height() vg.Length { return linesHeight }

func (l *lines) draw(c draw.Canvas) {
	l.y.roundUp()
	p := plot.New()
	p.BackgroundColor = nil
	l.x.apply(&p.X)
	l.y.apply(&p.Y)
	p.Y.Label.Text = "" // it would stand on its side
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	p.Y.Padding = 4
	write(c, tickStyle, c.Min.X, c.Max.Y-aboveLines/3.0, l.y.label)
	p.Add(horizontalGrid{l.y}, linePlotter{l})
	p.Draw(draw.Crop(c, 0, 0, 0, -aboveLines))
}

// linePlotter draws the lines into a plot, and their names right of it.
type linePlotter struct{ *lines }

// Plot implements plot.Plotter. Ours come last, so that they lie on top.
func (l linePlotter) Plot(c draw.Canvas, p *plot.Plot) {
	at := func(pt point, v float64) vg.Point {
		return vg.Point{X: c.X(p.X.Norm(pt.x)), Y: c.Y(p.Y.Norm(l.y.place(v)))}
	}
	order := slices.Clone(l.colored())
	slices.SortStableFunc(order, func(a, b coloredSeries) int { return boolOrder(a.role == ours, b.role == ours) })
	for _, s := range order {
		stroke := line(1.75, s.color)
		if s.role == ours {
			stroke.Width = 3
		}
		var path []vg.Point
		for _, pt := range s.points {
			path = append(path, at(pt, pt.y.Median))
			low, high := at(pt, pt.y.P25), at(pt, pt.y.P75)
			if high.Y-low.Y > 3 {
				c.StrokeLine2(line(1, s.color), low.X, low.Y, high.X, high.Y)
			}
		}
		c.StrokeLines(stroke, path)
		for _, pt := range path {
			dot := draw.GlyphStyle{Color: s.color, Radius: 1.25 * stroke.Width, Shape: draw.CircleGlyph{}}
			c.DrawGlyphNoClip(dot, pt)
		}
	}
	l.drawEnds(c, func(s series) vg.Point {
		last := s.points[len(s.points)-1]
		return at(last, last.y.Median)
	})
}

func boolOrder(a, b bool) int {
	number := map[bool]int{true: 1}
	return cmp.Compare(number[a], number[b])
}

type coloredSeries struct {
	series
	color color.Color
}

// colored gives each series its colour.
func (l linePlotter) colored() []coloredSeries {
	var all []coloredSeries
	peers := 0
	for _, s := range l.series {
		if s.role == ours {
			all = append(all, coloredSeries{s, oursColor})
			continue
		}
		all = append(all, coloredSeries{s, peerLines[peers%len(peerLines)]})
		peers++
	}
	return all
}

// drawEnds writes the names behind the ends of the lines, from the highest to the lowest, and moves those apart that
// would touch.
func (l linePlotter) drawEnds(c draw.Canvas, end func(series) vg.Point) {
	all := l.colored()
	slices.SortStableFunc(all, func(a, b coloredSeries) int { return cmp.Compare(end(b.series).Y, end(a.series).Y) })
	heights := make([]vg.Length, len(all))
	for i, s := range all {
		heights[i] = end(s.series).Y
	}
	spread(heights, c.Min.Y, c.Max.Y)
	for i, s := range all {
		from := end(s.series)
		to := vg.Point{X: c.Max.X + endGap, Y: heights[i]}
		if to.Y-from.Y > 2 || from.Y-to.Y > 2 {
			c.StrokeLine2(line(0.75, s.color), from.X+5, from.Y, to.X-3, to.Y)
		}
		style := s.endStyle()
		style.Color = s.color
		write(c, style, to.X, to.Y, s.endText(l.y.unit))
	}
}

// spread moves falling heights so that they have their distance, as little as it takes: half as if all had to give way
// downwards, and half as if upwards. Then it moves them between two bounds.
func spread(heights []vg.Length, lowest, highest vg.Length) {
	down, up := slices.Clone(heights), slices.Clone(heights)
	downFrom(down, vg.Length(math.Inf(1)))
	upFrom(up, vg.Length(math.Inf(-1)))
	for i := range heights {
		heights[i] = (down[i] + up[i]) / 2
	}
	downFrom(heights, highest)
	upFrom(heights, lowest)
}

func downFrom(heights []vg.Length, highest vg.Length) {
	for i := range heights {
		heights[i] = min(heights[i], highest)
		highest = heights[i] - endDistance
	}
}

func upFrom(heights []vg.Length, lowest vg.Length) {
	for i := range slices.Backward(heights) {
		heights[i] = max(heights[i], lowest)
		lowest = heights[i] + endDistance
	}
}

func (s series) endStyle() text.Style {
	if s.role == ours {
		return oursStyle
	}
	return labelStyle
}

func (s series) endText(unit string) string {
	return s.label + "  " + quantity.Format(s.points[len(s.points)-1].y.Median, unit)
}

// GlyphBoxes implements plot.GlyphBoxer: it has the plot leave room for the names.
func (l linePlotter) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for _, s := range l.series {
		width := endGap + s.endStyle().Width(s.endText(l.y.unit))
		boxes = append(boxes, plot.GlyphBox{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: width}}})
	}
	return boxes
}

// horizontalGrid draws a line at each tick of a vertical axis.
type horizontalGrid struct{ axis axis }

// Plot implements plot.Plotter.
func (g horizontalGrid) Plot(c draw.Canvas, p *plot.Plot) {
	for _, tick := range g.axis.ticks() {
		y := c.Y(p.Y.Norm(tick.Value))
		c.StrokeLine2(line(0.75, gridColor), c.Min.X, y, c.Max.X, y)
	}
}
