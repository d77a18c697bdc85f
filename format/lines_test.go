package format_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
)

// recorder keeps the lines that it is shown.
type recorder struct {
	lines [][]byte
	part  []byte
}

func (r *recorder) Line(text []byte) { r.lines = append(r.lines, bytes.Clone(text)) }
func (r *recorder) Part(text []byte) { r.part = append(r.part, text...) }
func (r *recorder) EndLine()         { r.lines, r.part = append(r.lines, r.part), nil }

// TestLines compares what is shown with each row encoded alone.
func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	e := encoder(t, format.CSV{}, "a", "b").(format.LineEncoder)
	for range 100 {
		var rows [][]cell
		for range 1 + r.IntN(5) {
			rows = append(rows, []cell{largeCell(r), largeCell(r)})
		}
		var shown recorder
		var passed []byte
		rest, err := e.AppendLines([]byte("before"), fill(2, rows...), 1+r.IntN(300_000), &shown,
			func(text []byte) ([]byte, error) {
				passed = append(passed, text...)
				return text[:0], nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if len(shown.lines) != len(rows) || shown.part != nil {
			t.Fatalf("%d lines for %d rows", len(shown.lines), len(rows))
		}
		for i, row := range rows {
			want, err := e.AppendRows(nil, fill(2, row))
			if err != nil || !bytes.Equal(shown.lines[i], want) {
				t.Fatalf("row %d: %d bytes are shown, want %d, error %v", i, len(shown.lines[i]), len(want), err)
			}
		}
		passed = append(passed, rest...)
		if want := append([]byte("before"), bytes.Join(shown.lines, nil)...); !bytes.Equal(passed, want) {
			t.Fatalf("%d bytes of text, want %d", len(passed), len(want))
		}
	}
}

// counting counts lines.
type counting struct{ lines, parts int }

func (c *counting) Line([]byte) { c.lines++ }
func (c *counting) Part([]byte) { c.parts++ }
func (c *counting) EndLine()    { c.lines++ }

func TestAppendLinesAllocatesNothing(t *testing.T) {
	e := encoder(t, format.CSV{}, todoNames...).(format.LineEncoder)
	batch := todos(1000)
	var dst []byte
	seen := new(counting)
	encode := func() {
		var err error
		if dst, err = e.AppendLines(dst[:0], batch, math.MaxInt, seen, nil); err != nil {
			t.Fatal(err)
		}
	}
	encode()
	if seen.lines != 1000 || seen.parts != 0 {
		t.Errorf("%+v", *seen)
	}
	testkit.Allocs(t, 0, encode)
}
