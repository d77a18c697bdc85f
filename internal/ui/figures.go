package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Figures are the counters of a command while it runs and when it has ended.
type Figures struct {
	Rows int64 // fewer than 0 where there are none to count
	In   int64 // bytes read, or, of an export, the text of the rows
	Out  int64 // bytes written

	// Done is the part of the work that has been done, and 0 or less if that is not known. Where Progress has a Total,
	// that counts.
	Done float64

	Table Table // the one at work, where there are several

	Transfer *Transfer // of files: its figures take the place of the others in the progress line
}

// Table is one of several tables at work.
type Table struct {
	Name       string
	Number, Of int // from 1; 0 if there are not several
	In         int64
	Done       float64 // as in Figures
	Elapsed    time.Duration
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

// line is the progress line: the figures so far, and when the end is to be expected if that can be told.
func (f Figures) line(elapsed time.Duration, total int64) string {
	if f.Transfer != nil {
		return f.Transfer.line(elapsed)
	}
	if total > 0 {
		f.Done = float64(f.In) / float64(total)
	}
	if f.Table.Of > 0 {
		return f.tablesLine(elapsed)
	}
	parts := make([]string, 0, 6)
	if f.Rows >= 0 {
		parts = append(parts, Several(f.Rows, "row"))
	}
	parts = append(parts, Bytes(f.In)+" in", Bytes(f.Out)+" out", Rate(f.In, elapsed))
	return strings.Join(append(parts, left(f.Done, elapsed)...), ", ")
}

// tablesLine is the progress line of several tables: the one at work, and all. Its name is what gives way if there is
// no room.
func (f Figures) tablesLine(elapsed time.Duration) string {
	const width, shortest = 79, 8
	t := f.Table
	one := strings.Join(append([]string{Rate(t.In, t.Elapsed)}, left(t.Done, t.Elapsed)...), ", ")
	all := strings.Join(left(f.Done, elapsed), ", ")
	if all == "" {
		all = Several(f.Rows, "row")
	}
	number := fmt.Sprintf("%d/%d ", t.Number, t.Of)
	figures := ": " + one + "; all: " + all
	name := []rune(strings.ReplaceAll(Line(t.Name), "\t", " "))
	if room := max(shortest, width-utf8.RuneCountInString(number+figures)); len(name) > room {
		name = append(name[:room-1], '…')
	}
	return number + string(name) + figures
}

// left says how much is done, and how long the rest will take if it goes on like this. It says nothing that it does not
// know: no time before there is something to judge by, or when all that was expected is done.
func left(done float64, elapsed time.Duration) []string {
	const (
		longest = 1000 * time.Hour
		enough  = 0.01            // of the work, to judge by
		settled = 5 * time.Second // after which less is enough
	)
	if !(done > 0) {
		return nil
	}
	parts := []string{fmt.Sprintf("%.0f %%", math.Floor(100*min(1, done)))}
	rest := float64(elapsed) * (1 - done) / done
	if done < 1 && (done >= enough || elapsed >= settled) && rest < float64(longest) {
		parts = append(parts, Duration(time.Duration(rest))+" left")
	}
	return parts
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
