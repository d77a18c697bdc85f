package charset_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"

	"culvert/format"
	"culvert/format/charset"
)

// fuzzed are encodings of each kind: a byte for each character, with ASCII and without, units of UTF-16, several bytes
// for a character, and those in which a byte depends on what came before.
var fuzzed = []string{
	"us-ascii", "windows-1252", "iso-8859-8", "ibm037", "macintosh", "koi8-u", "utf-16le", "utf-16be", "shift_jis",
	"euc-jp", "iso-2022-jp", "euc-kr", "gbk", "gb18030", "big5", "hz-gb-2312",
}

// FuzzReader decodes any bytes, in pieces of any size and across the borders of the blocks that are read. It must be
// what golang.org/x/text makes of all at once, up to the first bytes that are no character, and an error there.
func FuzzReader(f *testing.F) {
	for i, text := range []string{
		"a\xff", "caf\xe9 \x80\x81", "\xa1\xbf", "\xc1\x4b\xff", "\x8a\xdb", "\xd0\xd2\xc9",
		"a\x00\x3d\xd8\x00\xde\xfd\xff", "\xd8\x3d\xde\x00\xff\xfd\xdc\x00", "\x93\xfa\x96{\xa0\x85",
		"\x8f\xb0\xa1\x8e\xb1", "\x1b$BF|K\\\x1b(B a", "\xb0\xa1\xc7", "\xd6\xd0\x80\xff",
		"\xd6\xd0\x81\x30\x81\x30\x84\x31\xa4\x37\x90", "\x88\x62\xa4\xa4", "~{VPND~}~~~\n",
	} {
		f.Add(uint8(i), []byte(text), uint16(i%4))
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte, split uint16) {
		name := fuzzed[int(which)%len(fuzzed)]
		at := int(split) % (len(text) + 1)
		want, isWhole := decodedAtOnce(t, name, text)
		expect := func(how string, r io.Reader, before string) {
			r, err := charset.NewReader(r, name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			_, isRow := errors.AsType[*format.RowError](err)
			if string(got) != before+want || (err == nil) != isWhole || err != nil && !isRow {
				t.Errorf("%s %q %s: %q and error %v, want %q", name, text, how, got, err, want)
			}
		}
		expect("at once", bytes.NewReader(text), "")
		expect("with the end", iotest.DataErrReader(bytes.NewReader(text)), "")
		expect("byte by byte", iotest.OneByteReader(bytes.NewReader(text)), "")
		expect("in two pieces", io.MultiReader(bytes.NewReader(text[:at]), bytes.NewReader(text[at:])), "")

		filler, before := fillerOf(t, name, at)
		expect("across a border", bytes.NewReader(append(filler, text...)), before)

		decode, err := charset.Decoder(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(nil, text)
		if (err == nil) != isWhole || err == nil && string(got) != want {
			t.Errorf("%s %q as a value: %q and error %v, want %q", name, text, got, err, want)
		}
	})
}

// decodedAtOnce returns what golang.org/x/text makes of a text, up to the first bytes that are no character, and
// whether there are none of these.
func decodedAtOnce(t *testing.T, name string, text []byte) (decoded string, isWhole bool) {
	t.Helper()
	e := encodingOf(t, name)
	all, err := e.NewDecoder().Bytes(text)
	if err != nil {
		t.Fatalf("%s %q: %v", name, text, err)
	}
	for at := 0; ; {
		found := bytes.IndexRune(all[at:], utf8.RuneError)
		if found < 0 {
			return string(all), true
		}
		at += found
		// UTF-16 has U+FFFD itself, and whatever is encoded as it was read was a character.
		again, err := e.NewEncoder().Bytes(all[:at+len("\ufffd")])
		isUTF16 := name == "utf-16le" || name == "utf-16be"
		if !isUTF16 || err != nil || !bytes.HasPrefix(text, again) {
			return string(all[:at]), false
		}
		at += len("\ufffd")
	}
}

// fillerOf returns a text in an encoding that ends n bytes before a border of blocks, or one byte earlier where two are
// a character.
func fillerOf(t *testing.T, name string, n int) (filler []byte, decoded string) {
	t.Helper()
	one, err := encodingOf(t, name).NewEncoder().Bytes([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 64 << 10
	count := max(0, blocks-n) / len(one)
	return bytes.Repeat(one, count), string(bytes.Repeat([]byte("a"), count))
}

func encodingOf(t *testing.T, name string) encoding.Encoding {
	t.Helper()
	switch name {
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	e, err := ianaindex.IANA.Encoding(name)
	if err != nil || e == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return e
}
