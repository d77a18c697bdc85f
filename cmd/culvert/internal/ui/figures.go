package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Figures are the counters of a command while it runs and when it has ended.
type Figures struct {
	Rows int64 // NoRows if there are none to count
	In   int64 // bytes read, or, of an export, the text of the rows
	Out  int64 // bytes written
}

// NoRows is the number of rows of a command that counts none.
const NoRows = -1

// Summary is the last line of a command: rows, bytes in and out, speed, time and peak memory.
func (f Figures) Summary(elapsed time.Duration, peakMemory int64) string {
	parts := make([]string, 0, 6)
	if f.Rows >= 0 {
		parts = append(parts, Several(f.Rows, "row"))
	}
	return strings.Join(append(parts,
		Bytes(f.In)+" in",
		Bytes(f.Out)+" out",
		Rate(f.In, elapsed),
		Duration(elapsed),
		"peak memory "+Memory(peakMemory)), ", ")
}

// figures are what is shown of a task. What is unknown is empty.
type figures struct {
	name, percent, amount, rate, left string
	done                              float64
}

// pace measures the speed of a task over the last ten to twenty seconds.
type pace struct{ base, next sample }

type sample struct {
	at    time.Time
	bytes int64
	done  float64
}

// measure returns the figures of a task. There is no rate before the second sample, and no time left before there is
// something to judge by.
func (p *pace) measure(t Task, now time.Time) figures {
	const (
		window  = 10 * time.Second
		longest = 1000 * time.Hour
		enough  = 0.01            // of the work, to judge by
		settled = 5 * time.Second // after which less is enough
	)
	f := figures{name: t.Name, amount: t.Amount}
	if f.amount == "" {
		f.amount = Bytes(t.Bytes)
	}
	if t.Done > 0 || t.Left > 0 {
		f.done = max(0, min(1, t.Done))
		f.percent = fmt.Sprintf("%.0f %%", math.Floor(100*f.done))
	}
	if p.base.at.IsZero() {
		p.base = sample{now, t.Bytes, max(0, t.Done)}
		p.next = p.base
	}
	elapsed := now.Sub(p.base.at)
	if elapsed <= 0 {
		return f
	}
	moved, done := t.Bytes-p.base.bytes, t.Done-p.base.done
	f.rate = Rate(moved, elapsed)
	rest := float64(elapsed) * (1 - t.Done) / done
	if t.Left > 0 {
		rest = float64(elapsed) * float64(t.Left) / float64(moved)
	}
	if f.done < 1 && (done >= enough || elapsed >= settled) && rest > 0 && rest < float64(longest) {
		f.left = roughly(time.Duration(rest)) + " left"
	}
	if now.Sub(p.next.at) >= window {
		p.base, p.next = p.next, sample{now, t.Bytes, max(0, t.Done)}
	}
	return f
}

// line returns figures as a line for a log: all, and the first of the tasks under way.
func line(total figures, active []figures) string {
	parts := slices.DeleteFunc([]string{total.amount, total.rate, total.percent, total.left},
		func(part string) bool { return part == "" })
	text := strings.Join(parts, ", ")
	if total.name != "" {
		text = shorten(total.name, 80) + ": " + text
	}
	if len(active) > 0 {
		text += "; " + strings.TrimRight(shorten(active[0].name, 40)+" "+active[0].percent, " ")
	}
	if more := len(active) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// shorten returns a name as one line of at most n characters.
func shorten(name string, n int) string {
	runes := []rune(Name(name))
	if len(runes) > n {
		runes = append(runes[:n-1], '…')
	}
	return string(runes)
}

// roughly returns an estimated time in whole seconds.
func roughly(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", math.Ceil(d.Seconds()))
	}
	return Duration(d)
}

// Count is a number with its digits in groups of three.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// Several is a number of things, such as "1 row" or "2,000 rows".
func Several(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(n) + " " + thing + "s"
}

// Bytes is a size in the decimal units that disks and networks are sold by.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB"} {
		size /= 1000
		// The bound is where one decimal would be rounded up to 1000.0.
		if size < 999.95 {
			return fmt.Sprintf("%.1f %s", size, unit)
		}
	}
	return fmt.Sprintf("%.1f EB", size/1000)
}

// Memory is a size in the binary unit that memory is counted by, or "unknown" if n is 0.
func Memory(n int64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Rate is a speed in MB/s, always in this unit so that lines can be compared.
func Rate(n int64, elapsed time.Duration) string {
	if elapsed <= 0 {
		return "0.0 MB/s"
	}
	return fmt.Sprintf("%.1f MB/s", float64(n)/1e6/elapsed.Seconds())
}

// Duration is a time with the precision that people care for.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
