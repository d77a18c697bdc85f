package main

import (
	"fmt"
	"slices"
	"strings"

	"culvert/bench/internal/quantity"
)

// figures are all that can be drawn, each from one workload.
var figures = []struct {
	name      string                 // of the files
	workload  string                 // or several, with blanks between
	benchmark string                 // "" for all
	draw      func(*recording) chart // of the samples of that benchmark; nil if they do not suffice
}{
	{"agefile", "agefile", "Age", agefileSpeed},
	{"export", "export", "Export", exportTime},
	{"parallel", "parallel", "Parallel", exportTime},
	{"tables", "tables", "Tables", tablesTime},
	{"parts", "parts", "Parts", partsTime},
	{"workers", "workers", "Workers", workersTime},
	{"sqlite", "sqlite", "Export", sqliteTime},
	{"memory", "memory", "Memory", memoryOfExport},
	{"load", "load", "", loadTime},
	{"load-others", "load", "Load", otherLoadTime},
	{"load-memory", "loadmemory", "LoadMemory", memoryOfLoad},
	{"cipherio-time", "cipherio", "Cipher", cipherTime},
	{"cipherio-bytes", "cipherio", "Cipher", cipherBytes},
	{"cipherio-allocs", "cipherio", "Cipher", cipherAllocs},
	{"todos-time", "todos", "Todos", todosTime},
	{"todos-bytes", "todos", "Todos", todosBytes},
	{"todos-allocs", "todos", "Todos", todosAllocs},
	{"bytebuf-time", "bytebuf", "Buffer", bytebufTime},
	{"bytebuf-bytes", "bytebuf", "Buffer", bytebufBytes},
	{"bytebuf-allocs", "bytebuf", "Buffer", bytebufAllocs},
	{"wal-writers", "wal", "WAL", walWriters},
	{"wal-percentiles", "wal", "WAL", walPercentiles},
	{"wal-throughput-synced", "wal", "WALStudy", walThroughput("each")},
	{"wal-throughput", "wal", "WALStudy", walThroughput("none")},
	{"wal-latency-synced", "wal", "WALStudy", walLatency("each")},
	{"wal-latency", "wal", "WALStudy", walLatency("none")},
	{"secureconn", "secureconn", "Stream", secureconnSpeed},
	{"secureconn-writes", "secureconn", "Stream", secureconnWrites},
	{"secureconn-pipe", "secureconn", "Pipe", secureconnPipe},
	{"secureconn-layers", "secureconn", "Layers", secureconnLayers},
	{"fileservice", "fileservice", "FileRead", fileserviceSpeed},
	{"fileservice-fetch", "fileservice", "Fetch", fetchSpeed},
	{"transfer", "transfer", "Pull", pullSpeed},
	{"transfer-files", "transfer", "Pull", pullFiles},
	{"transfer-paths", "transfer", "Pull", pullPaths},
	{"transfer-memory", "transfer", "PullMemory", pullMemory},
	{"fusefs", "fusefs", "", mountSpeed},
	{"fusefs-again", "fusefs", "MountRead", mountAgain},
	{"fusefs-files", "fusefs", "", mountFiles},
	{"fusefs-decrypt", "fusefs", "MountDecrypt", mountDecrypt},
	{"fusefs-memory", "fusefs", "MountMemory", mountMemory},
	{"buckets-export", "buckets", "Bucket", bucketTime("export", "aws",
		"Table to encrypted object: %s as fast as with aws s3 cp")},
	{"buckets-pull", "buckets", "Bucket", bucketTime("pull", "s5cmd", "Object to verified file: %s as fast as s5cmd")},
	{"buckets-cat", "buckets", "Bucket", bucketTime("cat", "aws",
		"Encrypted object to text: %s as fast as with aws s3 cp")},
	{"buckets-tail", "buckets", "Bucket", bucketTime("tail", "aws",
		"The end of an encrypted object: %s as fast as with aws s3 cp")},
	{"buckets-memory", "bucketmemory", "Bucket", bucketMemory},
	{"layers", "secureconn fileservice transfer fusefs", "", layers},
}

func agefileSpeed(r *recording) chart {
	r = r.where("from", "memory")
	c := comparison{unit: "MB/s", peer: "age"}
	var groups []group
	var found []string
	for i, procs := range r.distinct("procs") {
		for _, op := range r.distinct("op") {
			some := r.where("procs", procs, "op", op)
			groups = append(groups, group{op + ", " + cores(procs), c.bars(some)})
			if ratio, ok := c.speedUp(some, "culvert"); ok && i == 0 {
				found = append(found, op+" "+times(ratio))
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &bars{
		heading{
			"age files on " + cores(r.distinct("procs")[0]) + ": " + strings.Join(found, ", ") + " as fast as age",
			measured(r, "in memory"),
		},
		fit(axis{label: "MB of plaintext per second; more is better", unit: "MB/s"}, groups), groups,
	}
}

func cores(n string) string {
	if n == "1" {
		return "1 core"
	}
	return n + " cores"
}

// exportTime draws what is compressed and encrypted.
func exportTime(r *recording) chart {
	r = r.where("source", "postgres")
	var groups []group
	var found []string
	for _, format := range r.distinct("format") {
		for _, compression := range r.where("format", format).distinct("compression") {
			if compression == "none" {
				continue
			}
			c := comparison{unit: "ns/op", peer: "tools", labels: exportLabels(compression)}
			some := r.where("format", format, "compression", compression)
			title := ""
			if format != "csv" {
				title = labels[format]
			}
			groups = append(groups, group{title, c.bars(some)})
			if ratio, ok := c.speedUp(some, "culvert"); ok && format == "csv" {
				found = append(found, times(ratio)+" as fast with "+compression)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &bars{
		heading{"Table to encrypted file: " + strings.Join(found, ", "), measured(r, sizeOf(r)+"from PostgreSQL")},
		fit(axis{label: "time; less is better", unit: "ns/op"}, groups), groups,
	}
}

func exportLabels(compression string) map[string]string {
	return map[string]string{"tools": "psql | " + compression + " | age", "culvert": "culvert export"}
}

// sizeOf gives what was exported, by its speed and its time.
func sizeOf(r *recording) string {
	if s := r.samples[0].values; s["MB/s"] > 0 {
		return fmt.Sprintf("%.0f MB of CSV ", s["MB/s"]*s["ns/op"]/1e9)
	}
	return ""
}

var tablesLabels = map[string]string{
	"pg_dump": "pg_dump, gzip", "culvert": "Culvert, zstd, encrypted", "culvert-gzip": "Culvert, gzip, encrypted",
}

func tablesTime(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "pg_dump", labels: tablesLabels}
	return oneGroup(r, c, "Eight tables at once: %s as fast as pg_dump", "four connections")
}

func sqliteTime(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "sqlite3", labels: map[string]string{"culvert": "culvert export"}}
	return oneGroup(r, c, "SQLite table to CSV: %s as fast as sqlite3 -csv", "")
}

// oneGroup draws one group of times or speeds. The title is given how many times as fast ours is.
func oneGroup(r *recording, c comparison, title, what string) chart {
	ratio, ok := c.speedUp(r, "culvert")
	if !ok {
		return nil
	}
	label := "time; less is better"
	if c.unit == "MB/s" {
		label = speedLabel
	}
	groups := []group{{"", c.bars(r)}}
	return &bars{
		heading{fmt.Sprintf(title, times(ratio)), measured(r, what)},
		fit(axis{label: label, unit: c.unit}, groups), groups,
	}
}

// amountOf draws one group of what is allocated. The title is given what ours and the peer's allocate.
func amountOf(r *recording, c comparison, impl, peer, title, label string) chart {
	mine, ok := c.median(r, impl)
	theirs, also := c.median(r, peer)
	if !ok || !also {
		return nil
	}
	groups := []group{{"", c.bars(r)}}
	return &bars{
		heading{fmt.Sprintf(title, quantity.Format(mine, c.unit), quantity.Format(theirs, c.unit)), measured(r, "")},
		fit(axis{label: label, unit: c.unit, log: true}, groups), groups,
	}
}

const powersOfTen = "; each step is ten times the one before"

func todosTime(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "gorm-pooled"}
	return oneGroup(r, c, rowsOf(r)+" to a text file: %s as fast as GORM", "GORM with a pooled writer is 1 ×")
}

func todosBytes(r *recording) chart {
	return amountOf(r, comparison{unit: "B/op"}, "culvert", "gorm-pooled",
		rowsOf(r)+" to a text file: %s allocated, not %s", "bytes allocated"+powersOfTen)
}

func todosAllocs(r *recording) chart {
	return amountOf(r, comparison{unit: "allocs/op"}, "culvert", "gorm-pooled",
		rowsOf(r)+" to a text file: %s allocations, not %s", "allocations"+powersOfTen)
}

// rowsOf says how many rows there are in a recording of one size.
func rowsOf(r *recording) string {
	for _, rows := range r.distinct("rows") {
		if n, err := count(rows); err == nil {
			return axis{unit: "rows"}.brief(n) + " rows"
		}
	}
	return "Rows"
}

// cipherTime shows a million rows, or as many as there are.
func cipherTime(r *recording) chart {
	rows := r.distinct("rows")
	if len(rows) == 0 {
		return nil
	}
	shown := rows[len(rows)-1]
	if slices.Contains(rows, "1m") {
		shown = "1m"
	}
	r = r.where("rows", shown)
	c := comparison{unit: "ns/op", peer: "cipher", labels: map[string]string{"culvert": "Culvert, authenticated"}}
	return oneGroup(r, c, "CSV, gzip, encrypt, on all cores: %s as fast as crypto/cipher", rowsOf(r))
}

func cipherBytes(r *recording) chart {
	return overRows(r, comparison{unit: "B/op"}, "Encrypting %s: %s allocated, not %s",
		axis{label: "memory allocated for one file" + powersOfTen, unit: "B/op", log: true})
}

func cipherAllocs(r *recording) chart {
	return overRows(r, comparison{unit: "allocs/op"}, "Encrypting %s: %s allocations, not %s",
		axis{label: "allocations for one file" + powersOfTen, unit: "allocs/op", log: true})
}

// overRows draws what the variants of the encrypting pipeline take for files of more and more rows. The title is given
// the most rows, and what cipherio and crypto/cipher take for them.
func overRows(r *recording, c comparison, title string, y axis) chart {
	l := &lines{x: axis{label: "rows in the file", unit: "rows", log: true}, y: y}
	for _, impl := range r.distinct("impl") {
		if impl == "cipherio-bufio" || impl == "none" {
			continue // they lie beside others, and the tables have them
		}
		l.add(c.label(impl), roleOf(impl), r.where("impl", impl), c.unit)
	}
	rows := r.distinct("rows")
	if !l.isDrawable() {
		return nil
	}
	most := r.where("rows", rows[len(rows)-1])
	mine, ok := c.median(most, "cipherio")
	theirs, also := c.median(most, "cipher")
	if !ok || !also {
		return nil
	}
	l.heading = heading{
		fmt.Sprintf(title, rowsOf(most), quantity.Format(mine, c.unit), quantity.Format(theirs, c.unit)),
		measured(r, "cipherio in place of crypto/cipher"),
	}
	return l
}

// add has a line for what was measured at each number of rows, and makes room for it.
func (l *lines) add(label string, role role, r *recording, unit string) {
	l.addOver("rows", label, role, r, unit)
}

// addOver has a line over the values of a key.
func (l *lines) addOver(key, label string, role role, r *recording, unit string) {
	s := series{label: label, role: role}
	for _, x := range r.distinct(key) {
		values := r.where(key, x).values(unit)
		n, err := count(x)
		if err != nil || len(values) == 0 {
			continue
		}
		s.points = append(s.points, point{n, quantity.QuartilesOf(values)})
		l.x.fit([]float64{n})
		l.y.fit(values)
	}
	if len(s.points) > 0 {
		l.series = append(l.series, s)
	}
}

// isDrawable reports whether all lines are ones.
func (l *lines) isDrawable() bool {
	return len(l.series) > 0 && !slices.ContainsFunc(l.series, func(s series) bool { return len(s.points) < 2 })
}

func bytebufTime(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "bytes"}
	groups, ratios := bytebufGroups(r, c)
	if len(ratios) == 0 {
		return nil
	}
	return &bars{
		heading{
			fmt.Sprintf("Write and String: %s to %s as fast as bytes.Buffer",
				strings.TrimSuffix(times(slices.Min(ratios)), " ×"), times(slices.Max(ratios))),
			measured(r, ""),
		},
		fit(axis{label: "time" + powersOfTen, unit: c.unit, log: true}, groups), groups,
	}
}

func bytebufBytes(r *recording) chart {
	return bytebufAmount(r, comparison{unit: "B/op"}, "Write and String of %s bytes: %s allocated, not %s",
		"bytes allocated"+powersOfTen)
}

func bytebufAllocs(r *recording) chart {
	return bytebufAmount(r, comparison{unit: "allocs/op"}, "Write and String of %s bytes: %s allocations, not %s",
		"allocations")
}

// bytebufAmount draws what is allocated. The title is given the last length, and what ours and bytes.Buffer take for
// it.
func bytebufAmount(r *recording, c comparison, title, label string) chart {
	groups, _ := bytebufGroups(r, c)
	lengths := r.distinct("bytes")
	if len(lengths) == 0 {
		return nil
	}
	longest := r.where("bytes", lengths[len(lengths)-1])
	mine, ok := c.median(longest, "bytebuf")
	theirs, also := c.median(longest, "bytes")
	if !ok || !also {
		return nil
	}
	return &bars{
		heading{
			singular(fmt.Sprintf(title, lengths[len(lengths)-1], quantity.Format(mine, c.unit),
				quantity.Format(theirs, c.unit))),
			measured(r, ""),
		},
		fit(axis{label: label, unit: c.unit, log: true}, groups), groups,
	}
}

// singular corrects the number of a title.
func singular(title string) string {
	return strings.Replace(title, ": 1 allocations", ": 1 allocation", 1)
}

// bytebufGroups has a group for each length of what is written, and how many times as fast ours is in it.
func bytebufGroups(r *recording, c comparison) (groups []group, ratios []float64) {
	for _, bytes := range r.distinct("bytes") {
		some := r.where("bytes", bytes)
		groups = append(groups, group{bytes + " bytes", c.bars(some)})
		if ratio, ok := c.speedUp(some, "bytebuf"); ok {
			ratios = append(ratios, ratio)
		}
	}
	return groups, ratios
}
