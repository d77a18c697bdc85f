package main

import (
	"fmt"
	"slices"
	"strings"

	"culvert/bench/internal/quantity"
)

// costRow is a group of bars in a figure of costs.
type costRow struct {
	title  string
	of     func(*recording) *recording
	impls  []string // the limit of the machine, the peers, and ours last
	floor  string   // the limit of the machine, if its name does not say so
	peer   string   // that ours is compared with
	labels map[string]string
	found  string // what the title of the figure calls the work; "" if it does not name it
}

// costFigure shows what the same work costs on several numbers of cores.
type costFigure struct {
	name      string
	workloads string
	unit      string
	axis      string
	what      string // in the sub-title
	rows      []costRow
}

// costFigures are drawn of one directory of results, or of several side by side.
var costFigures = []costFigure{
	{
		"cost", "secureconn transfer fusefs", "cpu-s/GiB", "processor seconds per GiB, both ends; less is better",
		"loopback",
		[]costRow{
			{
				"a connection in one program, writes of 1 MiB",
				func(r *recording) *recording { return r.of("Stream").where("conns", "1", "write", "1048576") },
				[]string{"tcp", "tls", "culvert"},
				"tcp", "tls", linkLabels, "",
			},
			{
				"1 GiB pulled",
				func(r *recording) *recording { return r.of("Pull").where("path", "loopback", "files", "1") },
				pullOrder, "", "scp", pullLabels, "pull",
			},
			{
				"1 GiB read through a mount, cold",
				func(r *recording) *recording { return r.of("MountRead").where("cache", "cold") },
				[]string{"gofuse", "sshfs", "culvert"},
				"", "sshfs", mountLabels, "mount",
			},
			{
				"1 GiB written into a mount",
				func(r *recording) *recording { return r.of("MountWrite") },
				[]string{"sshfs", "culvert"},
				"", "sshfs", mountLabels, "",
			},
			{
				"an encrypted export read through a mount",
				func(r *recording) *recording { return r.of("MountDecrypt") },
				[]string{"tools", "culvert-decrypt"},
				"", "tools", mountLabels, "",
			},
		},
	},
	{
		"cost-operations", "transfer fusefs", "cpu-µs/op", "processor time per operation, both ends; less is better",
		"loopback",
		[]costRow{
			{
				"small files pulled, per file",
				func(r *recording) *recording { return r.of("Pull").where("path", "loopback") },
				pullOrder, "", "rsync", pullLabels, "files",
			},
			{
				"grep -r of small files, per file",
				func(r *recording) *recording { return r.of("MountGrep") },
				[]string{"sshfs", "culvert"},
				"", "sshfs", mountLabels, "grep",
			},
			{
				"ls -lR, per file",
				func(r *recording) *recording { return r.of("MountList") },
				[]string{"sshfs", "culvert"},
				"", "sshfs", mountLabels, "",
			},
			{
				"4 KiB at random, 16 threads, per read",
				func(r *recording) *recording { return r.of("MountRandom") },
				[]string{"gofuse", "sshfs", "culvert"},
				"", "sshfs", mountLabels, "random reads",
			},
		},
	},
	{
		"cost-export", "export tables", "cpu-s/GiB",
		"processor seconds per GiB of CSV, with the database; less is better", "from PostgreSQL",
		[]costRow{
			exportCost("zstd", "export"),
			exportCost("gzip", "with gzip"),
			{
				"eight tables at once, four connections",
				func(r *recording) *recording { return r.of("Tables") },
				[]string{"pg_dump", "culvert"},
				"", "pg_dump", tablesLabels, "",
			},
		},
	},
	{
		"cost-load", "load", "cpu-s/GiB", "processor seconds per GiB of CSV, with the database; less is better",
		"encrypted files to tables",
		[]costRow{
			loadRows[0].cost("load"), loadRows[1].cost("with four connections"), loadRows[2].cost(""),
			loadRows[3].cost(""), loadRows[4].cost(""), loadRows[5].cost(""),
		},
	},
}

func exportCost(compression, found string) costRow {
	return costRow{
		"a table to an encrypted file, " + compression,
		func(r *recording) *recording {
			return r.of("Export").where("source", "postgres", "compression", compression)
		},
		[]string{"tools", "culvert"},
		"", "tools", exportLabels(compression), found,
	}
}

// draw draws a column for each recording that has costs. It returns nil if none has the cost of ours.
func (f costFigure) draw(runs []*recording) chart {
	runs = slices.DeleteFunc(runs, func(r *recording) bool {
		return !slices.ContainsFunc(f.rows, func(row costRow) bool { return len(row.of(r).with(f.unit).samples) > 0 })
	})
	c := &columns{axis: axis{label: f.axis, unit: f.unit}}
	shown := make([]*recording, len(runs))
	for i, r := range runs {
		shown[i] = &recording{facts: r.facts}
		c.titles = append(c.titles, cores(r.facts["cores"]))
		c.runs = append(c.runs, nil)
	}
	var found []string
	for _, row := range f.rows {
		groups, ratios := row.bars(f.unit, runs, shown)
		if len(ratios) == 0 {
			continue
		}
		for i, g := range groups {
			c.runs[i] = append(c.runs[i], g)
		}
		if row.found != "" {
			found = append(found, fmt.Sprintf("%s %s × %s", row.found, and(ratios), row.peer))
		}
	}
	if len(found) == 0 {
		return nil
	}
	c.axis = fit(c.axis, slices.Concat(c.runs...))
	c.heading = heading{"Processor time: " + strings.Join(found, ", "), f.measured(shown)}
	if len(runs) == 1 {
		return &bars{c.heading, c.axis, c.runs[0]}
	}
	return c
}

// and joins words: "0.63, 0.59 and 0.61".
func and(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// measured is the sub-title of several runs.
func (f costFigure) measured(runs []*recording) string {
	if len(runs) == 1 {
		return measured(runs[0], f.what)
	}
	each := func(value func(*recording) string) string {
		var values []string
		for _, r := range runs {
			values = append(values, value(r))
		}
		return and(slices.Compact(values))
	}
	fact := func(name string) string { return each(func(r *recording) string { return r.facts[name] }) }
	dates := each(func(r *recording) string {
		date, _, _ := strings.Cut(r.facts["date"], "T")
		return date
	})
	return fmt.Sprintf("%s  ·  %s  ·  %s cores  ·  %s  ·  medians and quartiles of %s rounds",
		f.what, fact("host"), fact("cores"), dates, each((*recording).rounds))
}

// bars returns the group of a row for each run, and the ratio of our cost to the peer's. It adds the samples to shown.
func (row costRow) bars(unit string, runs, shown []*recording) (groups []group, ratios []string) {
	c := comparison{labels: row.labels}
	groups = make([]group, len(runs))
	for _, impl := range row.impls {
		bars := make([]bar, len(runs))
		isMeasured := false
		for i, r := range runs {
			some := row.of(r).where("impl", impl).with(unit)
			shown[i].samples = append(shown[i].samples, some.samples...)
			b := bar{label: c.label(impl), role: roleOf(impl), absent: len(some.samples) == 0}
			if impl == row.floor {
				b.role = limit
			}
			if !b.absent {
				isMeasured = true
				b.value = quantity.QuartilesOf(some.values(unit))
			}
			peers := row.of(r).where("impl", row.peer).values(unit)
			if b.role == ours && !b.absent && len(peers) > 0 {
				ratio := times(quantity.QuartilesOf(quantity.Ratios(some.values(unit), peers)).Median)
				b.note = ratio
				if len(runs) <= 2 { // more columns have no room for the name
					b.note += " " + row.peer
				}
				ratios = append(ratios, strings.TrimSuffix(ratio, " ×"))
			}
			bars[i] = b
		}
		for i := range groups {
			groups[i].title = row.title
			if isMeasured {
				groups[i].bars = append(groups[i].bars, bars[i])
			}
		}
	}
	return groups, ratios
}
