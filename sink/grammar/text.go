package grammar

import (
	"fmt"
	"unicode/utf8"

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

// bytesOf is the grammar of text of so many bytes.
func bytesOf(most int) Grammar {
	return func(kind source.Kind, value []byte) string {
		if kind == source.Bytes || len(value) > most {
			return fmt.Sprintf("the column takes %d bytes of text", most)
		}
		return ""
	}
}
