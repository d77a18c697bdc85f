package copybinary_test

import (
	"testing"

	"culvert/postgres/internal/copybinary"
)

// TestMessages takes messages apart as servers send them, and refuses others.
func TestMessages(t *testing.T) {
	const header, trailer = copybinary.Header, copybinary.Trailer
	for _, test := range []struct {
		messages []string
		rows     string
		refused  bool
	}{
		{messages: []string{header + "ab", "cd", trailer}, rows: "ab|cd|"},
		{messages: []string{header, "ab", trailer}, rows: "ab|"},
		{messages: []string{header + trailer}},
		{messages: []string{header + "\x00\x00", "\x00\x00", trailer}, rows: "\x00\x00|\x00\x00|"},
		{messages: []string{"ab"}, refused: true},
		{messages: []string{header[:11] + "\x00\x01" + header[13:] + "ab"}, refused: true},
		{messages: []string{header + "ab", trailer, "cd"}, rows: "ab|", refused: true},
		{messages: []string{header + "ab", "c"}, rows: "ab|", refused: true},
	} {
		var rows copybinary.Rows
		got, refused := "", false
		for _, message := range test.messages {
			row, err := rows.Row([]byte(message))
			if refused = refused || err != nil; row != nil {
				got += string(row) + "|"
			}
		}
		if got != test.rows || refused != test.refused {
			t.Errorf("%q: %q, refused %t", test.messages, got, refused)
		}
	}
}

func TestKeeps(t *testing.T) {
	for name, want := range map[string]bool{
		"integer": true, "numeric(12,2)": true, "timestamp(3) with time zone": true, "character(5)": true,
		"bit(3)": true, "integer[]": false, "interval": false, "money": false, "mood": false,
		"public.text": false, "regclass": false,
	} {
		if copybinary.Keeps(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
