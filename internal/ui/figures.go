package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Figures are the counters of a command while it runs and when it has ended.
type Figures struct {
	Rows int64 // fewer than 0 where there are none to count
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

// line is the progress line: the figures so far, and when the end is to be expected if the total is known.
func (f Figures) line(elapsed time.Duration, total int64) string {
	parts := make([]string, 0, 6)
	if f.Rows >= 0 {
		parts = append(parts, Several(f.Rows, "row"))
	}
	parts = append(parts, Bytes(f.In)+" in", Bytes(f.Out)+" out", Rate(f.In, elapsed))
	if total > 0 && f.In > 0 {
		done := min(1, float64(f.In)/float64(total))
		left := time.Duration(float64(elapsed) * (1 - done) / done)
		parts = append(parts, fmt.Sprintf("%.0f %%", 100*done), Duration(left)+" left")
	}
	return strings.Join(parts, ", ")
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
