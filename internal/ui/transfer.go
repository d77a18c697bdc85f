package ui

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Transfer is how far a transfer of files is.
type Transfer struct {
	Files, Of int64          // that are there, of those that were found
	Moved     int64          // bytes that came over the connection
	Left      int64          // bytes that are still to come, if Done is known
	Done      float64        // the part of all bytes that is there, and 0 if that is not known
	Active    []TransferFile // the larger ones under way
}

// TransferFile is a file under way.
type TransferFile struct {
	Name string
	Done float64
}

// line is the progress line of a transfer: all, and the first of the files under way. Its name is what gives way if
// there is no room.
func (t *Transfer) line(elapsed time.Duration) string {
	const width, shortest = 79, 8
	const longest = 1000 * time.Hour
	files := Count(t.Files) + "/" + Several(t.Of, "file")
	parts := []string{files, Bytes(t.Moved), Rate(t.Moved, elapsed)}
	if t.Done > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %%", math.Floor(100*min(1, t.Done))))
		// What an earlier run has transferred says nothing of the speed of this one.
		if rest := float64(elapsed) * float64(t.Left) / float64(t.Moved); t.Moved > 0 && rest < float64(longest) {
			parts = append(parts, Duration(time.Duration(rest))+" left")
		}
	}
	all := strings.Join(parts, ", ")
	if len(t.Active) == 0 {
		return all
	}
	file := &t.Active[0]
	figures := fmt.Sprintf(" %.0f %%", math.Floor(100*min(1, file.Done)))
	if more := len(t.Active) - 1; more > 0 {
		figures += fmt.Sprintf(" and %d more", more)
	}
	name := []rune(strings.ReplaceAll(Line(file.Name), "\t", " "))
	if room := max(shortest, width-utf8.RuneCountInString(all+"; "+figures)); len(name) > room {
		name = append(name[:room-1], '…')
	}
	return all + "; " + string(name) + figures
}
