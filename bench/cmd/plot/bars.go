package main

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"culvert/bench/internal/quantity"
)

// bars are groups of horizontal bars, each with its name on the left and its value at its end.
type bars struct {
	heading
	axis   axis
	groups []group
}

type group struct {
	title string // "" for none
	bars  []bar
}

type bar struct {
	label  string
	role   role
	from   float64 // where it begins, for what stands on top of others
	value  quantity.Quartiles
	absent bool   // there is no value
	note   string // on the bar where it has room, else behind the value: "3.9 × age"
}

// role says how strongly a variant is drawn.
type role int

const (
	peer role = iota
	ours
	limit // of the machine
)

const (
	barPitch    = 24
	barWidth    = 17
	groupHeight = 22
	groupGap    = 9
	gap         = 6
	axisHeight  = 36
)

func (b *bars) height() vg.Length {
	height := vg.Length(axisHeight)
	for _, g := range b.groups {
		height += g.height()
	}
	return height
}

func (g group) height() vg.Length {
	height := vg.Length(len(g.bars)*barPitch + groupGap)
	if g.title != "" {
		height += groupHeight
	}
	return height
}

func (b *bars) draw(c draw.Canvas) {
	names := b.namesWidth()
	b.drawAs(c, barPlotter{b, names, c.Size().X - names, true, b.groups})
}

// drawAs draws the bars right of their names.
func (b *bars) drawAs(c draw.Canvas, as barPlotter) {
	p := plot.New()
	p.BackgroundColor = nil
	p.HideY()
	p.Y.Padding = 0
	b.axis.apply(&p.X)
	p.Y.Min, p.Y.Max = 0, float64(b.height()-axisHeight)
	p.Add(verticalGrid{b.axis}, as)
	p.Draw(draw.Crop(c, as.names, 0, 0, 0))
}

// namesWidth is the room on the left.
func (b *bars) namesWidth() vg.Length {
	var widest vg.Length
	for _, g := range b.groups {
		for _, bar := range g.bars {
			widest = max(widest, bar.nameStyle().Width(bar.label))
		}
	}
	return widest + gap
}

func (b bar) nameStyle() text.Style {
	if b.role == ours {
		return oursStyle
	}
	return labelStyle
}

func (b bar) color() color.Color {
	return map[role]color.Color{peer: peerColor, ours: oursColor, limit: limitColor}[b.role]
}

// barPlotter draws the bars into a plot, and their names left of it.
type barPlotter struct {
	*bars
	names vg.Length // width of the names
	room  vg.Length // width of the bars with their values, about
	named bool      // the names are drawn
	fits  []group   // bars whose values have room on the right
}

// Plot implements plot.Plotter.
func (b barPlotter) Plot(c draw.Canvas, p *plot.Plot) {
	y := c.Max.Y
	for _, g := range b.groups {
		if g.title != "" {
			if b.named {
				b.drawTitle(c, g.title, y-groupHeight/2)
			}
			y -= groupHeight
		}
		for _, bar := range g.bars {
			b.drawBar(c, p, bar, y-barPitch/2)
			y -= barPitch
		}
		y -= groupGap
	}
}

// drawTitle writes the title of a group over whatever of the grid would cross it.
func (b barPlotter) drawTitle(c draw.Canvas, title string, y vg.Length) {
	left := c.Min.X - b.names
	right := left + groupStyle.Width(title) + gap
	fill(c, color.White, left, y-groupHeight/2, right, y+groupHeight/2)
	write(c, groupStyle, left, y, title)
}

func (b barPlotter) drawBar(c draw.Canvas, p *plot.Plot, bar bar, y vg.Length) {
	at := func(v float64) vg.Length { return c.X(p.X.Norm(b.axis.place(v))) }
	name := bar.nameStyle()
	if b.named {
		write(c, name, c.Min.X-gap-name.Width(bar.label), y, bar.label)
	}
	if bar.absent {
		write(c, subtitleStyle, c.Min.X+gap, y, "not measured")
		return
	}
	left, right := at(bar.from), at(bar.value.Median)
	fill(c, bar.color(), left, y-barWidth/2.0, right, y+barWidth/2.0)
	low, high := at(bar.value.P25), at(bar.value.P75)
	if high-low > 1.5 {
		whisker := line(1, textColor)
		c.StrokeLine2(whisker, low, y, high, y)
		for _, x := range []vg.Length{low, high} {
			c.StrokeLine2(whisker, x, y-3.5, x, y+3.5)
		}
	}
	text := bar.valueText(b.axis.unit)
	write(c, name, high+gap, y, text)
	switch {
	case bar.note == "":
	case b.fitsInside(bar, p):
		write(c, insideStyle, left+gap, y, bar.note)
	default:
		write(c, oursStyle, high+gap+name.Width(text), y, between+bar.note)
	}
}

const between = "  ·  "

func (b bar) valueText(unit string) string {
	text := quantity.Format(b.value.Median, unit)
	if unit == "MB/s" {
		text += " " + unit
	}
	return text
}

// fitsInside reports whether a note has room on its bar.
func (b barPlotter) fitsInside(bar bar, p *plot.Plot) bool {
	length := vg.Length(p.X.Norm(b.axis.place(bar.value.P25))) * b.room * 0.7
	return insideStyle.Width(bar.note)+2*gap < length
}

// GlyphBoxes implements plot.GlyphBoxer: it has the plot leave room for the values.
func (b barPlotter) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var boxes []plot.GlyphBox
	for _, g := range b.fits {
		for _, bar := range g.bars {
			if bar.absent {
				continue
			}
			width := gap + bar.nameStyle().Width(bar.valueText(b.axis.unit))
			if bar.note != "" && !b.fitsInside(bar, p) {
				width += oursStyle.Width(between + bar.note)
			}
			boxes = append(boxes, plot.GlyphBox{
				X:         p.X.Norm(b.axis.place(bar.value.P75)),
				Rectangle: vg.Rectangle{Max: vg.Point{X: width}},
			})
		}
	}
	return boxes
}

// verticalGrid draws a line at each tick of a horizontal axis.
type verticalGrid struct{ axis axis }

// Plot implements plot.Plotter.
func (g verticalGrid) Plot(c draw.Canvas, p *plot.Plot) {
	for _, tick := range g.axis.ticks() {
		x := c.X(p.X.Norm(tick.Value))
		c.StrokeLine2(line(0.75, gridColor), x, c.Min.Y, x, c.Max.Y)
	}
}
