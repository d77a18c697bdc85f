package grammar

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// text is the grammar of text of so many characters. Binary data becomes \x and digits, and the database counts those.
func text(most int) Grammar {
	return func(kind source.Kind, value []byte) string {
		if kind != source.Bytes && len(value) > most && utf8.RuneCount(value) > most {
			return fmt.Sprintf("the column takes %d characters", most)
		}
		return ""
	}
}

// trimmedText is the grammar of CHAR(n) of MySQL. The server drops spaces at the end of its values.
func trimmedText(most int) Grammar {
	takes := text(most)
	return func(kind source.Kind, value []byte) string {
		if kind != source.Bytes && bytes.HasSuffix(value, space) {
			return "the column has no spaces at the end of a text"
		}
		return takes(kind, value)
	}
}

// filledText is the grammar of character(n) of PostgreSQL, which adds spaces up to n characters. In a shorter text,
// spaces at the end come from a column where they mean something, so it is refused.
func filledText(most int) Grammar {
	takes := trimmedText(most)
	return func(kind source.Kind, value []byte) string {
		if kind != source.Bytes && len(value) >= most && utf8.RuneCount(value) == most {
			return ""
		}
		return takes(kind, value)
	}
}

// withoutPadding returns a grammar that ignores the spaces at the end of a value.
func (g Grammar) withoutPadding() Grammar {
	return func(kind source.Kind, value []byte) string { return g(kind, bytes.TrimRight(value, " ")) }
}

var space = []byte(" ")

// bytesOf is the grammar of text of so many bytes.
func bytesOf(most int) Grammar {
	return func(kind source.Kind, value []byte) string {
		if kind == source.Bytes || len(value) > most {
			return fmt.Sprintf("the column takes %d bytes of text", most)
		}
		return ""
	}
}

// singleByte is the grammar of the type "char" of PostgreSQL. From version 15 on, the server prints a byte above 127 as
// \ and three octal digits. An older one would keep the \ alone, which the sum of the rows shows.
func singleByte(kind source.Kind, value []byte) string {
	if kind != source.Bytes && highByte.Match(value) {
		return ""
	}
	return bytesOf(1)(kind, value)
}

var highByte = lazyregexp.New(`^\\[23][0-7][0-7]$`)
