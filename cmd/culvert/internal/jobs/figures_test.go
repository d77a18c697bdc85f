package jobs

import (
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"culvert/cmd/culvert/internal/command"
	"culvert/workers"
)

// fetched returns the figures of Culvert as Prometheus gets them, by their names.
func fetched(t *testing.T, all []prometheus.Collector) map[string]string {
	t.Helper()
	url, stop, err := command.MetricsFlag("127.0.0.1:0").Serve(all...)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	figures := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^(culvert_\w+) (.*)$`).FindAllSubmatch(text, -1) {
		figures[string(line[1])] = string(line[2])
	}
	return figures
}

// TestFigures fetches the figures of a worker. They are those that the docs list.
func TestFigures(t *testing.T) {
	var done tally
	done.note(workers.WorkerStatus{
		Parts: 3, Rows: 70, Text: 800, Out: 90, Sessions: 2, Writing: []string{"orders"}, Still: 1.5,
	})
	got := fetched(t, done.figures())
	for name, want := range map[string]string{
		"worker_parts_total": "3", "worker_rows_total": "70", "worker_text_bytes_total": "800",
		"worker_file_bytes_total": "90", "worker_sessions": "2", "worker_writing": "1", "worker_still_seconds": "1.5",
	} {
		if got["culvert_"+name] != want {
			t.Errorf("culvert_%s is %q, want %s", name, got["culvert_"+name], want)
		}
	}

	page, err := os.ReadFile("../../../../docs/many-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	rows := regexp.MustCompile("(?m)^\\| `(culvert_worker_)([^|]*)` \\|")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		for name := range strings.SplitSeq(row[2], "`, `") {
			listed = append(listed, row[1]+strings.TrimPrefix(strings.TrimPrefix(name, row[1]), "_"))
		}
	}
	slices.Sort(listed)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(listed, names) {
		t.Errorf("the docs list\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(names, "\n"))
	}
}
