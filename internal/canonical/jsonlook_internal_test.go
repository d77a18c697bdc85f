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

// expectTwin compares what is seen of JSON with its canonical text.
func expectTwin(tb testing.TB, text string) (seen bool) {
	tb.Helper()
	line, at, want := inLine(text)
	end, seen := isCanonicalJSON(line, at)
	var values Values
	canonical := string(values.Text(source.Type{Class: source.JSONClass}, []byte(text)))
	if seen && (canonical != text || end != want) {
		tb.Errorf("%q is taken for canonical, up to %d of %d; it is %q", text, end, want, canonical)
	}
	// Nor does it matter whether quotes are written twice while it is printed.
	var adder Adder
	doubled, ok := adder.values.json.appendQuoted(nil, line[at:want])
	unescaped, _ := unquoted(doubled, nil)
	if ok && string(unescaped) != canonical {
		tb.Errorf("%q is %q in quotes, want %q", text, doubled, canonical)
	}
	if again, is := isCanonicalJSON(inLineOf(canonical)); seen && (!is || again != want) {
		tb.Errorf("%q is not seen again", canonical)
	}
	return seen
}

func inLineOf(text string) (line []byte, at int) {
	line, at, _ = inLine(text)
	return line, at
}

// TestCanonicalJSONIsSeen has JSON that is seen to be canonical as it is written.
func TestCanonicalJSONIsSeen(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `"a, b"`, `""`, `[1, -2, 0, 0.5, -0.05, 10.01, 1234567890123]`, `[[], [[]], {}]`,
		`{"b": 1, "c": {"a": [true, false, null]}, "aa": "é"}`, `{"": "", "é": {"é": 1}}`,
		strings.Repeat("[", maxLookDepth) + strings.Repeat("]", maxLookDepth), `7`, `true`,
	} {
		if !expectTwin(t, text) {
			t.Errorf("%s is not seen to be canonical", text)
		}
	}
	// What is not, and what is not looked at, are left to the printer.
	for _, text := range []string{
		`{"a":1}`, `[1,2]`, `[ 1]`, `{"aa": 1, "b": 2}`, `{"b": 1, "a": 2}`, `{"a": 1, "a": 1}`, `[1.0]`, `[-0]`,
		`[01]`, `[1e2]`, `[1.]`, `[-]`, `[.5]`, `["\u0041"]`, `["\n"]`, "[\"\n\"]", "\"\xff\"", `[1, ]`, `[1 2]`,
		`{"a": 1,}`, `{"a" : 1}`, `{a: 1}`, `[`, `{`, `{"a`, `"`, ``, `nul`, `[] `, `[]]`, `[tru]`,
		strings.Repeat("[", maxLookDepth+1) + strings.Repeat("]", maxLookDepth+1), "[" + strings.Repeat("1", 200) + "]",
	} {
		if expectTwin(t, text) {
			t.Errorf("%q is seen to be canonical", text)
		}
	}
	for _, line := range []string{`"`, `"[`, `"[]`, `"""`, `""""`, `"""a`, `"""a"`, `"[]""`, `"{""a`, `"{""a""`} {
		if _, is := isCanonicalJSON([]byte(line), 0); is {
			t.Errorf("the field %q is not complete", line)
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
		if !expectTwin(t, canonical) && !strings.Contains(canonical, `\`) {
			t.Fatalf("%q is not seen to be canonical", canonical)
		}
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
			if end, is := isCanonicalJSON(line, at); is && (end > len(line) || line[end-1] != '"') {
				t.Errorf("%q ends at %d", line, end)
			}
		}
	})
}

// BenchmarkJSON has JSON that is canonical and JSON that is not: as it is seen, as it is printed with its quotes, and
// as what is rare is printed, without them.
func BenchmarkJSON(b *testing.B) {
	c := &column{logical: source.Type{Class: source.JSONClass}}
	for name, text := range map[string]string{
		"canonical": `{"n": 924, "tag": "copper"}`, "compact": `{"n":924,"tag":"copper"}`,
		"unordered": `{"tag": "copper", "n": 924}`,
	} {
		line, at, end := inLine(text)
		var a Adder
		b.Run(name+"/seen", func(b *testing.B) {
			for b.Loop() {
				isCanonicalJSON(line, at)
			}
		})
		b.Run(name+"/quoted", func(b *testing.B) {
			for b.Loop() {
				a.line = a.line[:0]
				a.appendJSON(nil, line[at:end])
			}
		})
		b.Run(name+"/twin", func(b *testing.B) {
			for b.Loop() {
				value, memory := unquoted(line[at:end], a.field)
				a.field = memory
				if text, differs := a.values.canonical(c.logical, value); differs {
					a.line = c.appendField(a.line[:0], text)
				}
			}
		})
	}
}
