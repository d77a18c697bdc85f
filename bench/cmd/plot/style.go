package main

import (
	"image/color"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	plotfont "gonum.org/v1/plot/font"
)

// What is ours is the only strong colour.
var (
	oursColor  = color.RGBA{R: 0xd9, G: 0x48, B: 0x0f, A: 0xff}
	peerColor  = color.RGBA{R: 0x9f, G: 0xb1, B: 0xc5, A: 0xff}
	textColor  = color.RGBA{R: 0x1f, G: 0x29, B: 0x33, A: 0xff}
	quietColor = color.RGBA{R: 0x5c, G: 0x6b, B: 0x7a, A: 0xff}
)

var (
	titleStyle = styled(17, font.WeightBold, textColor)
	quietStyle = styled(10.5, font.WeightNormal, quietColor)
	groupStyle = styled(12, font.WeightBold, textColor)
	labelStyle = styled(11, font.WeightNormal, textColor)
	oursStyle  = styled(11, font.WeightBold, oursColor)
)

// styled gives a style whose text begins at its point and is centred on its height.
func styled(size vg.Length, weight font.Weight, c color.Color) text.Style {
	sans := plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size}
	return text.Style{Color: c, Font: sans, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
}

// write begins a text at x, with the middle of its digits and capitals at y.
func write(c draw.Canvas, style text.Style, x, y vg.Length, words string) {
	const capHeight = 0.72 // of the size of the font
	baseline := y - capHeight/2*style.Font.Size
	// The handler sets the line one font size up from this corner, less the ascent.
	style.YAlign = draw.YBottom
	c.FillText(style, vg.Point{X: x, Y: baseline + style.FontExtents().Ascent - style.Font.Size}, words)
}

// fill paints a rectangle between two corners.
func fill(c draw.Canvas, with color.Color, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(with, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}
