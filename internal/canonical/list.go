package canonical

import (
	"bytes"

	"culvert/source"
)

// appendList appends a list that PostgreSQL prints, whose values are canonical: {1.5,NULL,"a b"}, also of several
// dimensions, which may begin elsewhere than at 1. It returns false for any other text.
func (v *Values) appendList(dst []byte, t source.Type, text []byte) ([]byte, bool) {
	t.List = false
	if bounds := bytes.IndexByte(text, '='); bounds > 0 && text[0] == '[' {
		dst, text = append(dst, text[:bounds+1]...), text[bounds+1:]
	}
	if len(text) == 0 || text[0] != '{' {
		return dst, false
	}
	for len(text) > 0 {
		switch text[0] {
		case '{', '}', ',':
			dst, text = append(dst, text[0]), text[1:]
			continue
		case '"':
			if text = v.cutQuoted(text[1:]); text == nil {
				return dst, false
			}
		default:
			end := bytes.IndexAny(text, "{},\"\\ ")
			if end <= 0 {
				return dst, false
			}
			v.element = append(v.element[:0], text[:end]...)
			if isNull := bytes.EqualFold(v.element, null); isNull {
				dst, text = append(dst, null...), text[end:]
				continue
			}
			text = text[end:]
		}
		value := v.element
		if canonical, differs := v.canonical(t, value); differs {
			value = canonical
		}
		dst = appendElement(dst, value)
	}
	return dst, true
}

var null = []byte("NULL")

// cutQuoted keeps the value before the next quote, and returns what follows that, or nil if there is none.
func (v *Values) cutQuoted(text []byte) (rest []byte) {
	v.element = v.element[:0]
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return text[i+1:]
		case '\\':
			if i++; i == len(text) {
				return nil
			}
		}
		v.element = append(v.element, text[i])
	}
	return nil
}

// appendElement appends a value as PostgreSQL prints it in a list.
func appendElement(dst, value []byte) []byte {
	if len(value) > 0 && !bytes.ContainsAny(value, "{},\"\\ \t\n\r\v\f") && !bytes.EqualFold(value, null) {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	for _, c := range value {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
