// Package charset turns text in other encodings into UTF-8, strictly: what is no character is an error, and never
// replaced by another.
//
//	r, err := charset.NewReader(file, "windows-1252")
//	…
//	rows, err := format.Dialect{Delimiter: ";"}.Reader(r)
//
// It is a package of its own, since its tables add half a megabyte to a program.
package charset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/transform"

	"culvert/format"
)

// NewReader returns a reader of the text of r in UTF-8. The encoding is a name that IANA has registered, such as
// windows-1252, latin1, iso-8859-15, shift_jis or gb18030, in any case; utf-16le and utf-16be, with or without a byte
// order mark; or utf-8, for which r itself is returned.
//
// Bytes that are no character are a [*format.RowError] without a row, after the text before them. Other errors of r are
// returned as they are.
func NewReader(r io.Reader, encoding string) (io.Reader, error) {
	if isUTF8(encoding) {
		return r, nil
	}
	d, others, err := decodeOf(encoding)
	if err != nil {
		return nil, err
	}
	if others != nil {
		r = transform.NewReader(r, others.NewDecoder())
	}
	return newReader(r, d), nil
}

// Decoder returns a function that appends a whole text in an encoding to dst as UTF-8, and may be called concurrently.
// Names are those of NewReader, but text in the encoding UTF-8 must be valid. It returns an error if some bytes are
// no character.
func Decoder(encoding string) (func(dst, text []byte) ([]byte, error), error) {
	if isUTF8(encoding) {
		return func(dst, text []byte) ([]byte, error) {
			if !utf8.Valid(text) {
				return dst, errors.New("there are bytes that are no character of utf-8")
			}
			return append(dst, text...), nil
		}, nil
	}
	d, others, err := decodeOf(encoding)
	if err != nil {
		return nil, err
	}
	return func(dst, text []byte) ([]byte, error) {
		if others != nil {
			var err error
			if text, err = others.NewDecoder().Bytes(text); err != nil {
				return dst, err
			}
		}
		out, rest, err := d(dst, text)
		if err == nil && rest > 0 {
			err = errEnd()
		}
		if wrong, is := errors.AsType[*format.RowError](err); is {
			err = errors.New(wrong.Reason)
		}
		return out, err
	}, nil
}

func isUTF8(encoding string) bool {
	_, name := lookUp(encoding)
	return name == "utf-8"
}

// lookUp returns an encoding and the first of its names, in lower case. It is nil if golang.org/x/text has none.
func lookUp(name string) (found encoding.Encoding, first string) {
	first = strings.ToLower(name)
	switch first {
	case "utf8", "utf16": // which IANA has not registered
		first = first[:3] + "-" + first[3:]
	}
	found, err := ianaindex.IANA.Encoding(first)
	if err != nil || found == nil {
		return nil, first
	}
	if registered, err := ianaindex.IANA.Name(found); err == nil {
		first = strings.ToLower(registered)
	}
	return found, first
}

// decodeOf returns what decodes an encoding, or what comes after its own decoder, which others is then.
func decodeOf(name string) (d decode, others encoding.Encoding, err error) {
	found, first := lookUp(name)
	switch first {
	case "utf-16le":
		return utf16Of(binary.LittleEndian), nil, nil
	case "utf-16be":
		return utf16Of(binary.BigEndian), nil, nil
	case "utf-16":
		return nil, nil, errors.New("charset: utf-16 does not say the order of bytes: it is utf-16le or utf-16be")
	}
	if found == nil {
		return nil, nil, fmt.Errorf("charset: there is no encoding %q", name)
	}
	if one, is := found.(*charmap.Charmap); is {
		return bytesOf(one, name), nil, nil
	}
	return replaced(name), found, nil
}

// decode appends the text at the beginning of in to dst. It returns the number of bytes that it has not used, since the
// rest of their character is missing.
type decode func(dst, in []byte) (out []byte, rest int, err error)

const size = 32 << 10 // of what is read at once

type reader struct {
	r      io.Reader
	decode decode
	in     []byte
	rest   int    // at the beginning of in
	out    []byte // of which sent is returned
	sent   int
	err    error // after out
}

func newReader(r io.Reader, d decode) *reader {
	return &reader{r: r, decode: d, in: make([]byte, size)}
}

func (r *reader) Read(p []byte) (int, error) {
	for r.sent == len(r.out) {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.r.Read(r.in[r.rest:])
		n += r.rest
		r.out, r.rest, r.err = r.decode(r.out[:0], r.in[:n])
		r.sent = 0
		if r.err == nil {
			copy(r.in, r.in[n-r.rest:n])
			if r.err = err; err == io.EOF && r.rest > 0 {
				r.err = errEnd()
			}
		}
	}
	n := copy(p, r.out[r.sent:])
	r.sent += n
	return n, nil
}

func errEnd() error { return wrong("the text ends within a character") }

func wrong(reason string, args ...any) error {
	return &format.RowError{Reason: fmt.Sprintf(reason, args...)}
}

// bytesOf decodes an encoding in which each byte is a character of at most three bytes in UTF-8. ASCII is the same in
// all of those with letters as expected, and is copied by words.
func bytesOf(m *charmap.Charmap, name string) decode {
	var table [256]uint32 // the bytes of a character, and above them their number: 0 if there is none
	isASCII := true
	for i := range table {
		if c := m.DecodeByte(byte(i)); c != utf8.RuneError {
			var text [4]byte
			n := utf8.EncodeRune(text[:3], c)
			table[i] = binary.LittleEndian.Uint32(text[:]) | uint32(n)<<24
			isASCII = isASCII && (i >= utf8.RuneSelf || c == rune(i))
		}
	}
	return func(dst, in []byte) ([]byte, int, error) {
		n := len(dst)
		dst = slices.Grow(dst, 3*len(in)+4)
		dst = dst[:cap(dst)]
		for i := 0; i < len(in); {
			if isASCII && len(in)-i >= 8 {
				if w := binary.LittleEndian.Uint64(in[i:]); w&0x8080808080808080 == 0 {
					binary.LittleEndian.PutUint64(dst[n:], w)
					i, n = i+8, n+8
					continue
				}
			}
			for end := min(i+8, len(in)); i < end; i++ {
				c := table[in[i]]
				if c == 0 {
					return dst[:n], 0, wrong("the byte 0x%02x is no character of %s", in[i], name)
				}
				binary.LittleEndian.PutUint32(dst[n:], c)
				n += int(c >> 24)
			}
		}
		return dst[:n], 0, nil
	}
}

func utf16Of(order binary.ByteOrder) decode {
	return func(dst, in []byte) ([]byte, int, error) {
		for len(in) >= 2 {
			unit := rune(order.Uint16(in))
			used := 2
			if utf16.IsSurrogate(unit) {
				if len(in) < 4 {
					break
				}
				used = 4
				if unit = utf16.DecodeRune(unit, rune(order.Uint16(in[2:]))); unit == utf8.RuneError {
					return dst, 0, wrong("there is half of a surrogate pair of UTF-16")
				}
			}
			dst, in = utf8.AppendRune(dst, unit), in[used:]
		}
		return dst, len(in), nil
	}
}

// replaced finds what a decoder of golang.org/x/text writes in place of what is no character. Of these encodings, only
// GB 18030 can have it otherwise. There it is refused, too: whoever wrote it had lost a character.
func replaced(name string) decode {
	mark := []byte(string(utf8.RuneError))
	return func(dst, in []byte) ([]byte, int, error) {
		if at := bytes.Index(in, mark); at >= 0 {
			return append(dst, in[:at]...), 0, wrong("there are bytes that are no character of %s", name)
		}
		end := len(in)
		for end > 0 && len(in)-end < utf8.UTFMax && !utf8.RuneStart(in[end-1]) {
			end--
		}
		if end > 0 && in[end-1] >= utf8.RuneSelf {
			end--
		}
		if utf8.FullRune(in[end:]) {
			end = len(in)
		}
		return append(dst, in[:end]...), len(in) - end, nil
	}
}
