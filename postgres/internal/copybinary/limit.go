package copybinary

import (
	"bytes"
	"unicode/utf8"

	"culvert/source"
)

// within leaves texts and numbers to CSV that are too long for their type. The server refuses most of them, and shows
// only a value that it has read as text.
func within(element string, modifiers []int, of column) column {
	if len(modifiers) == 0 {
		return of
	}
	fits := func([]byte) bool { return true }
	switch most := modifiers[0]; element {
	case "character varying", "character":
		fits = func(value []byte) bool { return len(value) <= most || utf8.RuneCount(value) <= most }
	case "numeric":
		if len(modifiers) > 1 {
			most -= modifiers[1]
		}
		fits = func(value []byte) bool {
			whole, _, _ := bytes.Cut(bytes.TrimPrefix(value, []byte{'-'}), []byte{'.'})
			return len(whole) <= most || len(bytes.TrimLeft(whole, "0")) <= max(most, 0) || string(value) == "NaN"
		}
	default:
		return of
	}
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		if !fits(value) {
			return dst, false
		}
		return of(dst, kind, value)
	}
}
