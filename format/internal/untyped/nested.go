package untyped

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"culvert/source"
)

// Nested makes the text of a value that has others: JSON, or an array of PostgreSQL. Its user appends the texts of
// values to Text, and has each end as what it is.
type Nested struct {
	Text    []byte
	scratch []byte
}

// EndItem makes what follows begin an element of an array of PostgreSQL.
func (n *Nested) EndItem(begin int, kind source.Kind) {
	text := n.Text[begin:]
	if kind == source.Bytes {
		n.endBytes(begin)
		return
	}
	if len(text) > 0 && !strings.ContainsAny(string(text), "{}\",\\ \t\n\r\v\f") &&
		!strings.EqualFold(string(text), "null") {
		return
	}
	n.scratch = append(n.scratch[:0], text...)
	n.Text = append(n.Text[:begin], '"')
	for _, c := range n.scratch {
		if c == '"' || c == '\\' {
			n.Text = append(n.Text, '\\')
		}
		n.Text = append(n.Text, c)
	}
	n.Text = append(n.Text, '"')
}

// EndJSON makes what follows begin a value of JSON. What JSON has no type for is a string.
func (n *Nested) EndJSON(begin int, kind source.Kind) Reason {
	text := n.Text[begin:]
	switch kind {
	case source.Bool:
		n.endBool(begin)
		return ""
	case source.Number:
		if last := len(text) - 1; last >= 0 && '0' <= text[last] && text[last] <= '9' {
			return ""
		}
	case source.JSON:
		if !json.Valid(text) {
			return "it is not JSON"
		}
		return ""
	case source.Bytes:
		n.endBytes(begin)
		return ""
	default:
	}
	n.endString(begin)
	return ""
}

// EndKey makes what follows begin a key of an object of JSON, which is the string of what EndJSON makes of it.
func (n *Nested) EndKey(begin int, kind source.Kind) {
	switch kind {
	case source.Bytes:
		n.endBytes(begin)
	case source.Bool:
		n.endBool(begin)
		n.endString(begin)
	default:
		n.endString(begin)
	}
	n.Text = append(n.Text, ':')
}

func (n *Nested) endBool(begin int) {
	word := "false"
	if string(n.Text[begin:]) == "t" {
		word = "true"
	}
	n.Text = append(n.Text[:begin], word...)
}

// endBytes writes binary data as PostgreSQL does, in quotes.
func (n *Nested) endBytes(begin int) {
	n.scratch = append(n.scratch[:0], n.Text[begin:]...)
	n.Text = append(n.Text[:begin], `"\\x`...)
	n.Text = append(hex.AppendEncode(n.Text, n.scratch), '"')
}

func (n *Nested) endString(begin int) {
	n.scratch = append(n.scratch[:0], n.Text[begin:]...)
	n.Text = append(n.Text[:begin], '"')
	for _, c := range n.scratch {
		switch {
		case c == '"' || c == '\\':
			n.Text = append(n.Text, '\\', c)
		case c < ' ':
			n.Text = fmt.Appendf(n.Text, `\u%04x`, c)
		default:
			n.Text = append(n.Text, c)
		}
	}
	n.Text = append(n.Text, '"')
}
