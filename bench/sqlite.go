package main

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// prepareSQLite compares an export of a SQLite table to plain CSV with SQLite's own shell.
func prepareSQLite(s *session) ([]benchmark, error) {
	culvert, err := s.build("..", "./cmd/culvert")
	if err != nil {
		return nil, err
	}
	database := filepath.Join(s.dir, "orders.db")
	fill := exec.CommandContext(s.ctx, "sqlite3", "-bail", database)
	fill.Stdin = strings.NewReader(sqliteScript(s.size(1_000_000, 10_000)))
	if err := s.run(fill); err != nil {
		return nil, err
	}
	file := filepath.Join(s.dir, "orders.csv")
	export := func(output, program string, args ...string) func() (sample, error) {
		return func() (sample, error) {
			got, err := s.pipeline(output, exec.CommandContext(s.ctx, program, args...))
			if err != nil {
				return nil, err
			}
			return got, settle(file)
		}
	}
	return []benchmark{{
		name: "Export/source=sqlite/format=csv/compression=none",
		variants: []variant{
			{"impl=sqlite3", export(file, "sqlite3", "-csv", "-header", database, "SELECT * FROM orders")},
			{"impl=culvert", export("", culvert, "export", database, "orders",
				"--no-encrypt", "-f", "csv", "-c", "none", "-o", file)},
		},
		goals: []goal{
			{variant: "impl=culvert", peer: "impl=sqlite3", unit: "ns/op", max: 0.8},
			{variant: "impl=culvert", unit: "peak-bytes", max: 96 << 20},
		},
	}}, nil
}
