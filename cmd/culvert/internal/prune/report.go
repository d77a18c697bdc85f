package prune

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/manifest"
)

// Report is the report of culvert prune.
type Report struct {
	command.Outcome
	Place   string   `json:"place,omitempty"`
	Yes     bool     `json:"yes"` // what is due was removed
	Exports []pruned `json:"exports"`

	incomplete bool // something could not be read or removed
}

// The results.
const (
	kept    = "kept"
	due     = "due" // it would be removed
	removed = "removed"
	failed  = "failed"
	left    = "left" // it is no export of which all is there
)

// pruned is what is in the place, and what has become of it.
type pruned struct {
	Name     string    `json:"name"`
	Result   string    `json:"result"`
	Keep     []string  `json:"keep,omitempty"` // the rules that keep it
	Database string    `json:"database,omitempty"`
	Begun    time.Time `json:"begun,omitzero"`
	Files    int       `json:"files,omitempty"`
	Bytes    int64     `json:"bytes,omitempty"`
	Error    string    `json:"error,omitempty"` // why it was left, or could not be removed

	manifest *manifest.Manifest
	marked   bool // an earlier run has begun to remove it
}

// Text implements [command.Report].
func (r *Report) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "\t", " ")
		}
		_, _ = io.WriteString(w, ui.Line(strings.Join(cells, "\t"))+"\n") // into memory
	}
	counts, bytes := map[string]int64{}, map[string]int64{}
	line("RESULT", "EXPORT", "DATABASE", "BEGUN", "SIZE", "WHY")
	for i := range r.Exports {
		e := &r.Exports[i]
		counts[e.Result]++
		bytes[e.Result] += e.Bytes
		if e.manifest == nil {
			line(e.Result, e.Name, "?", "?", "?", e.why())
			continue
		}
		line(e.Result, e.Name, e.Database, e.Begun.Local().Format("2006-01-02 15:04"), ui.Bytes(e.Bytes), e.why())
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\n%s kept", ui.Several(counts[kept], "export"))
	for _, result := range []string{due, removed, failed} {
		if counts[result] > 0 {
			fmt.Fprintf(&b, ", %s %s (%s)", ui.Count(counts[result]), result, ui.Bytes(bytes[result]))
		}
	}
	if counts[left] > 0 {
		fmt.Fprintf(&b, ", %s left", ui.Count(counts[left]))
	}
	if counts[due] > 0 && !r.Yes {
		b.WriteString("; nothing was removed: --yes removes what is due")
	}
	b.WriteByte('\n')
	return b.String()
}

// why says why an export has its result.
func (e *pruned) why() string {
	switch {
	case e.Error != "":
		return e.Error
	case e.marked:
		return "an earlier run has begun to remove it"
	case len(e.Keep) > 0:
		return strings.Join(e.Keep, ", ")
	}
	return "no rule keeps it"
}
