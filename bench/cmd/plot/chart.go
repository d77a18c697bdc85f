package main

import (
	"errors"
	"image/color"
	"io"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

var plotHandler = plot.DefaultTextHandler

// chart is a picture of one kind or another.
type chart interface {
	head() heading
	height() vg.Length
	draw(draw.Canvas)
}

// heading is what stands above a chart: the finding, and where and how it was measured.
type heading struct{ title, subtitle string }

func (h heading) head() heading { return h }

const (
	width         = 600 // points: 800 pixels of a browser
	margin        = 14
	headingHeight = 48
	dpi           = 192 // of a PNG, for dense screens: 1600 pixels
)

// drawWhole draws a chart and its heading on white, so that it can be read on any background.
func drawWhole(c chart, canvas vg.CanvasSizer) {
	all := draw.New(canvas)
	fill(all, color.White, all.Min.X, all.Min.Y, all.Max.X, all.Max.Y)
	inner := draw.Crop(all, margin, -margin, margin, -margin)
	h := c.head()
	title := titleStyle
	if width := title.Width(h.title); width > inner.Size().X {
		title.Font.Size *= inner.Size().X / width
	}
	write(inner, title, inner.Min.X, inner.Max.Y-9, h.title)
	write(inner, subtitleStyle, inner.Min.X, inner.Max.Y-28, h.subtitle)
	c.draw(draw.Crop(inner, 0, 0, 0, -headingHeight))
}

// save draws a chart into file.svg and file.png.
func save(c chart, file string) error {
	height := c.height() + headingHeight + 2*margin
	svg := vgsvg.New(width, height)
	drawWhole(c, svg)
	png := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	drawWhole(c, png)

	text, err := markup(svg)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".svg", text, 0o644); err != nil {
		return err
	}
	return writeFile(file+".png", vgimg.PngCanvas{Canvas: png})
}

func writeFile(name string, content io.WriterTo) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = content.WriteTo(file)
	return errors.Join(err, file.Close())
}
