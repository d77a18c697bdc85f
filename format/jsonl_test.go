package format_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/format"
	"culvert/source"
)

// jsonValue returns one value as JSONL writes it.
func jsonValue(t *testing.T, f format.JSONL, c cell) string {
	t.Helper()
	line := encode(t, f, []string{"a"}, []cell{c})
	value, found := strings.CutPrefix(line, `{"a":`)
	value, ended := strings.CutSuffix(value, "}\n")
	if !found || !ended {
		t.Fatalf("%v: line %q", c, line)
	}
	return value
}

func TestJSONLValues(t *testing.T) {
	deep := strings.Repeat("[", 70_000) + strings.Repeat("]", 70_000)
	tests := []struct {
		cell cell
		want string
	}{
		{null(), "null"},
		{boolean("t"), "true"},
		{boolean("f"), "false"},

		{number("0"), "0"},
		{number("-0"), "-0"},
		{number("12.50"), "12.50"},
		{number("-17"), "-17"},
		{number("9223372036854775808"), "9223372036854775808"},
		{number("123456789012345678901234567890.00100"), "123456789012345678901234567890.00100"},
		{number("1e+06"), "1e+06"},
		{number("1E-400"), "1E-400"},
		{number("NaN"), `"NaN"`},
		{number("Infinity"), `"Infinity"`},
		{number("-Infinity"), `"-Infinity"`},
		{number("+1"), `"+1"`},
		{number("007"), `"007"`},
		{number("-01"), `"-01"`},
		{number(".5"), `".5"`},
		{number("1."), `"1."`},
		{number("1.e5"), `"1.e5"`},
		{number("1e"), `"1e"`},
		{number("1e+"), `"1e+"`},
		{number("-"), `"-"`},
		{number(""), `""`},
		{number("0x1F"), `"0x1F"`},
		{number("1 "), `"1 "`},
		{number(" 1"), `" 1"`},
		{number("1,5"), `"1,5"`},
		{number("1\n"), `"1\n"`},

		{binary(""), `"\\x"`},
		{binary("\x00"), `"\\x00"`},
		{binary("\xfb\xff\xfe"), `"\\xfbfffe"`},

		{text(""), `""`},
		{text("water"), `"water"`},
		{text(`say "hi" \o/`), `"say \"hi\" \\o/"`},
		{text("a\tb\nc\rd\be\ff"), `"a\tb\nc\rd\be\ff"`},
		{text("\x00\x01\x1f\x7f"), `"\u0000\u0001\u001f` + "\x7f\""},
		{text("<a href='x'>&</a>"), `"<a href='x'>&</a>"`},
		{text("Müller 水 😀 \u2028"), "\"Müller 水 😀 \u2028\""},
		{text("twelve bytes\""), `"twelve bytes\""`},
		{text("seven b\x1f, sixteen"), `"seven b\u001f, sixteen"`},
		{text("\ufffd"), "\"\ufffd\""},

		{jsonCell(`{"a": [1, 2.50, true, null], "b": {}}`), `{"a": [1, 2.50, true, null], "b": {}}`},
		{jsonCell(`{"a":1,"a":2}`), `{"a":1,"a":2}`},
		{jsonCell(`  17  `), `  17  `},
		{jsonCell(`1e999999`), `1e999999`},
		{jsonCell(`"\u0000\ud800\/"`), `"\u0000\ud800\/"`},
		{
			jsonCell("{\n  \"b\": 1.0,\r\n\t\"a\": \"x \\n y\",\n  \"b\" : [ 1 , 2 ]\n}\n"),
			`{"b":1.0,"a":"x \n y","b":[1,2]}`,
		},
		{jsonCell("\t[ 1 , 2 ]\r\n"), `[ 1 , 2 ]`},
		{jsonCell("[\n]"), `[]`},
		{jsonCell("[1,\r2]"), `[1,2]`},
		{jsonCell(deep), deep},
		{jsonCell("[" + deep + "]"), `{"json_text":"[` + deep + `]"}`},
		{jsonCell(""), `{"json_text":""}`},
		{jsonCell("{'a': 1}"), `{"json_text":"{'a': 1}"}`},
		{jsonCell("[1,]"), `{"json_text":"[1,]"}`},
		{jsonCell("[1\n2"), `{"json_text":"[1\n2"}`},
		{jsonCell("\"a\nb\""), `{"json_text":"\"a\nb\""}`},
		{jsonCell("{} {}"), `{"json_text":"{} {}"}`},
		{jsonCell("null"), `{"json_text":"null"}`},
		{jsonCell(" null\n"), `{"json_text":" null\n"}`},
		{jsonCell("[null]"), `[null]`},
		{jsonCell(`{"base64":"YQ=="}`), `{"json_text":"{\"base64\":\"YQ==\"}"}`},
		{jsonCell("{\n\"json_text\" : \"null\" }"), `{"json_text":"{\n\"json_text\" : \"null\" }"}`},
		{jsonCell(`{"json_text":"null","a":1}`), `{"json_text":"null","a":1}`},
		{jsonCell(`{"json_text":["null"]}`), `{"json_text":["null"]}`},
		{jsonCell(`{"base":"null"}`), `{"base":"null"}`},
	}
	for _, test := range tests {
		if got := jsonValue(t, format.JSONL{}, test.cell); got != test.want {
			t.Errorf("%.60v: got %.60s, want %.60s", test.cell, got, test.want)
		}
	}
}

func TestJSONLInvalidUTF8(t *testing.T) {
	tests := []struct {
		cell            cell
		offset          int
		replace, base64 string
	}{
		{text("\xff"), 0, "\"\ufffd\"", `{"base64":"/w=="}`},
		{text("ab\xc3\xa4\xe4\xb8z"), 4, "\"abä\ufffd\ufffdz\"", `{"base64":"YWLDpOS4eg=="}`},
		{text("\"\xed\xa0\x80"), 1, "\"\\\"\ufffd\ufffd\ufffd\"", `{"base64":"Iu2ggA=="}`},
		{number("1\xff"), 1, "\"1\ufffd\"", `{"base64":"Mf8="}`},
		{jsonCell("{\"a\": \"\xff\"}"), 7, "{\"a\": \"\ufffd\"}", `{"base64":"eyJhIjogIv8ifQ=="}`},
		{jsonCell("[\n\"\xff\"\n]"), 3, "[\"\ufffd\"]", `{"base64":"Wwoi/yIKXQ=="}`},
		{jsonCell("{\xff}"), 1, "{\"json_text\":\"{\ufffd}\"}", `{"base64":"e/99"}`},
	}
	for _, test := range tests {
		_, err := encoder(t, format.JSONL{}, "n", "a").AppendRows(nil, fill(2,
			[]cell{number("1"), text("fine")},
			[]cell{number("2"), test.cell},
			[]cell{number("3"), test.cell},
		))
		var invalid *format.InvalidUTF8Error
		if !errors.As(err, &invalid) {
			t.Fatalf("%q: error %v", test.cell.value, err)
		}
		if want := (format.InvalidUTF8Error{Column: "a", Row: 2, Offset: test.offset}); *invalid != want {
			t.Errorf("%q: error %+v, want %+v", test.cell.value, *invalid, want)
		}
		if got := jsonValue(t, format.JSONL{InvalidUTF8: format.ReplaceInvalid}, test.cell); got != test.replace {
			t.Errorf("%q replaced: got %q, want %q", test.cell.value, got, test.replace)
		}
		if got := jsonValue(t, format.JSONL{InvalidUTF8: format.Base64Invalid}, test.cell); got != test.base64 {
			t.Errorf("%q in base64: got %s, want %s", test.cell.value, got, test.base64)
		}
	}
	if want := `format: column "a", row 2: not valid UTF-8 at byte 7 of the value`; (&format.InvalidUTF8Error{
		Column: "a", Row: 2, Offset: 7,
	}).Error() != want {
		t.Errorf("the message is not %q", want)
	}
}

func TestJSONLNames(t *testing.T) {
	names := []string{"id", `say "hi"`, "a\nb", "", "Ünï", "Id"}
	row := []cell{number("1"), number("2"), number("3"), number("4"), number("5"), number("6")}
	want := `{"id":1,"say \"hi\"":2,"a\nb":3,"":4,"Ünï":5,"Id":6}` + "\n"
	if got := encode(t, format.JSONL{}, names, row); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := encode(t, format.JSONL{}, nil, nil, nil), "{}\n{}\n"; got != want {
		t.Errorf("two rows of no columns: got %q, want %q", got, want)
	}

	_, err := format.JSONL{}.Encoder(columns("id", "name", "id"))
	if err == nil || !strings.Contains(err.Error(), `two columns are named "id"`) {
		t.Errorf("two columns of one name: error %v", err)
	}
	_, err = format.JSONL{}.Encoder(columns("id", "n\xff"))
	if err == nil || !strings.Contains(err.Error(), `column 2, "n\xff", is not valid UTF-8`) {
		t.Errorf("name in another encoding: error %v", err)
	}
	lenient := format.JSONL{InvalidUTF8: format.ReplaceInvalid}
	if got, want := encode(t, lenient, []string{"n\xff"}, []cell{null()}), "{\"n\ufffd\":null}\n"; got != want {
		t.Errorf("name in another encoding, replaced: got %q, want %q", got, want)
	}
	if _, err := lenient.Encoder(columns("n\xff", "n\xfe")); err == nil {
		t.Error("two names that are the same once they are replaced: no error")
	}
}

// A value that fails must not prevent another attempt with the same batch.
func TestJSONLGoesOnAfterAnError(t *testing.T) {
	e := encoder(t, format.JSONL{}, "a")
	if _, err := e.AppendRows(nil, fill(1, []cell{text("\xff")})); err == nil {
		t.Fatal("no error")
	}
	out, err := e.AppendRows([]byte("x"), fill(1, []cell{text("b")}))
	if got, want := string(out), "x{\"a\":\"b\"}\n"; got != want || err != nil {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

func FuzzJSONLText(f *testing.F) {
	f.Add([]byte("a\xfeb\"\\\xfe\xff\xfe\n\r\u2028"), uint8(2))
	f.Add([]byte("1234567\x00\xfe12345678\x1f\xfe\xc3\xa4"), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		count := int(width)%5 + 1
		names := []string{"a", "b", "c", "d", "e"}[:count]
		rows := cut(data, count)
		out := encode(t, format.JSONL{InvalidUTF8: format.Base64Invalid}, names, rows...)
		if !utf8.ValidString(out) {
			t.Fatalf("not valid UTF-8: %q", out)
		}
		if lines := strings.Count(out, "\n"); lines != len(rows) {
			t.Fatalf("%d lines for %d rows", lines, len(rows))
		}
		d := json.NewDecoder(strings.NewReader(out))
		for _, row := range rows {
			if got := decodeTextRow(t, d, names); !slices.Equal(got, row) {
				t.Fatalf("got %v, want %v", got, row)
			}
		}
		if _, err := d.Token(); err != io.EOF {
			t.Fatalf("after the rows: %v", err)
		}
	})
}

// decodeTextRow reads an object of text values, in order.
func decodeTextRow(t *testing.T, d *json.Decoder, names []string) []cell {
	t.Helper()
	token := func() json.Token {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	if token() != json.Delim('{') {
		t.Fatal("not an object")
	}
	var row []cell
	for _, name := range names {
		if got := token(); got != name {
			t.Fatalf("key %v, want %q", got, name)
		}
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		switch value := value.(type) {
		case nil:
			row = append(row, null())
		case string:
			row = append(row, text(value))
		default:
			encoded, ok := value.(map[string]any)["base64"].(string)
			decoded, err := base64.StdEncoding.DecodeString(encoded)
			if !ok || err != nil || utf8.Valid(decoded) {
				t.Fatalf("%v: %v", value, err)
			}
			row = append(row, text(string(decoded)))
		}
	}
	if token() != json.Delim('}') {
		t.Fatal("object does not end")
	}
	return row
}

func FuzzJSONLJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a": [1, 2.50, true, null], "b": {}}`, "{\n\"a\" : \"x \\n y\"\r\n}", "[1,]",
		`"\u00e4\ud83d\ude00"`, `"\u12"`,
		"-0", "01", "1e5", "1.e5", " [ ] ", "{\"a\":1,}", "tru", "\"a\nb\"", "[[[[]]]]", "\xff", "\"\xff\"", "\ufeff1",
		`{1: 2}`, `{"a" 1}`, `{"a": x}`, `{"a": 1 "b": 2}`, `{"a`, `{"\u00g0": 1}`, `[1 2]`, `[x]`,
		`"\x"`, `"\`, "null", "\nnull", `{"json_text" : "" }`, `{"base64":"/w=="}`, "1.", "1e", "{", "[",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if bytes.Count(value, []byte("["))+bytes.Count(value, []byte("{")) > 10_000 {
			t.Skip("perhaps nested deeper than encoding/json reads")
		}
		f := format.JSONL{InvalidUTF8: format.Base64Invalid}
		line := encode(t, f, []string{"a"}, []cell{jsonCell(string(value))})
		if strings.Count(line, "\n") != 1 || strings.Contains(line, "\r") {
			t.Fatalf("%q: not one line: %q", value, line)
		}
		if !utf8.ValidString(line) || !json.Valid([]byte(line)) {
			t.Fatalf("%q: line %q", value, line)
		}
		got := strings.TrimSuffix(strings.TrimPrefix(line, `{"a":`), "}\n")
		decoder := decoder(t, f, format.Field{Name: "a", Kind: source.JSON})
		back, err := decodeAll(decoder, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		switch escaped := strings.HasPrefix(got, `{"json_text":"`); {
		case escaped:
			if back[0][0] != jsonCell(string(value)) {
				t.Fatalf("%q became %v", value, back[0][0])
			}
		case json.Valid(value) && utf8.Valid(value):
			if trimmed := strings.Trim(string(value), " \t\r\n"); trimmed == "null" || back[0][0].kind != source.JSON {
				t.Fatalf("%q became %q, which is %v", value, got, back[0][0])
			}
			if !bytes.ContainsAny(value, "\n\r") {
				if got != string(value) {
					t.Fatalf("%q became %q", value, got)
				}
				return
			}
			var want bytes.Buffer
			if err := json.Compact(&want, value); err != nil {
				t.Fatal(err)
			}
			if got != want.String() {
				t.Fatalf("%q became %q, want %q", value, got, want.Bytes())
			}
		case utf8.Valid(value):
			t.Fatalf("%q became %q", value, got)
		default:
			if want := fmt.Sprintf(`{"base64":"%s"}`, base64.StdEncoding.EncodeToString(value)); got != want {
				t.Fatalf("%q became %q, want %q", value, got, want)
			}
		}
	})
}

func FuzzJSONLNumber(f *testing.F) {
	for _, seed := range []string{
		"0", "-1.50e+10", "007", ".5", "1.", "NaN", "+1", "0x1", "1e", "true", "\"1\"", " 1", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if !utf8.ValidString(value) {
			return
		}
		got := jsonValue(t, format.JSONL{}, number(value))
		var want string
		if json.Valid([]byte(value)) && strings.IndexAny(value, "-0123456789") == 0 &&
			strings.TrimRight(value, " \t\r\n") == value {
			want = value
		} else {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(value); err != nil {
				t.Fatal(err)
			}
			want = strings.TrimSuffix(b.String(), "\n")
			want = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(want)
		}
		if got != want {
			t.Fatalf("%q: got %s, want %s", value, got, want)
		}
	})
}
