package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"culvert/bench/internal/quantity"
)

// codec shows encoders as points: how fast a core is, and how small the text becomes. Each kind of table has a panel.
type codec struct {
	recording *recording
	panels    []panel
}

type panel struct {
	table, title string
	points       []point
}

// point is an encoder. Those of one family are joined by a line.
type point struct {
	name, family string
	speed, ratio float64
}

// codecKinds are the panels, with the name of the table in the results.
var codecKinds = [][2]string{
	{"text", "text: titles and comments"},
	{"numbers", "numbers: times and readings"},
	{"uuids", "UUIDs: a key and two references"},
	{"json", "JSON Lines: events"},
	{"sparse", "sparse: 40 columns, 4 filled"},
}

// codecImpls are the encoders: the name in the results, in the picture and in the table, and the family.
var codecImpls = [][4]string{
	{"culvert", "Culvert", "Culvert", oursFamily},
	{"klauspost-fastest", "f", "klauspost, fastest", "klauspost"},
	{"klauspost-default", "d", "default", "klauspost"},
	{"klauspost-better", "b", "better", "klauspost"},
	{"zstd1", "1", "`zstd -1`", "zstd"},
	{"zstd2", "2", "`-2`", "zstd"},
	{"zstd3", "3", "`-3`", "zstd"},
	{"zstd4", "4", "`-4`", "zstd"},
	{"zstd5", "5", "`-5`", "zstd"},
	{"zstd6", "6", "`-6`", "zstd"},
	{"lz4", "lz4", "lz4", farFamily},
}

// What is far from all others is written into a corner, so that these have room.
const (
	oursFamily = "Culvert"
	farFamily  = "lz4"
)

// familyColors are those of points, lines and names.
var familyColors = map[string]string{
	oursFamily: oursColor, "klauspost": "#1971c2", "zstd": "#495057", farFamily: "#868e96",
}

// readCodec collects the medians of a directory of results.
func readCodec(dir string) (codec, error) {
	r, err := readRecording(filepath.Join(dir, "codec.txt"))
	if err != nil {
		return codec{}, err
	}
	c := codec{recording: r}
	for _, kind := range codecKinds {
		p := panel{table: kind[0], title: kind[1]}
		for _, impl := range codecImpls {
			some := r.where("table", kind[0], "impl", impl[0])
			if len(some.samples) == 0 {
				continue
			}
			p.points = append(p.points, point{
				impl[1], impl[3], quantity.QuartilesOf(some.values("MB/s")).Median,
				quantity.QuartilesOf(some.values("ratio")).Median,
			})
		}
		if len(p.points) > 0 {
			c.panels = append(c.panels, p)
		}
	}
	if len(c.panels) == 0 {
		return codec{}, fmt.Errorf("there is nothing in %s for a picture", dir)
	}
	return c, nil
}

const codecTitle = "How small and how fast: encoders on five kinds of tables"

// table has a line for each kind of table, and a column for each encoder.
func (c codec) table() string {
	head := []string{"MB/s of a core, ratio"}
	for _, impl := range codecImpls {
		head = append(head, impl[2])
	}
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	for _, p := range c.panels {
		cells := []string{p.table}
		for _, impl := range codecImpls {
			cell := "–"
			for _, at := range p.points {
				if at.name == impl[1] {
					cell = fmt.Sprintf("%.0f, %.2f", at.speed, at.ratio)
				}
			}
			if impl[3] == oursFamily {
				cell = "**" + cell + "**"
			}
			cells = append(cells, cell)
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
	}
	return text.String()
}

// The panels are in two columns. Each has room for its title above and the numbers of its axes.
const (
	panelWidth, panelHeight = 374, 268
	plotLeft, plotTop       = 40, 34
	plotRight, plotBottom   = 12, 34
)

func (c codec) svg() []byte {
	rows := (len(c.panels) + 2) / 2 // the last has room for the key
	height := 2*margin + headingHeight + rows*panelHeight
	out := new(canvas)
	fmt.Fprintf(&out.Buffer, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "+
		"viewBox=\"0 0 %[1]d %[2]d\" font-family=\"Liberation Sans, Arial, Helvetica, sans-serif\">\n", width, height)
	out.fill("white", 0, 0, width, float64(height))
	out.text(margin, margin+12, "start", 22, true, textColor, codecTitle)
	date, _, _ := strings.Cut(c.recording.facts["date"], "T")
	out.text(margin, margin+38, "start", 13, false, quietColor, fmt.Sprintf("ratio over speed of one core: up and "+
		"right is better · frames of 1 MiB · %s, %s · medians of %s rounds",
		c.recording.host(), date, c.recording.rounds()))
	at := func(i int) (x, y float64) {
		return float64(margin + i%2*(width-2*margin-panelWidth)), float64(margin + headingHeight + i/2*panelHeight)
	}
	for i, p := range c.panels {
		x, y := at(i)
		p.draw(out, x, y)
	}
	x, y := at(len(c.panels))
	out.key(x+plotLeft, y+plotTop+30)
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// key says what the colours mean.
func (c *canvas) key(x, y float64) {
	for _, line := range [][2]string{
		{oursFamily, "Culvert's encoder"},
		{"klauspost", "klauspost/compress: fastest, default, better"},
		{"zstd", "zstd -1 to -6, of the C library"},
		{farFamily, "lz4 -1, of the C library, in the corner"},
	} {
		c.dot(x, y, line[0])
		c.text(x+14, y, "start", 13, line[0] == oursFamily, familyColors[line[0]], line[1])
		y += 26
	}
}

func (c *canvas) dot(x, y float64, family string) {
	radius := 4.0
	if family == oursFamily {
		radius = 6.5
	}
	fmt.Fprintf(&c.Buffer, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=%q/>\n", x, y, radius, familyColors[family])
}

func (c *canvas) line(x1, y1, x2, y2, wide float64, color string) {
	fmt.Fprintf(&c.Buffer, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke-width=\"%g\" stroke=%q/>\n",
		x1, y1, x2, y2, wide, color)
}

// draw draws the panel. Speeds are on a logarithmic scale, the same in all panels.
func (p panel) draw(c *canvas, left, top float64) {
	const slowest, fastest = 45.0, 500.0
	least, most := math.Inf(1), 0.0
	near, far := p.split()
	for _, at := range near {
		least, most = min(least, at.ratio), max(most, at.ratio)
	}
	step := stepOf(most - least)
	least, most = math.Floor(least/step-0.7)*step, math.Ceil(most/step+0.3)*step
	x0, x1 := left+plotLeft, left+panelWidth-plotRight
	y0, y1 := top+plotTop, top+panelHeight-plotBottom
	x := func(speed float64) float64 {
		return x0 + (x1-x0)*math.Log(speed/slowest)/math.Log(fastest/slowest)
	}
	y := func(ratio float64) float64 { return y1 - (y1-y0)*(ratio-least)/(most-least) }
	c.text(left, top+14, "start", 16, true, textColor, p.title)
	const grid = "#e9ecef"
	for ratio := least; ratio <= most+step/2; ratio += step {
		c.line(x0, y(ratio), x1, y(ratio), 1, grid)
		c.text(x0-6, y(ratio), "end", 12, false, quietColor, fmt.Sprintf("%.1f", ratio))
	}
	for _, speed := range []float64{50, 100, 200, 400} {
		c.line(x(speed), y0, x(speed), y1, 1, grid)
		name := fmt.Sprintf("%.0f", speed)
		if speed == 400 {
			name += " MB/s"
		}
		c.text(min(x(speed), x1-14), y1+13, "middle", 12, false, quietColor, name)
	}
	for _, at := range far {
		c.text(x1-4, y1-12, "end", 12, false, familyColors[at.family],
			fmt.Sprintf("%s: %.0f MB/s, %.2f", at.name, at.speed, at.ratio))
	}
	for i, at := range near[1:] {
		if before := near[i]; before.family == at.family {
			c.line(x(before.speed), y(before.ratio), x(at.speed), y(at.ratio), 1.6, familyColors[at.family])
		}
	}
	for _, at := range near {
		c.dot(x(at.speed), y(at.ratio), at.family)
		switch at.family {
		case oursFamily:
			c.text(x(at.speed)+9, y(at.ratio), "start", 13, true, oursColor, at.name)
		case "zstd":
			c.text(x(at.speed), y(at.ratio)+12, "middle", 12, false, familyColors[at.family], at.name)
		default:
			c.text(x(at.speed)-4, y(at.ratio)-11, "middle", 12, false, familyColors[at.family], at.name)
		}
	}
}

// split tells what is far from all others.
func (p panel) split() (near, far []point) {
	for _, at := range p.points {
		if at.family == farFamily {
			far = append(far, at)
		} else {
			near = append(near, at)
		}
	}
	return near, far
}

// stepOf is the distance of about five lines.
func stepOf(span float64) float64 {
	for _, step := range []float64{0.1, 0.2, 0.5, 1, 2} {
		if span/step <= 6 {
			return step
		}
	}
	return 5
}
