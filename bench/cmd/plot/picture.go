package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

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
		all, err := readRecording(filepath.Join(dir, w.workload+".txt"))
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
	return picture{
		t.title,
		fmt.Sprintf("time: shorter is better, own scale in each group · %s, %s cores, %s · "+
			"medians and quartiles of %s rounds",
			shown.host(), shown.facts["cores"], date, shown.rounds()),
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

// The sizes are in pixels.
const (
	width         = 800
	margin        = 18
	headingHeight = 64
	groupHeight   = 29 // of its title
	groupGap      = 12
	barPitch      = 29
	barWidth      = 20
	gap           = 8
	character     = 7.2 // of names and values, on average; what has room has it in most fonts
	boldCharacter = 8.2
)

// What is ours is the only strong colour.
const (
	oursColor  = "#d9480f"
	peerColor  = "#9fb1c5"
	textColor  = "#1f2933"
	quietColor = "#5c6b7a"
)

// svg draws on white, so that the picture can be read on any background.
func (p picture) svg() []byte {
	height := 2*margin + headingHeight
	names := 0.0 // the room on the left
	for _, g := range p.groups {
		height += groupHeight + len(g.bars)*barPitch + groupGap
		for _, b := range g.bars {
			names = max(names, room(b.label, b.isOurs))
		}
	}
	c := new(canvas)
	fmt.Fprintf(&c.Buffer, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "+
		"viewBox=\"0 0 %[1]d %[2]d\" font-family=\"Liberation Sans, Arial, Helvetica, sans-serif\">\n", width, height)
	c.fill("white", 0, 0, width, float64(height))
	c.text(margin, margin+12, "start", 22, true, textColor, p.title)
	c.text(margin, margin+38, "start", 13, false, quietColor, p.subtitle)
	y := float64(margin + headingHeight)
	for _, g := range p.groups {
		c.text(margin, y+groupHeight/2, "start", 16, true, textColor, g.title)
		y += groupHeight
		scale := g.scale(width - 2*margin - names)
		for _, b := range g.bars {
			c.bar(b, margin+names, y+barPitch/2, scale)
			y += barPitch
		}
		y += groupGap
	}
	c.WriteString("</svg>\n")
	return c.Bytes()
}

// room is what a name or a value takes, with the gap to its bar.
func room(words string, isBold bool) float64 {
	each := character
	if isBold {
		each = boldCharacter
	}
	return each*float64(utf8.RuneCountInString(words)) + gap
}

// scale is the length of a nanosecond with which all bars and their values have room.
func (g group) scale(width float64) float64 {
	scale := math.Inf(1)
	for _, b := range g.bars {
		scale = min(scale, (width-room(b.text(), b.isOurs))/b.value.P75)
	}
	return scale
}

func (b bar) text() string {
	value := quantity.Format(b.value.Median, "ns/op")
	if b.note == "" {
		return value
	}
	return value + " · " + b.note
}

// canvas is a picture in SVG.
type canvas struct{ bytes.Buffer }

// text writes words with the middle of their digits and capitals at y.
func (c *canvas) text(x, y float64, anchor string, size float64, isBold bool, color, words string) {
	weight := "normal"
	if isBold {
		weight = "bold"
	}
	fmt.Fprintf(&c.Buffer, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=%q font-size=\"%g\" font-weight=%q fill=%q>"+
		"%s</text>\n", x, y+0.36*size, anchor, size, weight, color, html.EscapeString(words))
}

// fill paints a rectangle.
func (c *canvas) fill(color string, x, y, width, height float64) {
	fmt.Fprintf(&c.Buffer, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=%q/>\n",
		x, y, width, height, color)
}

// bar draws a bar that begins at left, with its name before it and its value behind it.
func (c *canvas) bar(b bar, left, y, scale float64) {
	color, words := peerColor, textColor
	if b.isOurs {
		color, words = oursColor, oursColor
	}
	c.text(left-gap, y, "end", 14.5, b.isOurs, words, b.label)
	c.fill(color, left, y-barWidth/2, b.value.Median*scale, barWidth)
	low, high := b.value.P25*scale, b.value.P75*scale
	if high-low > 2 {
		c.fill(textColor, left+low, y-0.7, high-low, 1.4)
		c.fill(textColor, left+low-0.7, y-5, 1.4, 10)
		c.fill(textColor, left+high-0.7, y-5, 1.4, 10)
	}
	c.text(left+high+gap, y, "start", 14.5, b.isOurs, words, b.text())
}
