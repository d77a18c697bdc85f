package ui

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a value as one line of JSON.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
