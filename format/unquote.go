package format

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"culvert/source"
)

// halfPair is the reason of a [RowError].
const halfPair = "a string has half of a surrogate pair"

// appendJSON appends a value of JSON to a column of a kind. It fails if a string is no text.
func appendJSON(b *source.Batch, kind source.Kind, form jsonForm, raw []byte) (ok bool) {
	if form == jsonNull {
		b.AppendNull()
		return true
	}
	if form == jsonNested {
		if !appendBase64(b, kind, raw) && !appendText(b, raw) {
			b.Append(source.JSON, raw)
		}
		return true
	}
	if kind == source.JSON {
		b.Append(source.JSON, raw)
		return true
	}
	switch form {
	case jsonPlain:
		AppendAs(b, kind, raw[1:len(raw)-1])
	case jsonEscaped:
		return appendUnquoted(b, kind, raw)
	case jsonBool:
		if kind == source.Text {
			b.Append(source.Text, raw)
		} else {
			b.Append(source.Bool, raw[:1])
		}
	default:
		if kind != source.Text && (kind != source.Bool || boolOf(raw) == "") {
			kind = source.Number
		}
		AppendAs(b, kind, raw)
	}
	return true
}

// appendUnquoted appends a string with escapes. The escape of binary data is at its beginning, and known.
func appendUnquoted(b *source.Batch, kind source.Kind, raw []byte) (ok bool) {
	if kind == source.Bytes && bytes.HasPrefix(raw, []byte(`"\\x`)) && appendBytes(b, raw[2:len(raw)-1]) {
		return true
	}
	text, ok := unquote(b.AvailableBuffer(len(raw)), raw)
	if !ok {
		return false
	}
	if kind == source.Bytes {
		text = bytes.Clone(text) // the digits must not be where the data is made
	}
	AppendAs(b, kind, text)
	return true
}

// appendBase64 appends what Base64Invalid has written. An object of the same form that holds valid UTF-8 is not one.
func appendBase64(b *source.Batch, kind source.Kind, raw []byte) bool {
	encoded, found := bytes.CutPrefix(raw, []byte(base64Open))
	encoded, closed := bytes.CutSuffix(encoded, []byte(escapeEnd))
	if !found || !closed {
		return false
	}
	size := base64.StdEncoding.DecodedLen(len(encoded))
	text, err := base64.StdEncoding.AppendDecode(b.AvailableBuffer(size), encoded)
	if err != nil || utf8.Valid(text) {
		return false
	}
	if kind != source.JSON {
		kind = source.Text
	}
	b.Append(kind, text)
	return true
}

// appendText appends the text of JSON that stands in an escape.
func appendText(b *source.Batch, raw []byte) bool {
	if !bytes.HasPrefix(raw, []byte(textOpen)) {
		return false
	}
	start := len(textOpen) - len(`"`)
	end, _, _ := quotedEnd(raw, start)
	if string(raw[end:]) != "}" {
		return false
	}
	text, ok := unquote(b.AvailableBuffer(end-start), raw[start:end])
	if ok {
		b.Append(source.JSON, text)
	}
	return ok
}

// unquote appends the text of a valid JSON string. It fails if the string has half of a surrogate pair.
func unquote(dst, quoted []byte) (out []byte, ok bool) {
	text := quoted[1 : len(quoted)-1]
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return append(dst, text...), true
		}
		dst = append(dst, text[:at]...)
		c := text[at+1]
		text = text[at+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := unit(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				if !bytes.HasPrefix(text, []byte(`\u`)) {
					return dst, false
				}
				if r = utf16.DecodeRune(r, unit(text[2:])); r == utf8.RuneError {
					return dst, false
				}
				text = text[6:]
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// unit returns the UTF-16 code unit of four hexadecimal digits.
func unit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // of a valid JSON string
	return rune(n)
}
