package canonical_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/internal/canonical"
	"culvert/internal/rowsum"
	"culvert/internal/testkit"
	"culvert/source"
)

// documents are JSON of few shapes: each %s is another scalar in each row.
var documents = []string{
	`{"n": %s, "tag": %s}`, `{"n":%s,"tag":%s}`, `{"tag": %s, "n": %s}`, ` {"tag":%s , "n" : %s}` + "\n",
	`{"a":%s,"a":%s}`, `{"a":{"b":%s,"a":[%s]},"é, \"":1}`, `[%s, [ %s ]]`, `[[%s],[],{},%s,true,-0.50]`,
	`{"a": %s, "461168601842710": %s}`, `{"b": {"d": 1.0, "c": %s}, "a": %s}`, `%s`, `[%s]`, `{"a": %s, "b": %s`,
	`{"a": %s}, "b": %s`, `{"\u0061": %s, "b": 1}`, `{"a": %s, "b": "` + "\xff" + `"}`,
	`{` + strings.Repeat(`"a%[1]s": [%[1]s, %[2]s], `, 40) + `"x": 1}`,
	`[` + strings.Repeat(`{"k": %[1]s}, `, 40) + `%[2]s]`,
	`{"` + strings.Repeat("long", 1200) + `": %s, "x": %s}`,
}

func scalar(r *rand.Rand) string {
	switch r.IntN(12) {
	case 0:
		return oneOf(r, "true", "false", "null", "truth", "nul", "-", "", " 1", `"`, `"\"`, `"a\`, "[]", "{}", `1,2`)
	case 1:
		return oneOf(r, "-0", "0.0", "1e3", "1.5E-2", "01", "1.", ".5", "-0.10", "100", "4611686018427",
			"461168601842710")
	case 2, 3:
		return fmt.Sprintf("%d.%d", r.IntN(100)-50, r.IntN(100))
	case 4:
		return oneOf(r, `"\n"`, `"\/"`, `"\u00e9"`, `"\\"`, `"\""`, `"\x"`, `"\b\f\r\t"`, "\"\t\"", "\"\xc3\"",
			`"a" "b"`)
	case 5, 6:
		return `"` + oneOf(r, "", "é", "a, b", "表 of eight and more", "water, still and stone", `}`, `":1,"`, "]") + `"`
	case 7:
		return `"` + strings.Repeat(oneOf(r, "copper", "x", "é"), r.IntN(30)) + `"`
	}
	return fmt.Sprint(r.IntN(2000) - 1000)
}

// sales are columns with JSON and moments between others, and rows of them. The JSON mostly has one of few shapes.
func sales(r *rand.Rand, rows int) (columns []source.Column, b source.Batch) {
	for i, logical := range []string{"string", "json", "instant", "int32", "json", "timestamp", "bool", "string"} {
		columns = append(columns, source.Column{Name: fmt.Sprint(i), Logical: typeOfName[logical]})
	}
	b.Reset(len(columns))
	few := 1 + r.IntN(4)
	if r.IntN(5) == 0 {
		few = len(documents)
	}
	first := r.IntN(len(documents))
	for range rows {
		for _, c := range columns {
			text := oneOf(r, "", "x", `paper "market", river`, "1", "0", "a line\nand another", "longer than a word")
			switch c.Logical.Class {
			case source.JSONClass:
				document := documents[(first+r.IntN(few))%len(documents)]
				text = strings.NewReplacer("%[1]s", scalar(r), "%[2]s", scalar(r)).Replace(document)
				for strings.Contains(text, "%s") {
					text = strings.Replace(text, "%s", scalar(r), 1)
				}
			case source.InstantClass, source.TimestampClass:
				text = fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", 1990+r.IntN(40), r.IntN(13), r.IntN(32), r.IntN(25),
					r.IntN(61), r.IntN(61))
				text += oneOf(r, "", "", ".5", ".000", ".120", ".123456", ".1234567", ".", ".12x", "Z", "+02")
			}
			if r.IntN(20) == 0 {
				b.AppendNull()
			} else {
				b.Append(source.Text, []byte(text))
			}
		}
		b.EndRow()
	}
	return columns, b
}

var typeOfName = map[string]source.Type{
	"string": {Class: source.StringClass}, "json": {Class: source.JSONClass}, "bool": {Class: source.BoolClass},
	"instant": {Class: source.InstantClass}, "timestamp": {Class: source.TimestampClass},
	"int32": {Class: source.IntClass, Bits: 32},
}

// plainSum is what a row adds up to: the line of CSV of the canonical texts of its values, each made alone.
func plainSum(columns []source.Column, b *source.Batch) (sum rowsum.Sum) {
	for row := range b.Rows() {
		var fields [][]byte
		for i, c := range columns {
			kind, value := b.Value(row, i)
			if kind == source.Null {
				fields = append(fields, nil)
				continue
			}
			var values canonical.Values
			text := values.Text(c.Logical, value)
			if len(text) == 0 || bytes.ContainsAny(text, ",\"\r\n") {
				text = fmt.Appendf(nil, `"%s"`, bytes.ReplaceAll(text, []byte(`"`), []byte(`""`)))
			}
			fields = append(fields, slices.Clone(text))
		}
		sum.Add(rowsum.Of(append(bytes.Join(fields, []byte(",")), '\n')))
	}
	return sum
}

// unending hides where fields end.
type unending struct{ *canonical.Adder }

func (unending) WantsEnds() bool { return false }

// TestAdderPlain compares sums of rows with sums of the canonical texts of single values.
func TestAdderPlain(t *testing.T) {
	var kept canonical.Adder // with the shapes of other columns
	for seed := range uint64(400) {
		columns, b := sales(rand.New(rand.NewPCG(35, seed)), 40)
		types := canonical.TypesOf(columns, "")
		want := plainSum(columns, &b)
		var bare canonical.Adder
		bare.Reset(types)
		kept.Reset(types)
		addLines(t, columns, &b, &kept)
		addLines(t, columns, &b, unending{&bare})
		if kept.Canonical != want || bare.Canonical != want {
			t.Errorf("seed %d: %v with ends, %v without, want %v", seed, kept.Canonical, bare.Canonical, want)
		}
		for row := 0; row < b.Rows() && t.Failed(); row++ {
			reportRow(t, columns, &b, row)
		}
	}
}

// reportRow says if the sum of one row is another.
func reportRow(t *testing.T, columns []source.Column, b *source.Batch, row int) {
	t.Helper()
	var one source.Batch
	one.Reset(len(columns))
	for i := range columns {
		if kind, value := b.Value(row, i); kind == source.Null {
			one.AppendNull()
		} else {
			one.Append(kind, value)
		}
	}
	one.EndRow()
	var alone canonical.Adder
	alone.Reset(canonical.TypesOf(columns, ""))
	addLines(t, columns, &one, &alone)
	if alone.Canonical != plainSum(columns, &one) {
		t.Fatalf("row %d has another sum also alone", row)
	}
}

// TestKnownSums has the sums of rows as they were at first: manifests have them.
func TestKnownSums(t *testing.T) {
	for _, test := range []struct {
		printed     source.Dialect
		sales, each string
	}{
		{"", "96565e6105b1978103db446103fc3a0a", "75bf2468732b295beaa32e12b5d4c0d6"},
		{source.PostgreSQL, "c42ee2de5cf60ed103eb5b7a1fcbb44f", "b4c63c9b08ff10fd70a107f2ae04fae8"},
		{source.MySQL, "e8542d1c49ade76ba8953b6958152956", "3eb406c0657d1ee1d8608c548833e1ae"},
		{source.MariaDB, "e8542d1c49ade76ba8953b6958152956", "e5c6f8b7be1a763f7bf6a93c8c953de4"},
		{source.SQLite, "96565e6105b1978103db446103fc3a0a", "e629807661ae46f35e429ce1945e93e3"},
	} {
		columns, b := sales(rand.New(rand.NewPCG(35, 1<<32)), 2000)
		if got := canonicalSum(t, test.printed, columns, &b); got != test.sales {
			t.Errorf("%q: sales are %s, want %s", test.printed, got, test.sales)
		}
		columns, b = nil, source.Batch{}
		for _, one := range printed {
			columns = append(columns, source.Column{Name: one.sql, Type: one.sql, Logical: typeOf(t, one.logical)})
		}
		b.Reset(len(columns))
		r := rand.New(rand.NewPCG(31, 1<<32))
		for range 500 {
			for _, one := range printed {
				b.Append(source.Text, []byte(one.text(r)))
			}
			b.EndRow()
		}
		if got := canonicalSum(t, test.printed, columns, &b); got != test.each {
			t.Errorf("%q: values of each type are %s, want %s", test.printed, got, test.each)
		}
	}
}

func canonicalSum(t *testing.T, printed source.Dialect, columns []source.Column, b *source.Batch) string {
	t.Helper()
	var sum canonical.Adder
	sum.Reset(canonical.TypesOf(columns, printed))
	addLines(t, columns, b, &sum)
	return sum.Canonical.String()
}

// TestAllocationsOfShapes has JSON of a known shape.
func TestAllocationsOfShapes(t *testing.T) {
	var sum canonical.Adder
	sum.Reset(canonical.TypesOf([]source.Column{{Logical: typeOfName["json"]}}, ""))
	line := []byte(`"{""tag"":""copper"", ""n"": 17.50}"` + "\n")
	testkit.Allocs(t, 0, func() { sum.Line(line) })
}

// FuzzRows does what TestAdderPlain does, for rows of two columns of JSON. The second row has the scalars of the first
// one in another document.
func FuzzRows(f *testing.F) {
	for i, document := range documents {
		f.Add([]byte(document), []byte("1"), []byte(`"x"`), uint8(i))
	}
	f.Fuzz(func(t *testing.T, document, one, other []byte, cut uint8) {
		columns := []source.Column{
			{Name: "a", Logical: typeOfName["json"]}, {Name: "b", Logical: typeOfName["instant"]},
		}
		var b source.Batch
		b.Reset(len(columns))
		for _, values := range [][2][]byte{{one, other}, {other, one}, {one, one}, {[]byte("7"), []byte(`"\n"`)}} {
			text := bytes.Replace(document, []byte("%s"), values[0], 1)
			b.Append(source.Text, bytes.ReplaceAll(text, []byte("%s"), values[1]))
			b.Append(source.Text, values[0])
			b.EndRow()
			b.Append(source.Text, text[min(int(cut), len(text)):])
			b.Append(source.Text, text[:min(int(cut), len(text))])
			b.EndRow()
		}
		var sum canonical.Adder
		sum.Reset(canonical.TypesOf(columns, ""))
		addLines(t, columns, &b, &sum)
		if want := plainSum(columns, &b); sum.Canonical != want {
			t.Errorf("%q, %q, %q: %v, want %v", document, one, other, sum.Canonical, want)
		}
	})
}

// keeper keeps lines, and where their fields end.
type keeper struct {
	unending
	lines [][]byte
	ends  [][]int
}

func (k *keeper) WantsEnds() bool { return true }

func (k *keeper) Row(line []byte, ends []int) {
	k.lines, k.ends = append(k.lines, bytes.Clone(line)), append(k.ends, slices.Clone(ends))
}

// BenchmarkRows adds different rows, with both sums and with that of the text alone.
func BenchmarkRows(b *testing.B) {
	columns := []source.Column{
		{Name: "id", Type: "bigint", Logical: typeOf(b, "int64")},
		{Name: "customer", Type: "int", Logical: typeOf(b, "int32")},
		{Name: "title", Type: "text", Logical: typeOf(b, "string")},
		{Name: "amount", Type: "decimal(12,2)", Logical: typeOf(b, "decimal(12,2)")},
		{Name: "created", Type: "timestamp(3)", Logical: typeOf(b, "instant(3)")},
		{Name: "done", Type: "tinyint", Logical: typeOf(b, "int16")},
		{Name: "attributes", Type: "longtext", Logical: typeOf(b, "json")},
		{Name: "note", Type: "text", Logical: typeOf(b, "string")},
	}
	for _, name := range []string{"text", "spaced", "compact", "unordered", "diverse"} {
		r := rand.New(rand.NewPCG(35, 0))
		var rows source.Batch
		rows.Reset(len(columns))
		for i := range 4096 {
			document := map[string]string{
				"spaced": `{"n": %d, "tag": "copper"}`, "compact": `{"n":%d,"tag":"copper"}`,
				"unordered": `{"tag": "copper", "n": %d}`, "diverse": `{"n%[1]d": %[1]d, "tag": "copper"}`,
			}[name]
			text := func(format string, values ...any) { rows.Append(source.Text, fmt.Appendf(nil, format, values...)) }
			text("%d", 100000+i)
			text("%d", r.IntN(100000))
			text(`paper market, river "%08x" %016x%016x`, r.Uint32(), r.Uint64(), r.Uint64())
			text("%d.%02d", r.IntN(100000), r.IntN(100))
			text("2023-09-%02d %02d:%02d:%02d.%03d", 1+r.IntN(30), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000))
			text("%d", i%2)
			text(document, r.IntN(1000))
			text("window stone")
			rows.EndRow()
		}
		types := canonical.TypesOf(columns, source.MariaDB)
		if name == "text" {
			types = nil
		}
		benchmarkLines(b, name, columns, &rows, types)
	}
}

// benchmarkLines adds the lines of rows, with both sums, or with that of the text alone if types is nil.
func benchmarkLines(b *testing.B, name string, columns []source.Column, rows *source.Batch, types *canonical.Types) {
	var kept keeper
	addLines(b, columns, rows, &kept)
	b.Run(name, func(b *testing.B) {
		var sum canonical.Adder
		sum.Reset(types)
		b.SetBytes(int64(len(kept.lines[0])))
		for i := 0; b.Loop(); i++ {
			sum.Row(kept.lines[i%len(kept.lines)], kept.ends[i%len(kept.lines)])
		}
	})
}
