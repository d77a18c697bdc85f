package doctor

import (
	"fmt"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

// Report is the report of culvert doctor.
type Report struct {
	command.Outcome
	Checks []check `json:"checks"`
}

// check is what was found about one thing that an export needs, or is better with.
type check struct {
	Name   string   `json:"name"`
	Result string   `json:"result"`
	Text   string   `json:"text"`
	Hints  []string `json:"hints,omitempty"`
}

// The results.
const (
	okResult     = "ok"
	warning      = "warning" // an export works all the same
	failedResult = "failed"
)

func (r *Report) add(name, result, text string, hints ...string) {
	r.Checks = append(r.Checks, check{Name: name, Result: result, Text: text, Hints: hints})
}

func (r *Report) ok(name, text string) { r.add(name, okResult, text) }

// Text implements [command.Report].
func (r *Report) Text() string {
	var b strings.Builder
	counts := map[string]int{}
	for _, c := range r.Checks {
		counts[c.Result]++
		fmt.Fprintf(&b, "%-7s  %-8s  %s\n", c.Result, c.Name, ui.Line(c.Text))
		for _, hint := range c.Hints {
			fmt.Fprintf(&b, "%19shint: %s\n", "", ui.Line(hint))
		}
	}
	end := "an export would work"
	if failed := ui.Several(int64(counts[failedResult]), "failed check"); !r.onlyTables() {
		end = "an export would fail: " + failed
	} else if counts[failedResult] > 0 {
		end = "an export would lack tables: " + failed
	}
	if counts[warning] > 0 {
		end += ", " + ui.Several(int64(counts[warning]), "warning")
	}
	b.WriteString("\n" + end + "\n")
	return b.String()
}

// onlyTables reports whether all checks that have failed, if any, are those of tables.
func (r *Report) onlyTables() bool {
	return !slices.ContainsFunc(r.Checks, func(c check) bool { return c.Result == failedResult && c.Name != "tables" })
}
