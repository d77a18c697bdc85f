package command

import (
	"fmt"

	"culvert/cmd/culvert/internal/ui"
)

// mostOmitted is how much of what is left out is named to people.
const mostOmitted = 10

// Omitted returns lines for people about what the tables of an export or a copy leave out, as
// [culvert/source.Omitted] says it.
func Omitted(omitted []string) (lines []string) {
	for i, what := range omitted {
		if i == mostOmitted && len(omitted) > mostOmitted+1 {
			return append(lines, fmt.Sprintf("%d more, which --json lists", len(omitted)-i))
		}
		lines = append(lines, ui.Line(what))
	}
	return lines
}

// WarnOmitted names what the tables of an export or a copy leave out.
func (a *App) WarnOmitted(omitted []string) {
	for _, line := range Omitted(omitted) {
		a.Console.Warn("left out: " + line)
	}
}
