package exports

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

// parallelJobs is the number of connections and jobs of culvert, and of the psqls that do the same by hand.
const parallelJobs = 4

// PrepareParallel compares exports with several connections to tools with one connection. Without compression and
// encryption, the peer is as many psqls.
func PrepareParallel(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	rows := s.Size(3_000_000, 10_000)
	args := func(more ...string) []string { return append([]string{"-j", strconv.Itoa(parallelJobs)}, more...) }
	return e.exports(rows, []exportCase{
		{
			name: "Parallel/source=postgres/format=csv/compression=zstd", peer: e.tools(csvSQL, zstdTool...),
			args: args("-r", e.recipient), open: []string{"zstd", "-q", "-d"},
			atMost: 0.40, atMostOnTwo: 0.58, lines: rows + 1, same: true,
		},
		{
			name: "Parallel/source=postgres/format=csv/compression=gzip", peer: e.tools(csvSQL, "gzip"),
			args: args("-r", e.recipient, "-c", "gzip"), open: []string{"gzip", "-d"},
			atMost: 0.25, lines: rows + 1, same: true,
		},
		{
			name: "Parallel/source=postgres/format=csv/compression=none", peer: e.ranges,
			args: args("--no-encrypt", "-c", "none"), atMost: 1.1,
		},
		{
			name: "Parallel/source=postgres/format=jsonl/compression=zstd", peer: e.tools(jsonlSQL, zstdTool...),
			args: args("-r", e.recipient, "-f", "jsonl"), open: []string{"zstd", "-q", "-d"},
			atMost: 0.5, lines: rows,
		},
	})
}

// ranges has several psqls print the table at once, each an equal range of its pages.
func (e *exporter) ranges(string) (harness.Sample, error) {
	found, err := e.command("psql", "-qAtc", "SELECT pg_relation_size('orders') / 8192").Output()
	if err != nil {
		return nil, err
	}
	pages, err := strconv.Atoi(strings.TrimSpace(string(found)))
	if err != nil {
		return nil, err
	}
	var script strings.Builder
	for i := range parallelJobs {
		where := fmt.Sprintf("ctid >= '(%d,0)'", pages*i/parallelJobs)
		if i < parallelJobs-1 {
			where += fmt.Sprintf(" AND ctid < '(%d,0)'", pages*(i+1)/parallelJobs)
		}
		fmt.Fprintf(&script, "psql -qc \"COPY (SELECT * FROM orders WHERE %s) TO STDOUT (FORMAT csv)\" &\n", where)
	}
	return e.Pipeline(os.DevNull, e.command("sh", "-c", script.String()+"wait\n"))
}
