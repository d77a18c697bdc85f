package ui

import (
	"bytes"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

const (
	mostRows = 10 // of tasks under way, to leave the rest of the screen alone
	barWidth = 40 // at most, so that the figures are near the name
	narrow   = 72 // columns, below which amounts are left out,
	tiny     = 48 // and below which rates are too
)

// bars draws figures as lines with bars. mpb aligns the columns and cuts the lines to the width of the terminal. The
// console puts them on the screen, since it writes the messages too.
type bars struct {
	console      *Console
	container    *mpb.Progress
	refresh      chan any      // mpb renders all rows for each value,
	drawn        chan struct{} // and sends one when they are drawn
	rows         []*figures    // as many as were ever drawn at once; unused ones are zero
	bytes.Buffer               // the lines of the next frame
}

func newBars(console *Console) *bars {
	b := &bars{console: console, refresh: make(chan any), drawn: make(chan struct{})}
	b.container = mpb.New(mpb.WithConsoleWriter(b), mpb.WithManualRefresh(b.refresh))
	return b
}

// show draws the tasks under way and the total beneath them.
func (b *bars) show(total figures, active []figures) {
	width, height := b.console.size()
	rows := active
	if room := min(mostRows, max(1, height-3)); len(active) > room {
		hidden := len(active) - room + 1
		rows = append(slices.Clone(active[:room-1]), figures{name: "and " + Count(int64(hidden)) + " more"})
	}
	rows = append(rows, total)
	for len(b.rows) < len(rows) {
		b.addRow()
	}
	for i, row := range b.rows {
		if *row = (figures{}); i < len(rows) {
			*row = rows[i]
			row.name = shorten(b.console.clean(row.name), max(12, width/4))
		}
		if width < narrow {
			row.amount = ""
		}
		if width < tiny {
			row.rate = ""
		}
	}
	b.refresh <- nil
	<-b.drawn
}

// close removes the bars from the screen.
func (b *bars) close() {
	b.container.Shutdown()
	b.console.draw(nil)
}

func (b *bars) addRow() {
	row := new(figures)
	b.rows = append(b.rows, row)
	column := func(gap string, text *string, align int) decor.Decorator {
		padded := func(decor.Statistics) string { return gap[:min(len(gap), len(*text))] + *text }
		return decor.Any(padded, decor.WC{C: align})
	}
	_, err := b.container.Add(0, row.filler(), mpb.BarWidth(barWidth),
		mpb.PrependDecorators(column("", &row.name, decor.DSyncWidthR)),
		mpb.AppendDecorators(
			column(" ", &row.percent, decor.DSyncWidth), column("  ", &row.amount, decor.DSyncWidth),
			column("  ", &row.rate, decor.DSyncWidth), column("  ", &row.left, decor.DSyncWidth),
		))
	if err != nil {
		panic(err) // the container is closed
	}
}

// filler returns the function that draws the bar of a row. It draws blanks if the part that is done is unknown, and if
// there is no room.
func (f *figures) filler() mpb.BarFillerFunc {
	const scale = 1 << 20
	paint := func(text string) string { return text }
	if os.Getenv("NO_COLOR") == "" {
		paint = func(text string) string { return "\x1b[32m" + text + "\x1b[m" }
	}
	bar := mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░").
		FillerMeta(paint).TipMeta(paint).Build()
	return func(w io.Writer, s decor.Statistics) error {
		if f.percent == "" || s.AvailableWidth < 4 {
			_, err := io.WriteString(w, strings.Repeat(" ", min(barWidth, s.AvailableWidth)))
			return err
		}
		s.Total, s.Current = scale, int64(scale*f.done)
		return bar.Fill(w, s)
	}
}

// IsTerminal has mpb ask for the size of the terminal.
func (b *bars) IsTerminal() bool { return true }

// GetTermSize leaves the last column free, since some terminals go to the next line when it is filled. Rows are
// limited by show.
func (b *bars) GetTermSize() (width, height int, err error) {
	width, _ = b.console.size()
	return width - 1, math.MaxInt, nil
}

// Flush draws the rows that mpb has rendered.
func (b *bars) Flush(int) error {
	var lines []string
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	b.Reset()
	b.console.draw(lines)
	b.drawn <- struct{}{}
	return nil
}
