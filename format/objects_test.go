package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/format"
	"culvert/source"
)

func TestObjects(t *testing.T) {
	fields := []format.Field{{Name: "id", Kind: source.Number}, {Name: `say "hi"`, Kind: source.Text}, {Name: "doc"}}
	for _, test := range []struct {
		text string
		want [][]cell
	}{
		{`{"id":1,"say \"hi\"":"x","doc":[1]}`, [][]cell{{number("1"), text("x"), jsonCell("[1]")}}},
		{"{}\n{}\n", [][]cell{{null(), null(), null()}, {null(), null(), null()}}},
		{"\r\n \t\n{ }\r\n\n", [][]cell{{null(), null(), null()}}},
		{" { \"doc\" : true ,\t\"id\" : -1.5e3 } \r\n", [][]cell{{number("-1.5e3"), null(), boolean("t")}}},
		{
			// The order changes, and changes back.
			`{"doc":1,"id":2}` + "\n" + `{"doc":3,"id":4}` + "\n" + `{"id":5,"doc":6}` + "\n" +
				`{"say \u0022hi\"":"7"}`,
			[][]cell{
				{number("2"), null(), number("1")},
				{number("4"), null(), number("3")},
				{number("5"), null(), number("6")},
				{null(), text("7"), null()},
			},
		},
		{
			`{"doc":"\u0041\u00e9\u6c34\ud83d\ude00\"\\\/\b\f\n\r\t\u0000"}`,
			[][]cell{{null(), null(), text("Aé水😀\"\\/\b\f\n\r\t\x00")}},
		},
		{`{"doc":{"a":[{"b":"}"}]}}`, [][]cell{{null(), null(), jsonCell(`{"a":[{"b":"}"}]}`)}}},
	} {
		got, err := decodeAll(decoder(t, format.JSONL{}, fields...), []byte(test.text))
		if err != nil || !slices.EqualFunc(got, test.want, slices.Equal) {
			t.Errorf("%s: %v and error %v, want %v", test.text, got, err, test.want)
		}
	}
}

func TestObjectNames(t *testing.T) {
	names, n, err := format.JSONL{}.Header([]byte("\n" + `{"b":{"x":1},"\u0061":2,"":3}` + "\nrubbish"))
	if want := []string{"b", "a", ""}; err != nil || n != 0 || !slices.Equal(names, want) {
		t.Errorf("%q, %d, %v, want %q", names, n, err, want)
	}
	for _, text := range []string{"[]", `{"a"}`, `{"\udc00":1}`, "{", `{"a":1}}`} {
		if _, _, err := (format.JSONL{}).Header([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	// A name that is not valid UTF-8 is found by what the encoder writes.
	lenient := format.JSONL{InvalidUTF8: format.ReplaceInvalid}
	out := encode(t, lenient, []string{"n\xff"}, []cell{text("x")})
	got, err := decodeAll(decoder(t, lenient, format.Field{Name: "n\xff"}), []byte(out))
	if err != nil || got[0][0] != text("x") {
		t.Errorf("%v, %v", got, err)
	}
}

// readStandardJSON reads JSON Lines with encoding/json, into strings and raw JSON.
func readStandardJSON(text []byte) error {
	var row struct {
		ID, Owner, Price json.Number
		Title, Due       string
		Note             *string
		Done             bool
		Tags             json.RawMessage
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		if err := d.Decode(&row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// FuzzJSONLDecode compares one line with encoding/json.
func FuzzJSONLDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":"x"}`, `{"b":null,"a":-0.5e+10}`, `{"a":"\ud83d\ude00\u0000","b":"\\x00"}`,
		`{"a":[{}],"b":{"a":1}}`,
		` { "a" : true , "b" : false } `, `{}`, ``, `{"a":1,"a":2}`, `{"c":1}`, `{"a":}`, `{"a":1}x`, `{"\u0061":"b"}`,
		`{"a":"\ud800"}`, "{\"a\":\"\x01\"}", `{"a":01}`, `{"a":1,}`, `[1]`, `{"base64":"/w=="}`, "{\"a\":\"\xff\"}",
		`{"a":{"base64":"/w=="}}`, `{"a":"1234567\"","b":"12345678\n"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") || strings.Count(line, "[")+strings.Count(line, "{") > 5000 {
			return
		}
		d := decoder(t, format.JSONL{}, format.Field{Name: "a"}, format.Field{Name: "b"})
		rows, err := decodeAll(d, []byte(line))
		var object map[string]json.RawMessage
		standard := json.Unmarshal([]byte(line), &object)
		if err != nil {
			// What only this package refuses: other names, a name twice, half of a surrogate pair.
			other := false
			for name := range object {
				other = other || name != "a" && name != "b"
			}
			if reason := err.Error(); standard == nil && object != nil && !other && utf8.ValidString(line) &&
				!strings.Contains(reason, "twice") && !strings.Contains(reason, "surrogate") {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		if len(rows) == 0 {
			if strings.Trim(line, " \t\r") != "" {
				t.Fatalf("%q is no row", line)
			}
			return
		}
		if standard != nil {
			t.Fatalf("%q is accepted; encoding/json: %v", line, standard)
		}
		for i, name := range []string{"a", "b"} {
			want := expectedJSON(t, object, name)
			if got := rows[0][i]; utf8.ValidString(line) && got != want {
				if got.kind == source.Text && strings.HasPrefix(string(object[name]), `{"base64":`) {
					continue
				}
				t.Fatalf("%q: %s is %v, want %v", line, name, got, want)
			}
		}
	})
}

// expectedJSON returns the value that an untyped field has according to encoding/json.
func expectedJSON(t *testing.T, object map[string]json.RawMessage, name string) cell {
	t.Helper()
	raw, exists := object[name]
	if !exists || string(raw) == "null" {
		return null()
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		return text(s)
	case '{', '[':
		return jsonCell(string(raw))
	case 't', 'f':
		return boolean(string(raw[:1]))
	}
	return number(string(raw))
}

// TestObjectsInAnyOrder writes objects as encoding/json does, with names in random order, and some left out.
func TestObjectsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fields := textFields(6)
	var file strings.Builder
	var want [][]cell
	for range 300 {
		row := make([]cell, len(fields))
		var members []string
		for _, k := range r.Perm(len(fields)) {
			if r.IntN(5) == 0 {
				continue // null
			}
			value := nastyText(r)
			row[k] = text(value)
			quoted, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, fmt.Sprintf("%q: %s", fields[k].Name, quoted))
		}
		file.WriteString("{" + strings.Join(members, ", ") + "}\n")
		want = append(want, row)
	}
	got, err := decodeAll(decoder(t, format.JSONL{}, fields...), []byte(file.String()))
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("the rows differ, error %v", err)
	}
}
