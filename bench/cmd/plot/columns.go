package main

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// columns are the same bars of several runs, side by side on the same scale. The names are on the left of all.
type columns struct {
	heading
	axis   axis
	titles []string
	runs   [][]group // as many groups in each, with bars of the same names
}

const (
	columnTitle = 20
	columnGap   = 18
	labelHeight = 12 // of the axis
)

// column returns a run without the label of the axis, which stands once below all.
func (c *columns) column(i int) *bars {
	one := &bars{c.heading, c.axis, c.runs[i]}
	one.axis.label = ""
	return one
}

func (c *columns) height() vg.Length { return c.column(0).height() + columnTitle }

func (c *columns) draw(canvas draw.Canvas) {
	names := c.column(0).namesWidth()
	gaps := vg.Length(len(c.runs)-1) * columnGap
	width := (canvas.Size().X - names - gaps) / vg.Length(len(c.runs))
	for i, title := range c.titles {
		left := names + vg.Length(i)*(width+columnGap)
		column := draw.Crop(canvas, left, left+width-canvas.Size().X, 0, 0)
		write(column, groupStyle, column.Min.X, column.Max.Y-columnTitle/2, title)
		room := vg.Length(0) // of the names, which only the first column has
		if i == 0 {
			room = names
		}
		b := c.column(i)
		// All columns leave room for the same values, so that they have the same scale.
		as := barPlotter{b, room, width, i == 0, slices.Concat(c.runs...)}
		b.drawAs(draw.Crop(canvas, left-room, left+width-canvas.Size().X, labelHeight, -columnTitle), as)
	}
	write(canvas, tickStyle, canvas.Min.X+names, canvas.Min.Y+labelHeight/2, c.axis.label)
}
