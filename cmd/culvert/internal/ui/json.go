package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// WriteJSON writes a value as one line of JSON. Characters that could control a terminal are escaped, also those that
// JSON lets pass.
func WriteJSON(w io.Writer, value any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	// Outside of strings there are no such characters.
	text := make([]byte, 0, line.Len())
	for _, r := range line.String() {
		switch {
		case r != '\n' && unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			for _, unit := range utf16.Encode([]rune{r}) {
				text = fmt.Appendf(text, "\\u%04x", unit)
			}
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	_, err := w.Write(text)
	return err
}
