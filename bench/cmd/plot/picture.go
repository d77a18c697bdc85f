package main

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"culvert/bench/internal/quantity"
)

// picture shows works as groups of horizontal bars, and is to be understood without a caption: what is ours is orange
// and the rest is quiet, and each time stands at its bar. Each group has a scale of its own, on which its longest bar
// takes the room; a shared one would leave nothing of the short works. Whiskers are quartiles.
type picture struct {
	title, subtitle string
	groups          []group
}

type group struct {
	title string
	bars  []bar
}

type bar struct {
	label  string
	isOurs bool
	value  quantity.Quartiles // nanoseconds
	note   string             // after the value: how long a peer takes beside ours
}

// picture collects what one directory of results has of a topic. Whatever it measures, all bars are times.
func (t topic) picture(dir string) (picture, error) {
	const unit = "ns/op"
	shown := &recording{}
	var groups []group
	for _, w := range t.works {
		all, err := readWorkloads(dir, w.workloads)
		if err != nil {
			return picture{}, err
		}
		r := w.of(all)
		if _, ok := w.ratio(r, unit, w.peers[0]); !ok || !strings.HasSuffix(w.unit, "/s") && w.unit != unit {
			continue
		}
		g := group{title: plain(w.title)}
		for _, v := range append(slices.Clone(w.peers), w.ours) {
			some := r.where("impl", v.impl)
			if len(some.samples) == 0 {
				continue
			}
			b := bar{label: plain(v.name), isOurs: v == w.ours, value: quantity.QuartilesOf(some.values(unit))}
			if ratio, ok := w.ratio(r, unit, v); ok && !b.isOurs {
				b.note = beside(ratio)
			}
			g.bars = append(g.bars, b)
			shown.samples = append(shown.samples, some.samples...)
		}
		groups = append(groups, g)
		shown.facts = r.facts
	}
	if len(groups) == 0 {
		return picture{}, fmt.Errorf("there is nothing in %s for a picture", dir)
	}
	date, _, _ := strings.Cut(shown.facts["date"], "T")
	cores := shown.facts["cores"]
	return picture{
		t.title,
		fmt.Sprintf("time: shorter is better, each group to its own scale  ·  %s, %s cores, %s  ·  "+
			"medians and quartiles of %s rounds",
			strings.TrimSuffix(shown.facts["host"], "-"+cores), cores, date, shown.rounds()),
		groups,
	}, nil
}

// beside says how long a peer takes when it takes ratio times as long as ours.
func beside(ratio float64) string {
	switch percent := math.Round(100 - 100*ratio); {
	case percent >= 5:
		return fmt.Sprintf("%.0f %% less time", percent)
	case ratio < 1.05:
		return "about as long"
	}
	return times(ratio) + " as long"
}

// plain takes the quotes of Markdown away.
func plain(markdown string) string { return strings.ReplaceAll(markdown, "`", "") }

const (
	width         = 600 // points: 800 pixels of a browser
	margin        = 14
	headingHeight = 48
	groupHeight   = 22 // of its title
	groupGap      = 9
	barPitch      = 22
	barWidth      = 15
	gap           = 6
	dpi           = 144 // 1200 pixels, for dense screens
)

func (p picture) height() vg.Length {
	height := vg.Length(headingHeight)
	for _, g := range p.groups {
		height += vg.Length(groupHeight + len(g.bars)*barPitch + groupGap)
	}
	return height
}

// save draws a picture into a file, in a directory that it makes.
func (p picture) save(name string) (err error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, p.height()+2*margin), vgimg.UseDPI(dpi))
	p.draw(draw.New(canvas))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.WriterTo(vgimg.PngCanvas{Canvas: canvas}).WriteTo(file)
	return errors.Join(err, file.Close())
}

// draw draws on white, so that the picture can be read on any background.
func (p picture) draw(all draw.Canvas) {
	fill(all, color.White, all.Min.X, all.Min.Y, all.Max.X, all.Max.Y)
	c := draw.Crop(all, margin, -margin, margin, -margin)
	title := titleStyle
	if width := title.Width(p.title); width > c.Size().X {
		title.Font.Size *= c.Size().X / width
	}
	write(c, title, c.Min.X, c.Max.Y-9, p.title)
	write(c, quietStyle, c.Min.X, c.Max.Y-28, p.subtitle)

	names := p.names()
	y := c.Max.Y - headingHeight
	for _, g := range p.groups {
		write(c, groupStyle, c.Min.X, y-groupHeight/2, g.title)
		y -= groupHeight
		scale := g.scale(c.Size().X - names)
		for _, b := range g.bars {
			b.draw(c, c.Min.X+names, y-barPitch/2, scale)
			y -= barPitch
		}
		y -= groupGap
	}
}

// names is the room on the left.
func (p picture) names() (widest vg.Length) {
	for _, g := range p.groups {
		for _, b := range g.bars {
			widest = max(widest, b.style().Width(b.label)+gap)
		}
	}
	return widest
}

// scale is the length of a nanosecond with which all bars and their values have room.
func (g group) scale(room vg.Length) float64 {
	scale := math.Inf(1)
	for _, b := range g.bars {
		scale = min(scale, float64(room-gap-b.style().Width(b.text()))/b.value.P75)
	}
	return scale
}

func (b bar) style() text.Style {
	if b.isOurs {
		return oursStyle
	}
	return labelStyle
}

func (b bar) text() string {
	value := quantity.Format(b.value.Median, "ns/op")
	if b.note == "" {
		return value
	}
	return value + "  ·  " + b.note
}

// draw draws a bar that begins at left, with its name before it and its value behind it.
func (b bar) draw(c draw.Canvas, left, y vg.Length, scale float64) {
	at := func(v float64) vg.Length { return left + vg.Length(v*scale) }
	style := b.style()
	write(c, style, left-gap-style.Width(b.label), y, b.label)
	of := peerColor
	if b.isOurs {
		of = oursColor
	}
	fill(c, of, left, y-barWidth/2.0, at(b.value.Median), y+barWidth/2.0)
	low, high := at(b.value.P25), at(b.value.P75)
	if high-low > 1.5 {
		whisker := draw.LineStyle{Color: textColor, Width: 1}
		c.StrokeLine2(whisker, low, y, high, y)
		for _, x := range []vg.Length{low, high} {
			c.StrokeLine2(whisker, x, y-3.5, x, y+3.5)
		}
	}
	write(c, style, high+gap, y, b.text())
}
