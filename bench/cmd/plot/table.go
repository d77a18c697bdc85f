package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"culvert/bench/internal/quantity"
)

// tableRow is work that Culvert and others do, in the README's table of figures.
type tableRow struct {
	work      string
	workloads string
	of        func(*recording) *recording
	unit      string // of speed or time
	ours      string // the variant
	peers     []tablePeer
}

type tablePeer struct{ impl, name string }

// tableRows are those of the README, in its order.
var tableRows = []tableRow{
	exported("3 million rows, 499 MB of CSV, zstd, encrypted", "Parallel", "csv", "zstd",
		"`psql \\| zstd -3 -T0 \\| age`"),
	exported("the same in the order of the table (`--ordered`)", "Export", "csv", "zstd", "the same"),
	exported("the same with gzip", "Parallel", "csv", "gzip", "`psql \\| gzip \\| age`"),
	exported("the same as JSON Lines, zstd", "Parallel", "jsonl", "zstd", "`psql`, row_to_json, `\\| zstd \\| age`"),
	{
		"8 tables with as many rows, zstd, encrypted", "tables",
		func(r *recording) *recording { return r.of("Tables") }, "ns/op", "culvert",
		[]tablePeer{{"pg_dump", "`pg_dump -Fd -j 4`, gzip"}},
	},
	{
		"SQLite, a million rows to plain CSV", "sqlite",
		func(r *recording) *recording { return r.of("Export") }, "ns/op", "culvert",
		[]tablePeer{{"sqlite3", "`sqlite3 -csv`"}},
	},
	loadedInto("3 million rows from such a file into PostgreSQL, one connection", loadRows[0].of, "culvert",
		tablePeer{"tools", "`age -d \\| zstd -d \\| psql`"}),
	loadedInto("the same with `--create`, frozen", loadRows[0].of, "culvert-create", tablePeer{"tools", "the same"}),
	loadedInto("the same into an empty table, four connections", loadRows[1].of, "culvert",
		tablePeer{"tools", "the same"},
		tablePeer{"timescaledb-parallel-copy", "`age -d \\| zstd -d \\| timescaledb-parallel-copy`"}),
	loadedInto("8 tables with indexes, made and loaded", loadRows[2].of, "culvert",
		tablePeer{"pg_restore", "`pg_restore -j 4`, gzip, not encrypted"}),
	loadedInto("8 tables copied to another server, verified", loadRows[3].of, "culvert",
		tablePeer{"pgcopydb", "`pgcopydb copy table-data`"}),
	loadedInto("a million rows into SQLite", loadRows[4].of, "culvert",
		tablePeer{"tools", "`age -d \\| zstd -d \\| sqlite3`"}),
	loadedInto("a million rows into MariaDB", loadRows[5].of, "culvert",
		tablePeer{"tools", "`age -d \\| zstd -d \\| mariadb-import`"}),
	{
		"`secureconn`: loopback, writes of 1 MiB, one connection", "secureconn",
		func(r *recording) *recording { return r.of("Stream").where("conns", "1", "write", "1048576") },
		"MB/s", "culvert",
		[]tablePeer{{"tls", "`crypto/tls`"}, {"tcp", "TCP without encryption"}},
	},
	{
		"`culvert pull` of 1 GiB over loopback, verified and synced", "transfer",
		func(r *recording) *recording { return r.of("Pull").where("path", "loopback", "files", "1") },
		"ns/op", "culvert",
		[]tablePeer{
			{"scp", "`scp -c aes128-gcm`"},
			{"rsync", "`rsync -W` over ssh"},
			{"cp-sync", "`cp` and `sync`, no network"},
		},
	},
	{
		"10,000 files of 4 KiB, the same way", "transfer",
		func(r *recording) *recording { return r.of("Pull").where("path", "loopback").with("files/s") },
		"ns/op", "culvert",
		[]tablePeer{{"rsync", "`rsync` over ssh"}, {"scp", "`scp -r`"}},
	},
	pulledOver("256 MiB over a round trip of 24 ms", "24ms"),
	pulledOver("64 MiB over a round trip of 200 ms", "200ms"),
	{
		"`culvert mount`: `dd` of 1 GiB, cold", "fusefs",
		func(r *recording) *recording { return r.of("MountRead").where("cache", "cold") }, "MB/s", "culvert",
		[]tablePeer{{"sshfs", "`sshfs`, aes128-gcm"}, {"gofuse", "go-fuse, from memory"}},
	},
	{
		"the same, `--decrypt`, CSV of zstd and age", "fusefs",
		func(r *recording) *recording { return r.of("MountDecrypt") }, "MB/s", "culvert-decrypt",
		[]tablePeer{{"tools", "`age -d \\| zstd -d` of a local file"}},
	},
	mountedFiles("`grep -r` in 10,000 small files", "MountGrep", "ns/op"),
	mountedFiles("4 KiB at random, 16 threads", "MountRandom", "reads/s"),
	mountedFiles("write 1 GiB into the mount, read on the other side", "MountWrite", "MB/s"),
	inBucket("3 million rows into a bucket (SeaweedFS), zstd, encrypted", "export",
		tablePeer{"aws", "`psql \\| zstd \\| age \\| aws s3 cp`"}, tablePeer{"rclone", "the same, `rclone rcat`"},
		tablePeer{"culvert-file", "`culvert export` to a file"}),
	inBucket("`culvert pull` of 1 GiB from it, verified", "pull",
		tablePeer{"s5cmd", "`s5cmd cp`"}, tablePeer{"rclone", "`rclone copyto`"}, tablePeer{"aws", "`aws s3 cp`"}),
	inBucket("`culvert cat` of an export in it, 1 GiB of CSV", "cat",
		tablePeer{"aws", "`aws s3 cp \\| age -d \\| zstd -d`"}, tablePeer{"s5cmd", "the same, `s5cmd cat`"}),
	inBucket("the first byte of its last hundredth, `culvert mount`", "tail",
		tablePeer{"aws", "`aws s3 cp \\| age -d \\| zstd -d`"}),
}

func loadedInto(work string, of func(*recording) *recording, ours string, peers ...tablePeer) tableRow {
	return tableRow{work, "load", of, "ns/op", ours, peers}
}

func inBucket(work, op string, peers ...tablePeer) tableRow {
	return tableRow{
		work, "buckets", func(r *recording) *recording { return r.of("Bucket").where("op", op, "store", "seaweedfs") },
		"ns/op", "culvert", peers,
	}
}

func exported(work, benchmark, format, compression, peer string) tableRow {
	return tableRow{
		work, strings.ToLower(benchmark),
		func(r *recording) *recording {
			return r.of(benchmark).where("source", "postgres", "format", format, "compression", compression)
		},
		"ns/op", "culvert",
		[]tablePeer{{"tools", peer}},
	}
}

func pulledOver(work, path string) tableRow {
	return tableRow{
		work, "transfer", func(r *recording) *recording { return r.of("Pull").where("path", path) }, "ns/op", "culvert",
		[]tablePeer{{"scp", "`scp`"}},
	}
}

func mountedFiles(work, benchmark, unit string) tableRow {
	return tableRow{
		work, "fusefs", func(r *recording) *recording { return r.of(benchmark) }, unit, "culvert",
		[]tablePeer{{"sshfs", "`sshfs`"}},
	}
}

// writeTable writes the table in Markdown. It has a column of speeds and times for each directory of results, and then
// one of processor times for each that has any.
func writeTable(w io.Writer, dirs []string) error {
	head := []string{"work", "peer"}
	var columns [][]string
	hasCosts := false
	for _, cost := range []bool{false, true} {
		for _, dir := range dirs {
			title, cells, err := tableColumn(dir, cost)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }) {
				head, columns = append(head, title), append(columns, cells)
				hasCosts = hasCosts || cost
			}
		}
	}
	if len(columns) == 0 {
		return fmt.Errorf("there is nothing in %s for a table", strings.Join(dirs, " and "))
	}
	var table strings.Builder
	table.WriteString("Each cell has the peer's figure, Culvert's, and how many times as fast Culvert is.")
	if hasCosts {
		table.WriteString(" Processor time is that of\n" +
			"both ends together, for a GiB, or for a file or a read, and how many times as much Culvert takes.")
	}
	table.WriteString("\n\n")
	fmt.Fprintf(&table, "| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	previous := ""
	for i, line := range tableLines() {
		cells := []string{line.work, line.peer}
		if line.work == previous {
			cells[0] = ""
		}
		isMeasured := false
		for _, column := range columns {
			isMeasured = isMeasured || column[i] != ""
			cells = append(cells, cmp.Or(column[i], "–"))
		}
		if isMeasured {
			fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | "))
			previous = line.work
		}
	}
	_, err := io.WriteString(w, table.String())
	return err
}

// tableLine is the work and the peer of a line.
type tableLine struct{ work, peer string }

// tableLines returns a line for each peer.
func tableLines() (lines []tableLine) {
	for _, row := range tableRows {
		for _, p := range row.peers {
			lines = append(lines, tableLine{row.work, p.name})
		}
	}
	return lines
}

// tableColumn returns the cells of all lines for a directory, with "" for what was not measured.
func tableColumn(dir string, cost bool) (title string, cells []string, err error) {
	for _, row := range tableRows {
		all, err := readWorkloads(dir, row.workloads)
		if err != nil {
			return "", nil, err
		}
		if title == "" && len(all.samples) > 0 {
			title = cores(all.facts["cores"])
		}
		r := row.of(all)
		for _, p := range row.peers {
			cell := row.speed(r, p.impl)
			if cost {
				cell = row.cost(r, p.impl)
			}
			cells = append(cells, cell)
		}
	}
	if cost {
		title = "processor time, " + title
	}
	return title, cells, nil
}

// speed returns the figure of the peer, ours, and how many times as fast ours is: "3.33 s → 0.97 s, 3.4 ×".
func (row tableRow) speed(r *recording, peer string) string {
	c := comparison{unit: row.unit, peer: peer}
	ratio, ok := c.speedUp(r, row.ours)
	if !ok {
		return ""
	}
	if row.unit == "reads/s" {
		ratio = 1 / ratio
	}
	return c.fromTo(r, row.ours) + ", **" + times(ratio) + "**"
}

// cost returns the same of the processor time, and how many times as much ours is.
func (row tableRow) cost(r *recording, peer string) string {
	unit := "cpu-s/GiB"
	if len(r.with("cpu-µs/op").samples) > 0 {
		unit = "cpu-µs/op"
	}
	c := comparison{unit: unit, peer: peer}
	ratio, ok := c.speedUp(r, row.ours)
	if !ok {
		return ""
	}
	return c.fromTo(r, row.ours) + ", " + times(1/ratio)
}

// fromTo returns the medians of the peer and of a variant, with the unit once.
func (c comparison) fromTo(r *recording, impl string) string {
	theirs, _ := c.median(r, c.peer)
	mine, _ := c.median(r, impl)
	suffix := ""
	if strings.HasSuffix(c.unit, "/s") {
		suffix = " " + c.unit
	}
	return quantity.Format(theirs, c.unit) + " → " + quantity.Format(mine, c.unit) + suffix
}
