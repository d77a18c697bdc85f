package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// decodeAll reads rows with a decoder, in as many batches as it fills.
func decodeAll(d format.Decoder, text []byte) (rows [][]cell, err error) {
	var b source.Batch
	b.SetLimit(256)
	for len(text) > 0 {
		n, err := d.Decode(&b, text)
		if err != nil {
			return rows, err
		}
		rows = append(rows, cells(&b)...)
		text = text[n:]
	}
	return rows, nil
}

// cells copies the values of a batch.
func cells(b *source.Batch) [][]cell {
	var rows [][]cell
	for r := range b.Rows() {
		row := make([]cell, b.Columns())
		for c := range row {
			kind, value := b.Value(r, c)
			row[c] = cell{kind, string(value)}
		}
		rows = append(rows, row)
	}
	return rows
}

func decoder(tb testing.TB, f format.Readable, fields ...format.Field) format.Decoder {
	tb.Helper()
	d, err := f.Decoder(fields)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// textFields are fields of text, named a, b, c and so on.
func textFields(n int) []format.Field {
	fields := make([]format.Field, n)
	for i := range fields {
		fields[i] = format.Field{Name: string(rune('a' + i)), Kind: source.Text}
	}
	return fields
}

// readable are the formats that are written and read.
var readable = map[string]interface {
	format.Format
	format.Readable
}{"csv": format.CSV{}, "jsonl": format.JSONL{InvalidUTF8: format.Base64Invalid}}

// kindCells are values of each kind, as databases print them.
var kindCells = map[source.Kind][]cell{
	source.Text: {
		text(""), text("water"), text(`\x`), text(`\x00ff`), text("null"), text("t"), text("17"), text(" a,b "),
		text("\"\n\r\t\\"), text("Müller 水 😀 \u2028"), text("\x00\x1f"), text("caf\xe9"), text(`{"base64":"/w=="}`),
		text(`{1,NULL,"x"}`), text("2026-11-23 10:00:00.5+00"), text(`""`), text(`\.`), text("\ufeff"),
	},
	source.Number: {
		number("0"), number("-0"), number("12.50"), number("1e+20"), number("1E-400"), number("NaN"),
		number("Infinity"), number("-Infinity"), number("007"), number(".5"), number("1."), number("-9.0e+999"),
		number("123456789012345678901234567890.00100"), text("twelve"), text(""), text("-"), text("1e"), text("."),
	},
	source.Bool:  {boolean("t"), boolean("f")},
	source.Bytes: {binary(""), binary("\x00"), binary("\xfb\xff\xfe\"\n,")},
	source.JSON: {
		jsonCell(`{"a": [1, 2.50, true, null], "b": "x\n\u0000\ud83d\ude00"}`), jsonCell(`"a string"`), jsonCell(`17`),
		jsonCell(`true`), jsonCell(`[ ]`), jsonCell("{\"caf\xe9\": 1}"), jsonCell(`{"base64":"YQ=="}`),
		jsonCell(`null`), jsonCell(`{"base64":"/w=="}`), jsonCell(`{"json_text":"null"}`),
		jsonCell("{\xff}\n"),
	},
}

// TestRoundTrip writes rows of random values of all kinds and reads them again.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	kinds := []source.Kind{source.Text, source.Number, source.Bool, source.Bytes, source.JSON, source.Text}
	for range 200 {
		var fields []format.Field
		var names []string
		for i := range 1 + r.IntN(7) {
			name := []string{"id", "a,b", `say "hi"`, "line\nbreak", "Ünï", "", `\.`}[i]
			fields = append(fields, format.Field{Name: name, Kind: kinds[r.IntN(len(kinds))]})
			names = append(names, name)
		}
		rows := randomRows(r, fields, r.IntN(30))
		for name, f := range readable {
			out := []byte(encode(t, f, names, rows...))
			expectRows(t, name, f, fields, out, rows)
		}
	}
}

func randomRows(r *rand.Rand, fields []format.Field, count int) [][]cell {
	rows := make([][]cell, count)
	for i := range rows {
		for _, f := range fields {
			values := kindCells[f.Kind]
			c := values[r.IntN(len(values))]
			switch {
			case r.IntN(8) == 0:
				c = null()
			case f.Kind == source.Text && r.IntN(2) == 0:
				c = text(nastyText(r))
			}
			rows[i] = append(rows[i], c)
		}
	}
	return rows
}

// expectRows reads a whole file: at once, without its last line feed, and in blocks of every size.
func expectRows(t *testing.T, name string, f format.Readable, fields []format.Field, file []byte, want [][]cell) {
	t.Helper()
	names, n, err := f.Header(file)
	if err != nil {
		t.Fatalf("%s: header: %v in %q", name, err, file)
	}
	if n > 0 || len(want) > 0 {
		for i, f := range fields {
			if len(names) != len(fields) || names[i] != f.Name {
				t.Fatalf("%s: the names are %q, want those of %v", name, names, fields)
			}
		}
	}
	body := file[n:]
	check := func(what string, got [][]cell, err error) {
		t.Helper()
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%s %s: error %v of %q\n got %v\nwant %v", name, what, err, body, got, want)
		}
	}
	d := decoder(t, f, fields...)
	got, err := decodeAll(d, body)
	check("at once", got, err)
	if n, rows := f.Cut(body); n != len(body) || rows != len(want) {
		t.Fatalf("%s: Cut returns %d bytes and %d rows, want %d and %d", name, n, rows, len(body), len(want))
	}
	if last := len(want) - 1; last >= 0 && !slices.Equal(want[last], []cell{null()}) {
		got, err = decodeAll(d, body[:len(body)-1])
		check("without the last line feed", got, err)
	}
}

// TestDecodeFields reads values that do not look like those of their field.
func TestDecodeFields(t *testing.T) {
	for _, test := range []struct {
		kind       source.Kind
		csv, jsonl string // a value; "" for none
		want       cell
	}{
		{source.Null, "17", "", text("17")},
		{source.Null, "", "17", number("17")},
		{source.Null, "true", "", text("true")},
		{source.Null, "", "true", boolean("t")},
		{source.Null, `\x00`, `"\\x00"`, text(`\x00`)},
		{source.Null, "", `[1]`, jsonCell("[1]")},
		{source.Text, "", "17", text("17")},
		{source.Text, "", "1e999", text("1e999")},
		{source.Text, "", "false", text("false")},
		{source.Text, "", `{"a":1}`, jsonCell(`{"a":1}`)},
		{source.Text, "", `{"base64":"YQ=="}`, jsonCell(`{"base64":"YQ=="}`)},   // valid UTF-8
		{source.Text, "", `{"base64": "/w=="}`, jsonCell(`{"base64": "/w=="}`)}, // with a space
		{source.Text, "", `{"base64":"/w="}`, jsonCell(`{"base64":"/w="}`)},
		{source.Number, "twelve", `"twelve"`, text("twelve")},
		{source.Number, `"12"`, `"12"`, number("12")},
		{source.Number, "+1.5E+3", `"+1.5E+3"`, number("+1.5E+3")},
		{source.Number, "1e5.", `"1e5."`, text("1e5.")},
		{source.Number, "inf", `"inf"`, text("inf")},
		{source.Number, "", `true`, boolean("t")},
		{source.Bool, "TRUE", `"TRUE"`, boolean("t")},
		{source.Bool, "off", `"off"`, boolean("f")},
		{source.Bool, "0", "0", boolean("f")},
		{source.Bool, "2", "", text("2")},
		{source.Bool, "", "2", number("2")},
		{source.Bool, "maybe", `"maybe"`, text("maybe")},
		{source.Bool, `""`, `""`, text("")},
		{source.Bytes, `\xFF00`, `"\\xFF00"`, binary("\xff\x00")},
		{source.Bytes, `"\x"`, `"\u005cx"`, binary("")},
		{source.Bytes, `\x"ff"00`, `"\u005c\u0078ff00"`, binary("\xff\x00")},
		{source.Bytes, `\xf`, `"\\xf"`, text(`\xf`)},
		{source.Bytes, `\xffgg`, `"\\xffgg"`, text(`\xffgg`)},
		{source.Bytes, `"\xff""gg"`, `"\\xff\"gg"`, text(`\xff"gg`)},
		{source.Bytes, "raw", `"raw"`, text("raw")},
		{source.JSON, "{", "", jsonCell("{")},
		{source.JSON, "", `"\ud800"`, jsonCell(`"\ud800"`)},
		{source.JSON, "", "null", null()},
		{source.JSON, "", `{"json_text":"\u006eull"}`, jsonCell("null")},
		{source.Text, "", `{"json_text":"null"}`, jsonCell("null")},
		{source.JSON, "", `{"json_text": "null"}`, jsonCell(`{"json_text": "null"}`)}, // with a space
		{source.JSON, "", `{"json_text":"a","b":"c"}`, jsonCell(`{"json_text":"a","b":"c"}`)},
	} {
		field := format.Field{Name: "a", Kind: test.kind}
		for format, line := range map[string]string{"csv": test.csv, "jsonl": test.jsonl} {
			if line == "" {
				continue
			}
			if format == "jsonl" {
				line = `{"a":` + line + "}"
			}
			got, err := decodeAll(decoder(t, readable[format], field), []byte(line+"\n"))
			if err != nil || len(got) != 1 || got[0][0] != test.want {
				t.Errorf("%v of %s %s: %v and error %v, want %v", test.kind, format, line, got, err, test.want)
			}
		}
	}
}

func TestDecodeSkips(t *testing.T) {
	fields := textFields(3)
	fields[0].Skip, fields[2].Skip = true, true
	for name, input := range map[string]string{
		"csv":   "1,2,3\n4,,6\n",
		"jsonl": `{"a":1,"b":"2","c":3}` + "\n" + `{"c":4,"a":6}` + "\n",
	} {
		got, err := decodeAll(decoder(t, readable[name], fields...), []byte(input))
		want := [][]cell{{text("2")}, {null()}}
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: %v and error %v, want %v", name, got, err, want)
		}
	}
}

// TestDecodeErrors also checks that a decoder can be used after an error.
func TestDecodeErrors(t *testing.T) {
	halfPair := format.RowError{Row: 1, Column: "a", Reason: "a string has half of a surrogate pair"}
	for _, test := range []struct {
		format, text string
		want         format.RowError
	}{
		{"csv", "1,2\n3,\"4\n", format.RowError{Row: 2, Column: "b", Reason: "a quote is not closed"}},
		{"csv", "1,2\n3\n", format.RowError{Row: 2, Reason: "it has 1 value, and there are 2 columns"}},
		{"csv", "1,2\n3,4,5\n", format.RowError{Row: 2, Reason: "it has more values than the 2 columns"}},
		{"csv", "1,2\n\n", format.RowError{Row: 2, Reason: "it is an empty line"}},
		{
			"csv", "1,2\n3\r,4\n",
			format.RowError{Row: 2, Column: "a", Reason: "a carriage return is neither quoted nor before a line feed"},
		},
		{
			"csv", "1,2\n3,4\r\n",
			format.RowError{Row: 2, Reason: "the row ends in CR LF, those before it in LF"},
		},
		{
			"csv", "1,2\r\n3,4\n",
			format.RowError{Row: 2, Reason: "the row ends in LF, those before it in CR LF"},
		},
		{"jsonl", "{}\n\n[1]\n", format.RowError{Row: 2, Reason: "it is not a JSON object"}},
		{"jsonl", "{}\n{\"a\":1,}\n", format.RowError{Row: 2, Reason: "it is not valid JSON at byte 8 of the line"}},
		{"jsonl", "{\"a\":\"1\n2\"}\n", format.RowError{Row: 1, Reason: "the JSON object is not complete"}},
		{"jsonl", "{\"a\":tru}", format.RowError{Row: 1, Reason: "it is not valid JSON at byte 6 of the line"}},
		{"jsonl", "{\"a\":1", format.RowError{Row: 1, Reason: "the JSON object is not complete"}},
		{"jsonl", "{} {}", format.RowError{Row: 1, Reason: "something follows the object at byte 4 of the line"}},
		{"jsonl", `{"a":1 "b":2}`, format.RowError{Row: 1, Reason: "it is not valid JSON at byte 8 of the line"}},
		{"jsonl", `{"a":1,"b":2,"c":3}`, format.RowError{Row: 1, Column: "c", Reason: "there is no such column"}},
		{"jsonl", `{"a":1,"a":2}`, format.RowError{Row: 1, Column: "a", Reason: "the object has this name twice"}},
		{"jsonl", `{"a":"\ud83d x"}`, halfPair},
		{"jsonl", `{"a":"\ude00\ud83d"}`, halfPair},
	} {
		d := decoder(t, readable[test.format], textFields(2)...)
		var b source.Batch
		n, err := d.Decode(&b, []byte(test.text))
		bad, ok := errors.AsType[*format.RowError](err)
		if !ok || *bad != test.want || n != 0 || b.Rows() != 0 {
			t.Errorf("%s %q: %v, %d rows, want %+v", test.format, test.text, err, b.Rows(), test.want)
		}
		good := map[string]string{"csv": "7,8\n", "jsonl": `{"a":"7","b":"8"}`}[test.format]
		if n, err := d.Decode(&b, []byte(good)); n != len(good) || err != nil || b.Rows() != 1 {
			t.Errorf("after an error: %d, %v", n, err)
		}
	}
	for want, err := range map[string]format.RowError{
		"format: row 7: it is an empty line": {Row: 7, Reason: "it is an empty line"},
		`format: row 8 (line 9), column "a": a quote is not closed`: {
			Row: 8, Line: 9, Column: "a", Reason: "a quote is not closed",
		},
	} {
		if err.Error() != want {
			t.Errorf("the message is %q, want %q", err.Error(), want)
		}
	}
}

func TestDecoderOptions(t *testing.T) {
	twice := []format.Field{{Name: "a"}, {Name: "a"}}
	if _, err := (format.JSONL{}).Decoder(twice); err == nil {
		t.Error("two fields of the same name are accepted for JSON Lines")
	}
	if _, err := (format.CSV{}).Decoder(twice); err != nil {
		t.Error(err)
	}
}

// TestDecodeStopsWhenFull checks that batches keep their limit.
func TestDecodeStopsWhenFull(t *testing.T) {
	for name, f := range readable {
		out := []byte(encode(t, f, []string{"a"}, slices.Repeat([][]cell{{text(strings.Repeat("x", 100))}}, 1000)...))
		_, n, err := f.Header(out)
		if err != nil {
			t.Fatal(err)
		}
		d := decoder(t, f, textFields(1)...)
		var b source.Batch
		b.SetLimit(10_000)
		total, batches := 0, 0
		for out = out[n:]; len(out) > 0; out = out[n:] {
			if n, err = d.Decode(&b, out); err != nil {
				t.Fatal(err)
			}
			if b.Size() > 11_000 {
				t.Fatalf("%s: a batch of %d bytes", name, b.Size())
			}
			total, batches = total+b.Rows(), batches+1
		}
		if total != 1000 || batches < 10 {
			t.Errorf("%s: %d rows in %d batches", name, total, batches)
		}
	}
}

// todoFields are the fields of todos.
func todoFields() []format.Field {
	kinds := []source.Kind{
		source.Number, source.Number, source.Text, source.Number, source.Text, source.Bool, source.JSON, source.Text,
	}
	var fields []format.Field
	for i, name := range todoNames {
		fields = append(fields, format.Field{Name: name, Kind: kinds[i]})
	}
	return fields
}

func TestDecodeAllocatesNothing(t *testing.T) {
	want := cells(todos(1000))
	for name, f := range readable {
		t.Run(name, func(t *testing.T) {
			out, err := encoder(t, f, todoNames...).AppendRows(nil, todos(1000))
			if err != nil {
				t.Fatal(err)
			}
			d := decoder(t, f, todoFields()...)
			var b source.Batch
			decode := func() {
				if n, err := d.Decode(&b, out); n != len(out) || err != nil {
					t.Fatal(n, err)
				}
			}
			decode()
			if got := cells(&b); !slices.EqualFunc(got, want, slices.Equal) {
				t.Error("the rows differ")
			}
			testkit.Allocs(t, 0, decode)
		})
	}
}

// TestFrames joins frames of which some are pieces of a row, as a reader of a file of frames does.
func TestFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	fields := textFields(2)
	for range 20 {
		var rows [][]cell
		for range 1 + r.IntN(6) {
			row := []cell{largeCell(r), largeCell(r)}
			for i := range row {
				if row[i].kind != source.Null {
					row[i].kind = source.Text
				}
			}
			rows = append(rows, row)
		}
		for name, f := range readable {
			var frames [][]byte
			last, err := encoder(t, f, "a", "b").AppendPieces(nil, fill(2, rows...), 1+r.IntN(300_000),
				func(text []byte) ([]byte, error) {
					frames = append(frames, bytes.Clone(text))
					return text[:0], nil
				})
			if err != nil {
				t.Fatal(err)
			}
			var got [][]cell
			var held []byte
			d := decoder(t, f, fields...)
			for _, frame := range append(frames, last) {
				held = append(held, frame...)
				n, rows := f.Cut(held)
				whole, err := decodeAll(d, held[:n])
				if err != nil || len(whole) != rows {
					t.Fatalf("%s: %d rows, want %d, error %v", name, len(whole), rows, err)
				}
				got, held = append(got, whole...), held[n:]
			}
			if len(held) > 0 || !slices.EqualFunc(got, rows, slices.Equal) {
				t.Fatalf("%s: %d rows and %d bytes are left, want %d rows", name, len(got), len(held), len(rows))
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, f := range readable {
		text, err := encoder(b, f, todoNames...).AppendRows(nil, todos(7000))
		if err != nil {
			b.Fatal(err)
		}
		var batch source.Batch
		d := decoder(b, f, todoFields()...)
		run := func(what string, read func() error) {
			b.Run(fmt.Sprintf("format=%s/read=%s", name, what), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("culvert", func() error {
			for rest := text; len(rest) > 0; {
				n, err := d.Decode(&batch, rest)
				if err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		})
		run("cut", func() error {
			if n, _ := f.Cut(text); n != len(text) {
				return errors.New("rows are missing")
			}
			return nil
		})
		run("standard", func() error { return standardReaders[name](text) })
	}
}
