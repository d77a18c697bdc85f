package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"culvert/bench/internal/quantity"
)

// table returns the works of a topic in Markdown, a line for each peer. Each directory of results gives a column of
// times and speeds, and then one of processor times if it has any.
func (t topic) table(dirs []string) (string, error) {
	hosts, err := t.hosts(dirs)
	if err != nil {
		return "", err
	}
	head := []string{"work", "beside"}
	var columns [][]string
	for _, isCost := range []bool{false, true} {
		for i, dir := range dirs {
			cells, err := t.column(dir, isCost)
			if err != nil {
				return "", err
			}
			if !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
				continue
			}
			title := hosts[i]
			if isCost {
				title = "processor time, " + title
			}
			head, columns = append(head, title), append(columns, cells)
		}
	}
	if len(columns) == 0 {
		return "", fmt.Errorf("there is nothing in %s for a table", strings.Join(dirs, " and "))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	line := 0
	for _, w := range t.works {
		title := w.title
		for _, p := range w.peers {
			cells := []string{title, strings.ReplaceAll(p.name, "|", `\|`)}
			isMeasured := false
			for _, column := range columns {
				isMeasured = isMeasured || column[line] != ""
				cells = append(cells, cmp.Or(column[line], "–"))
			}
			line++
			if isMeasured {
				fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | "))
				title = ""
			}
		}
	}
	return table.String(), nil
}

// hosts says where the results of each directory come from: by the number of cores, and by name where two have as many.
func (t topic) hosts(dirs []string) ([]string, error) {
	titles, names := make([]string, len(dirs)), make([]string, len(dirs))
	times := map[string]int{}
	for i, dir := range dirs {
		for _, w := range t.works {
			r, err := readRecording(filepath.Join(dir, w.workload+".txt"))
			if err != nil {
				return nil, err
			}
			if len(r.samples) > 0 {
				titles[i] = r.facts["cores"] + " cores"
				names[i] = r.host()
				times[titles[i]]++
				break
			}
		}
	}
	for i, title := range titles {
		if times[title] > 1 {
			titles[i] = title + " (" + names[i] + ")"
		}
	}
	return titles, nil
}

// column returns the cells of all lines for a directory, with "" for what was not measured.
func (t topic) column(dir string, isCost bool) ([]string, error) {
	var cells []string
	for _, w := range t.works {
		all, err := readRecording(filepath.Join(dir, w.workload+".txt"))
		if err != nil {
			return nil, err
		}
		r := w.of(all)
		for _, p := range w.peers {
			cell := w.cell(r, p)
			if isCost {
				cell = w.costCell(r, p)
			}
			cells = append(cells, cell)
		}
	}
	return cells, nil
}

// cell returns the figure of a peer, ours, and how many times as fast ours is: "3.33 s → 0.97 s, **3.4 ×**". Of what is
// allocated, it returns how many times as much ours is.
func (w work) cell(r *recording, peer variant) string {
	ratio, ok := w.ratio(r, w.unit, peer)
	if !ok {
		return ""
	}
	suffix := ""
	if strings.HasSuffix(w.unit, "/s") {
		suffix = " " + w.unit
	}
	return fromTo(r, w.unit, peer, w.ours) + suffix + ", **" + times(ratio) + "**"
}

// costCell returns the same of the processor time of both ends together, for a GiB or for a file or a read, and how
// many times as much ours is.
func (w work) costCell(r *recording, peer variant) string {
	unit := "cpu-s/GiB"
	if len(r.values("cpu-µs/op")) > 0 {
		unit = "cpu-µs/op"
	}
	ratio, ok := w.ratio(r, unit, peer)
	if !ok {
		return ""
	}
	return fromTo(r, unit, peer, w.ours) + ", " + times(ratio)
}

// ratio compares the medians of ours and of a peer, which stand beside it. Of times and speeds, it is how many times as
// fast ours is; of other units, how many times as much it takes.
func (w work) ratio(r *recording, unit string, peer variant) (float64, bool) {
	ours, theirs := r.where("impl", w.ours.impl).values(unit), r.where("impl", peer.impl).values(unit)
	if len(ours) == 0 || len(theirs) == 0 {
		return 0, false
	}
	if unit == "ns/op" {
		ours, theirs = theirs, ours
	}
	return quantity.QuartilesOf(ours).Median / quantity.QuartilesOf(theirs).Median, true
}

// fromTo returns the medians of a peer and of ours.
func fromTo(r *recording, unit string, peer, ours variant) string {
	text := func(v variant) string {
		return quantity.Format(quantity.QuartilesOf(r.where("impl", v.impl).values(unit)).Median, unit)
	}
	return text(peer) + " → " + text(ours)
}

// times writes a ratio: "3.9 ×".
func times(ratio float64) string {
	switch {
	case ratio < 0.01:
		return fmt.Sprintf("%.4f ×", ratio)
	case ratio < 0.995:
		return fmt.Sprintf("%.2f ×", ratio)
	case ratio < 10:
		return fmt.Sprintf("%.1f ×", ratio)
	}
	return quantity.Format(ratio, "allocs/op") + " ×"
}
