package charset_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"

	"culvert/format"
	"culvert/format/charset"
)

func TestTextBecomesUTF8(t *testing.T) {
	for _, test := range []struct{ encoding, text, want string }{
		{"windows-1252", "caf\xe9 \x80 and much plain text", "café € and much plain text"},
		{"latin1", "caf\xe9\x80", "café\u0080"},
		{"ISO-8859-15", "\xa4", "€"},
		{"IBM850", "\x81", "ü"},
		{"macintosh", "\x8a", "ä"},
		{"koi8-r", "\xd0\xd2\xc9", "при"},
		{"utf-16le", "\xff\xfea\x00\x3d\xd8\x00\xde", "\ufeffa😀"},
		{"utf-16be", "\x00a\xd8\x3d\xde\x00\xff\xfd", "a😀\ufffd"},
		{"shift_jis", "\x93\xfa\x96{", "日本"},
		{"gb18030", "\xd6\xd0\xce\xc4", "中文"},
		{"csUTF16LE", "\x3d\xd8\x00\xde\xfd\xff", "😀\ufffd"},
		{"UTF-8", "\xff", "\xff"},
		{"csUTF8", "\xff", "\xff"},
	} {
		for _, from := range []io.Reader{
			strings.NewReader(test.text), iotest.OneByteReader(strings.NewReader(test.text)),
		} {
			r, err := charset.NewReader(from, test.encoding)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != test.want {
				t.Errorf("%s %q: %q and error %v, want %q", test.encoding, test.text, got, err, test.want)
			}
		}
		decode, err := charset.Decoder(test.encoding)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode([]byte("<"), []byte(test.text))
		if isNone := test.text == "\xff"; (err != nil) != isNone || !isNone && string(got) != "<"+test.want {
			t.Errorf("%s %q: %q and error %v, want %q", test.encoding, test.text, got, err, test.want)
		}
	}
}

// Every byte becomes the character that golang.org/x/text knows, at each place of a word.
func TestEveryByte(t *testing.T) {
	for _, one := range charmap.All {
		m, isMap := one.(*charmap.Charmap)
		name, err := ianaindex.IANA.Name(one)
		if !isMap || err != nil {
			continue // it has no registered name
		}
		var text []byte
		var want strings.Builder
		for i := range 256 {
			if c := m.DecodeByte(byte(i)); c != utf8.RuneError {
				text = append(append(text, byte(i)), "plain text"[:i%10]...)
				for _, b := range text[len(text)-1-i%10:] {
					want.WriteRune(m.DecodeByte(b))
				}
			}
		}
		r, err := charset.NewReader(bytes.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want.String() {
			t.Errorf("%s: %q and error %v, want %q", name, got, err, want.String())
		}
	}
}

func TestBytesThatAreNoCharacters(t *testing.T) {
	for encoding, text := range map[string]string{
		"windows-1252": "a\x81", "utf-16le": "a\x00\x3d\xd8a\x00", "utf-16be": "\x00a\x00", "shift_jis": "a\xff",
		"euc-kr": "a\xb0",
	} {
		r, err := charset.NewReader(strings.NewReader(text), encoding)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if row, is := errors.AsType[*format.RowError](err); !is || row.Row != 0 || string(got) != "a" {
			t.Errorf("%s: %q and error %v", encoding, got, err)
		}
		decode, err := charset.Decoder(encoding)
		if err != nil {
			t.Fatal(err)
		}
		_, err = decode(nil, []byte(text))
		if _, is := errors.AsType[*format.RowError](err); is || err == nil {
			t.Errorf("%s: error %v", encoding, err)
		}
	}
	for _, name := range []string{"", "utf-16", "UTF16", "csUTF16", "latin-one"} {
		_, err := charset.NewReader(nil, name)
		_, errOfDecoder := charset.Decoder(name)
		if err == nil || errOfDecoder == nil {
			t.Errorf("the encoding %q is accepted", name)
		}
	}
}

// A file of Excel, in the encoding and with the delimiter of Western Europe, becomes CSV.
func ExampleNewReader() {
	text, err := charset.NewReader(strings.NewReader("id;name\r\n1;Zo\xeb, Caf\xe9\r\n"), "windows-1252")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := format.Dialect{Delimiter: ";"}.Reader(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := io.ReadAll(rows)
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// id,name
	// 1,"Zoë, Café"
	// <nil>
}
