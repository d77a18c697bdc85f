package format_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// cell is one value of a test.
type cell struct {
	kind  source.Kind
	value string
}

func null() cell             { return cell{kind: source.Null} }
func text(v string) cell     { return cell{source.Text, v} }
func number(v string) cell   { return cell{source.Number, v} }
func boolean(v string) cell  { return cell{source.Bool, v} }
func binary(v string) cell   { return cell{source.Bytes, v} }
func jsonCell(v string) cell { return cell{source.JSON, v} }

// fill makes a batch of rows with the given number of columns.
func fill(columns int, rows ...[]cell) *source.Batch {
	b := new(source.Batch)
	b.SetLimit(4 << 10) // Reset makes room up to the limit, which takes longer than most tests of a few rows
	b.Reset(columns)
	for _, row := range rows {
		for _, c := range row {
			if c.kind == source.Null {
				b.AppendNull()
			} else {
				b.Append(c.kind, []byte(c.value))
			}
		}
		b.EndRow()
	}
	return b
}

func columns(names ...string) []source.Column {
	var all []source.Column
	for _, name := range names {
		all = append(all, source.Column{Name: name})
	}
	return all
}

func encoder(tb testing.TB, f format.Format, names ...string) format.Encoder {
	tb.Helper()
	e, err := f.Encoder(columns(names...))
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// encode returns the whole output, with its header.
func encode(tb testing.TB, f format.Format, names []string, rows ...[]cell) string {
	tb.Helper()
	e := encoder(tb, f, names...)
	out, err := e.AppendRows(e.AppendHeader(nil), fill(len(names), rows...))
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func TestExtensions(t *testing.T) {
	extensions := map[format.Format]string{format.CSV{}: ".csv", format.JSONL{}: ".jsonl", format.Text{}: ".txt"}
	for f, want := range extensions {
		if got := f.Extension(); got != want {
			t.Errorf("%T: %q, want %q", f, got, want)
		}
	}
}

// todoNames and todos are rows of all kinds, like those of a real table.
var todoNames = []string{"id", "owner", "title", "price", "due", "done", "tags", "note"}

func todos(rows int) *source.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("customer asked for a refund of the order, shipping delay check address Müller \"urgent\"")
	word := func() string { return words[r.IntN(len(words))] }
	var all [][]cell
	for i := range rows {
		note := null()
		if i%3 > 0 {
			note = text(fmt.Sprintf("%s %s %s", word(), word(), word()))
		}
		all = append(all, []cell{
			number(fmt.Sprint(i)),
			number(fmt.Sprint(r.IntN(1e5))),
			text(strings.Repeat(word()+" ", 1+r.IntN(9))),
			number(fmt.Sprintf("%d.%02d", r.IntN(1e4), r.IntN(100))),
			text("2024-05-17 10:31:05.123456+00"),
			boolean("tf"[i%2 : i%2+1]),
			jsonCell(fmt.Sprintf(`{"tags": ["new", "b"], "score": %d}`, r.IntN(1000))),
			note,
		})
	}
	return fill(len(todoNames), all...)
}

var formats = map[string]format.Format{"csv": format.CSV{}, "jsonl": format.JSONL{}, "text": format.Text{}}

func TestAppendRowsAllocatesNothing(t *testing.T) {
	batch := todos(1000)
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			e := encoder(t, f, todoNames...)
			var dst []byte
			encode := func() {
				var err error
				if dst, err = e.AppendRows(e.AppendHeader(dst[:0]), batch); err != nil {
					t.Fatal(err)
				}
			}
			encode()
			testkit.Allocs(t, 0, encode)
		})
	}
}

// TestLargeValue checks that the buffer grows only once for a large value.
func TestLargeValue(t *testing.T) {
	const size = 4 << 20
	for _, test := range []struct {
		name   string
		format format.Format
		value  cell
	}{
		{"csv binary", format.CSV{}, binary(strings.Repeat("\x00", size))},
		{"csv plain", format.CSV{}, text(strings.Repeat("x", size))},
		{"csv quoted", format.CSV{}, text(strings.Repeat(`",`, size/2))},
		{"jsonl binary", format.JSONL{}, binary(strings.Repeat("\x00", size))},
		{"jsonl plain", format.JSONL{}, text(strings.Repeat("x", size))},
		{"text binary", format.Text{}, binary(strings.Repeat("\x00", size))},
		{"text twice", format.Text{Line: "{a}{a}"}, text(strings.Repeat("x", size))},
		{"text nowhere", format.Text{Line: "-"}, text(strings.Repeat("x", size))},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := encoder(t, test.format, "a", "b")
			batch := fill(2, []cell{test.value, null()})
			var out []byte
			encode := func() {
				var err error
				if out, err = e.AppendRows(nil, batch); err != nil {
					t.Fatal(err)
				}
			}
			encode()
			if room := cap(out) - len(out); room > 16<<10 {
				t.Errorf("the buffer has %d bytes too many", room)
			}
			if got := testing.AllocsPerRun(5, encode); got > 1 && !testkit.RaceDetector() {
				t.Errorf("%v allocations a call, want at most 1", got)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	batch := todos(7000)
	next := func(text []byte) ([]byte, error) { return text, nil }
	for name, f := range formats {
		e := encoder(b, f, todoNames...)
		for call, appendAll := range map[string]func(dst []byte) ([]byte, error){
			"Rows":   func(dst []byte) ([]byte, error) { return e.AppendRows(dst, batch) },
			"Pieces": func(dst []byte) ([]byte, error) { return e.AppendPieces(dst, batch, math.MaxInt, next) },
		} {
			b.Run("format="+name+"/call="+call, func(b *testing.B) {
				dst, err := appendAll(nil)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(dst)))
				b.ReportAllocs()
				for b.Loop() {
					if dst, err = appendAll(dst[:0]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
