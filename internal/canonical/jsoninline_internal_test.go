package canonical

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// inLine returns JSON in a quoted field of a line, and where the field begins and ends.
func inLine(text string) (line []byte, at, end int) {
	line = append([]byte("7,"), '"')
	line = append(line, strings.ReplaceAll(text, `"`, `""`)...)
	line = append(line, '"')
	return append(line, ",x\n"...), 2, len(line)
}

// expectTwin compares what is made of JSON where it is in a line with its canonical text.
func expectTwin(tb testing.TB, text string) (read bool) {
	tb.Helper()
	line, at, want := inLine(text)
	var j jsonInLine
	end := j.field(line, at)
	var values Values
	canonical := string(values.Text(source.Type{Class: source.JSONClass}, []byte(text)))
	if end < 0 {
		if len(j.out) > 0 || j.taken > 0 {
			tb.Errorf("%q has left %q", text, j.out)
		}
		return false
	}
	differs := j.taken > 0
	j.copy(line, len(line), len(line))
	if got, _, _ := inLine(canonical); string(j.out) != string(got) || end != want || differs != (canonical != text) {
		tb.Errorf("%q is read as %q, up to %d of %d, want %q", text, j.out, end, want, got)
	}
	return true
}

// TestJSONInLine has JSON that is read where it is.
func TestJSONInLine(t *testing.T) {
	for _, text := range []string{
		`"a, b"`, `""`, `[1, -2, 0, 0.5, -0.05, 10.01, 1234567890123]`, `[[], [[]], {}]`,
		`{"b": 1, "c": {"a": [true, false, null]}, "aa": "é"}`, `{"": "", "é": {"é": 1}}`,
		strings.Repeat("[", maxLookDepth-1) + `1, 2` + strings.Repeat("]", maxLookDepth-1),
		`{"a":1}`, `[1,2]`, `[ 1, 2]`, `{"aa": 1, "b": 2}`, `{"b": 1, "a": 2}`, `{"a": 1, "a": 1}`, `[1.0,1.50]`,
		"{\n  \"a\" :\t[ 1 , 2 ]\r\n}\n", ` {"b" : { } , "a":[ ]} `, `["\n\\\t", "\/", "\"\"", "\b\f\r"]`,
		`{"longer": {"b": 1, "a":[{"d":1,"c":2}]}, "b":{"f":2,"e":1,"f":3}, "a":"x"}`, `["long enough: \", and more"]`,
	} {
		if !expectTwin(t, text) {
			t.Errorf("%s is not read where it is", text)
		}
	}
	// What is none, and what is rare, are left to the printer.
	for _, text := range []string{
		`[-0, 1]`, `[-0.0, 1]`, `[01, 1]`, `[1e2, 1]`, `[1., 1]`, `[-, 1]`, `[.5, 1]`, `["\u0041"]`, "[\"\n\"]",
		"\"\xff\"", `[1, ]`, `[1 2]`, `{"a": 1,}`, `{a: 1}`, `{"\n": 1}`, `{1: 1}`, `[`, `{`, `{"a`, `"`, ``, `nul`,
		`[]]`, `[tru]`, `["\x"]`, `["\`, `["\"`, `["a"] x`, `7`, `[]`, "[1]\n", "\v[1, 2]", "[1,\v2]",
		strings.Repeat("[", maxLookDepth+1) + strings.Repeat("]", maxLookDepth+1),
		"[1, " + strings.Repeat("1", 200) + "]",
		`["` + strings.Repeat("a", 2*MaxJSON) + `"]`, `["` + strings.Repeat(`""`, MaxJSON/3) + `"]`,
		`["` + strings.Repeat("a", 2*MaxJSON-8) + `"]"`, // the quote after it is beyond what is looked at
	} {
		if expectTwin(t, text) {
			t.Errorf("%.100q is read where it is", text)
		}
	}
	for _, line := range []string{`"`, `"[`, `"[]`, `"""`, `""""`, `"""a`, `"""a"`, `"[]""`, `"{""a`, `"{""a""`} {
		var j jsonInLine
		if j.field([]byte(line), 0) >= 0 {
			t.Errorf("the field %q is not complete", line)
		}
	}
}

// TestMoments has the size of moments, and whether days are as usual, by what reads them in any form.
func TestMoments(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 2))
	for range 200_000 {
		text := fmt.Appendf(nil, "%04d-%02d-%02d %02d:%02d:%02d", random.IntN(2)*random.IntN(10000), random.IntN(14),
			random.IntN(33), random.IntN(30), random.IntN(62), random.IntN(62))
		if random.IntN(2) == 0 {
			text = fmt.Appendf(text, ".%0*d", 1+random.IntN(7), random.IntN(10))
		}
		if random.IntN(3) == 0 {
			text[random.IntN(len(text))] = byte(random.IntN(256))
		}
		canonical, ok := appendTimestamp(nil, text)
		if other := isOtherMoment(text); !other && (!ok || string(canonical) != string(text)) {
			t.Fatalf("%q is %q", text, canonical)
		}
		instant, ok := appendInstant(nil, text)
		var quick jsonInLine
		if quick.moment(text, 0, len(text)) && (!ok || string(quick.out) != string(instant)) {
			t.Fatalf("%q is %q, not %q", text, instant, quick.out)
		}
		canonical, ok = appendDate(nil, text[:10])
		if !isOtherDay(text[:10]) && (!ok || string(canonical) != string(text[:10])) {
			t.Fatalf("%q is %q", text[:10], canonical)
		}
	}
}

// TestRandomCanonicalJSON has random JSON as systems write it, and its canonical text: all of that which has no escapes
// is seen.
func TestRandomCanonicalJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 0))
	var values Values
	for range 20_000 {
		text := randomJSON(random, 4)
		expectTwin(t, text)
		canonical := string(values.Text(source.Type{Class: source.JSONClass}, []byte(text)))
		if strings.ContainsAny(canonical, `,"`) && !strings.Contains(text, `\`) && !expectTwin(t, text) {
			t.Fatalf("%q is not read where it is", text)
		}
		expectTwin(t, canonical)
		one := []byte(canonical)
		if len(one) > 0 {
			one[random.IntN(len(one))] = " \"\\{}[],:0189.-eanté\n"[random.IntN(20)]
			expectTwin(t, string(one))
		}
	}
}

// randomJSON makes JSON of members in any order, with or without spaces.
func randomJSON(random *rand.Rand, depth int) string {
	space := []string{"", " "}[random.IntN(2)]
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	var parts []string
	switch kind := random.IntN(kinds); kind {
	case 0:
		return []string{"true", "false", "null"}[random.IntN(3)]
	case 1, 2:
		return fmt.Sprint(random.IntN(2001) - 1000)
	case 3:
		return fmt.Sprintf("%d.%d", random.IntN(100)-50, random.IntN(1000))
	case 4, 5:
		return randomString(random)
	case 6:
		for range random.IntN(4) {
			parts = append(parts, randomJSON(random, depth-1))
		}
		return "[" + strings.Join(parts, ","+space) + "]"
	default:
		for range random.IntN(5) {
			parts = append(parts, randomString(random)+":"+space+randomJSON(random, depth-1))
		}
		return "{" + strings.Join(parts, ","+space) + "}"
	}
}

func randomString(random *rand.Rand) string {
	alphabet := []string{"a", "b", "é", "表", "😀", ",", ":", " ", "{", "]", "a", "b"}
	if random.IntN(8) == 0 {
		alphabet = append(alphabet, `\n`, `\"`, `\\`, `\u0041`, `\/`)
	}
	text := ""
	for range random.IntN(4) {
		text += alphabet[random.IntN(len(alphabet))]
	}
	return `"` + text + `"`
}

func FuzzCanonicalJSON(f *testing.F) {
	random := rand.New(rand.NewPCG(31, 1))
	for range 20 {
		f.Add([]byte(randomJSON(random, 3)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		expectTwin(t, string(text))
		// A whole line that is no CSV.
		line := append(slices.Clone(text), '\n')
		if at := bytes.IndexByte(line, '"'); at >= 0 {
			var j jsonInLine
			if end := j.field(line, at); end > len(line) || end > 0 && line[end-1] != '"' {
				t.Errorf("%q ends at %d", line, end)
			}
		}
	})
}

// BenchmarkJSON has JSON that is canonical and JSON that is not: where it is in a line, and as what is rare is printed.
func BenchmarkJSON(b *testing.B) {
	c := &column{logical: source.Type{Class: source.JSONClass}}
	for name, text := range map[string]string{
		"canonical": `{"n": 924, "tag": "copper"}`, "compact": `{"n":924,"tag":"copper"}`,
		"unordered": `{"tag": "copper", "n": 924}`,
	} {
		line, at, end := inLine(text)
		var a Adder
		b.Run(name+"/line", func(b *testing.B) {
			for b.Loop() {
				a.line.out, a.line.taken = a.line.out[:0], 0
				a.line.field(line, at)
			}
		})
		b.Run(name+"/rare", func(b *testing.B) {
			for b.Loop() {
				value, memory := unquoted(line[at:end], a.field)
				a.field = memory
				if text, differs := a.values.canonical(c.logical, value); differs {
					a.line.out = c.appendField(a.line.out[:0], text)
				}
			}
		})
	}
}
