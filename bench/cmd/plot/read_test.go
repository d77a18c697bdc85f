package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const recorded = `cpu: Example
cores: 4
# a remark
BenchmarkWork/op=encrypt/impl=old 1 4.5e+06 ns/op 100 MB/s
BenchmarkWork/op=encrypt/impl=new 1 1500 ns/op 300 MB/s 7 B/op
BenchmarkWork/op=decrypt/impl=old 1 20.125 ns/op 0.0004 allocs/op 64.0003 B/op

BenchmarkWork/op=encrypt/impl=old 1 5.5e+06 ns/op 90 MB/s
`

func TestReadRecording(t *testing.T) {
	name := filepath.Join(t.TempDir(), "work.txt")
	if err := os.WriteFile(name, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := readRecording(name)
	if err != nil {
		t.Fatal(err)
	}
	if r.facts["cpu"] != "Example" || r.facts["cores"] != "4" {
		t.Errorf("the facts are %v", r.facts)
	}
	if n, m := len(samples("Work")(r).samples), len(samples("Works")(r).samples); n != 4 || m != 0 {
		t.Errorf("%d samples are of Work and %d of Works, want 4 and 0", n, m)
	}
	old := r.where("op", "encrypt", "impl", "old")
	for unit, want := range map[string][]float64{"ns/op": {4.5e6, 5.5e6}, "MB/s": {100, 90}, "B/op": nil} {
		if got := old.values(unit); !slices.Equal(got, want) {
			t.Errorf("the values in %s are %v, want %v", unit, got, want)
		}
	}
	decrypt := r.where("op", "decrypt")
	for unit, want := range map[string]float64{"ns/op": 20.125, "allocs/op": 0, "B/op": 64} {
		if got := decrypt.values(unit); !slices.Equal(got, []float64{want}) {
			t.Errorf("the values in %s are %v, want %v", unit, got, want)
		}
	}
	if got := r.rounds(); got != "1 to 2" {
		t.Errorf("there are %s rounds, want 1 to 2", got)
	}
	if got := old.rounds(); got != "2" {
		t.Errorf("there are %s rounds of one variant, want 2", got)
	}
}
