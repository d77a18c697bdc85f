package exports

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"culvert/bench/internal/harness"
)

// PrepareSQLite compares an export of a SQLite table to plain CSV with SQLite's own shell.
func PrepareSQLite(s *harness.Session) ([]harness.Benchmark, error) {
	culvert, err := s.Build("..", "./cmd/culvert")
	if err != nil {
		return nil, err
	}
	database := filepath.Join(s.Dir, "orders.db")
	fill := exec.CommandContext(s.Ctx, "sqlite3", "-bail", database)
	fill.Stdin = strings.NewReader(harness.SqliteScript(s.Size(1_000_000, 10_000)))
	if err := s.Run(fill); err != nil {
		return nil, err
	}
	file := filepath.Join(s.Dir, "orders.csv")
	shell := exec.CommandContext(s.Ctx, "sqlite3", "-csv", "-header", database, "SELECT * FROM orders")
	if _, err := s.Piped(file, shell)(); err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	export := func(output string, command *exec.Cmd) harness.Run {
		run := s.Piped(output, command)
		return harness.Settled(file, func() (harness.Sample, error) {
			return harness.Work{Bytes: info.Size()}.Between("client", nil, run)
		})
	}
	return []harness.Benchmark{{
		Name: "Export/source=sqlite/format=csv/compression=none",
		Variants: []harness.Variant{
			{Key: "impl=sqlite3", Run: export(file, shell)},
			{Key: "impl=culvert", Run: export("", exec.CommandContext(s.Ctx, culvert, "export", database, "orders",
				"--no-encrypt", "-f", "csv", "-c", "none", "-o", file))},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=sqlite3", Unit: "ns/op", Max: 0.4},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}}, nil
}
