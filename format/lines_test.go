package format_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// recorder keeps the lines that it is shown.
type recorder struct {
	lines [][]byte
	part  []byte
}

func (r *recorder) Line(text []byte) { r.lines = append(r.lines, bytes.Clone(text)) }
func (r *recorder) Part(text []byte) { r.part = append(r.part, text...) }
func (r *recorder) EndLine()         { r.lines, r.part = append(r.lines, r.part), nil }

// fieldRecorder also keeps the fields of whole lines.
type fieldRecorder struct {
	recorder
	fields [][][]byte
}

func (*fieldRecorder) WantsEnds() bool { return true }

func (r *fieldRecorder) Row(text []byte, ends []int) {
	r.Line(text)
	var fields [][]byte
	start := 0
	for _, end := range ends {
		fields = append(fields, bytes.Clone(text[start:end]))
		start = end + 1
	}
	r.fields = append(r.fields, fields)
}

// TestFieldLines compares the fields of whole lines with values encoded alone.
func TestFieldLines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	e := encoder(t, format.CSV{}, "a", "b", "c").(format.LineEncoder)
	one := encoder(t, format.CSV{}, "a", "b")
	for range 100 {
		row := []cell{largeCell(r), largeCell(r), largeCell(r)}
		var lines recorder
		var shown fieldRecorder
		for _, to := range []format.Lines{&lines, &shown} {
			if _, err := e.AppendLines([]byte("before"), fill(3, row, row), math.MaxInt, to, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.EqualFunc(lines.lines, shown.lines, bytes.Equal) {
			t.Fatalf("%d lines are shown with fields, and %d without", len(shown.lines), len(lines.lines))
		}
		for _, fields := range shown.fields {
			for i := range row {
				want, err := one.AppendRows(nil, fill(2, []cell{row[i], null()}))
				want = bytes.TrimSuffix(want, []byte(",\n"))
				if err != nil || len(fields) != len(row) || !bytes.Equal(fields[i], want) {
					t.Fatalf("field %d is %.100q, want %.100q, error %v", i, fields[i], want, err)
				}
			}
		}
	}
}

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

// TestDecodeLines writes rows as JSON Lines, and compares the lines that are shown then with those that are shown when
// the rows are read, also if some fields are skipped.
func TestDecodeLines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 10))
	types := map[source.Kind][]string{
		source.Text: {"text", ""}, source.Number: {"numeric"}, source.Bool: {"boolean", "answer"},
		source.Bytes: {"bytea"}, source.JSON: {"json", "JSONB", "longtext"},
	}
	read := map[string]source.Kind{"answer": source.Text, "longtext": source.Text, "": source.Null} // by type
	values := maps.Clone(kindCells)
	values[source.JSON] = append([]cell{
		jsonCell("{\n \"a\":\t[1, 2]\r\n}\n"), jsonCell(" [\n1] "), jsonCell("[\n]"), jsonCell("[1, 2]\n"),
		jsonCell(` "x" `),
		jsonCell(" null"),
		jsonCell(`{"caf` + "\xe9" + `": 1} `),
	}, values[source.JSON]...)
	for _, policy := range []format.InvalidUTF8{format.Base64Invalid, format.ReplaceInvalid} {
		f := format.JSONL{InvalidUTF8: policy}
		for range 200 {
			var fields []format.Field
			var written []source.Column
			var kinds []source.Kind
			for i := range 1 + r.IntN(5) {
				kind := []source.Kind{source.Text, source.Number, source.Bool, source.Bytes, source.JSON}[r.IntN(5)]
				c := source.Column{Name: fmt.Sprint("c", i), Type: types[kind][r.IntN(len(types[kind]))]}
				field := format.Field{Name: c.Name, Kind: kind, Skip: r.IntN(4) == 0}
				if other, is := read[c.Type]; is {
					field.Kind = other
				}
				fields, written, kinds = append(fields, field), append(written, c), append(kinds, kind)
			}
			var rows [][]cell
			for range r.IntN(8) {
				var row []cell
				for _, kind := range kinds {
					one := values[kind][r.IntN(len(values[kind]))]
					switch large := r.IntN(30) == 0; {
					case r.IntN(9) == 0:
						one = null()
					case large && kind == source.Text:
						one = largeCell(r)
					case large && kind == source.JSON:
						space := []string{"\n", " "}[r.IntN(2)]
						one = jsonCell("[" + space + strings.Repeat(`"large, \"x", `, 20_000) + "1]\n")
					}
					row = append(row, one)
				}
				rows = append(rows, row)
			}
			batch := fill(len(fields), rows...)
			encoder, err := f.Encoder(written)
			if err != nil {
				t.Fatal(err)
			}
			text, err := encoder.AppendRows(nil, batch)
			if err != nil {
				t.Fatal(err)
			}
			var want, pieces, got recorder
			lines := f.Lines(written)
			if _, err := lines.AppendLines(nil, batch, math.MaxInt, &want, nil); err != nil {
				t.Fatal(err)
			}
			drop := func(text []byte) ([]byte, error) { return text[:0], nil }
			if _, err := lines.AppendLines(nil, batch, 1000, &pieces, drop); err != nil {
				t.Fatal(err)
			}
			var read source.Batch
			for d := decoder(t, f, fields...).(format.LineDecoder); len(text) > 0; {
				n, err := d.DecodeLines(&read, text, &got)
				if err != nil {
					t.Fatal(err)
				}
				text = text[n:]
			}
			if len(got.lines) != len(rows) {
				t.Fatalf("%d lines of %d rows are shown", len(got.lines), len(rows))
			}
			for i := range want.lines {
				if !bytes.Equal(got.lines[i], want.lines[i]) || !bytes.Equal(pieces.lines[i], want.lines[i]) {
					t.Fatalf("%v %v: %.300q is %.300q when it is read", written, fields, want.lines[i], got.lines[i])
				}
			}
		}
	}
}
