package main

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
)

// drawing matches the sequences of ECMA-48 with which the program draws its progress.
var drawing = regexp.MustCompile(`^\x1b\[(\?7[lh]|32m|m|J|K|([0-9]+)A)`)

// screenOf returns what a terminal shows in the end of what a program has written to it: how often the program draws
// its progress depends on how long it takes. Other sequences than those for that stay, so that tests find them.
func screenOf(output []byte) []byte {
	lines := [][]byte{nil}
	row, column := 0, 0
	for len(output) > 0 {
		if sequence := drawing.FindSubmatch(output); sequence != nil {
			output = output[len(sequence[0]):]
			switch what := string(sequence[1]); {
			case what == "J":
				lines = lines[:row+1]
				fallthrough
			case what == "K":
				lines[row] = lines[row][:min(column, len(lines[row]))]
			case sequence[2] != nil:
				up, _ := strconv.Atoi(string(sequence[2])) // it consists of digits
				row = max(0, row-up)
			}
			continue
		}
		switch c := output[0]; c {
		case '\r':
			column = 0
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, nil)
			}
			column = 0
		default:
			for len(lines[row]) <= column {
				lines[row] = append(lines[row], ' ')
			}
			lines[row][column] = c
			column++
		}
		output = output[1:]
	}
	return bytes.Join(lines, []byte("\n"))
}

func TestScreenOf(t *testing.T) {
	for output, want := range map[string]string{
		"a\r\nb\r\n": "a\nb\n",
		"\x1b[?7l10 %\x1b[J\x1b[?7h\r\x1b[?7l20 %\x1b[J\x1b[?7h\r\x1b[Jdone\r\n":   "done\n",
		"first\r\n\x1b[?7lone\x1b[K\r\n\x1b[32mtwo\x1b[m\x1b[J\r\x1b[1A\x1b[Jlast": "first\nlast",
		"long\rab":    "abng",
		"\x1b[31mred": "\x1b[31mred",
	} {
		if got := screenOf([]byte(output)); string(got) != want {
			t.Errorf("of %q the screen shows %q, want %q", output, got, want)
		}
	}
}
