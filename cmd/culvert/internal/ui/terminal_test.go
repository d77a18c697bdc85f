package ui_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// terminal is a screen in memory, as wide as it is told. As terminals do, it wraps long lines anew when its width
// changes, and the cursor stays with its line. It understands what the console writes, and panics at anything else.
type terminal struct {
	mu            sync.Mutex
	width, height int
	lines         [][]rune // not wrapped
	line, column  int      // the cursor in lines
	noWrap        bool
	colours       int // sequences that set one
}

func newTerminal(width, height int) *terminal {
	return &terminal{width: width, height: height, lines: make([][]rune, 1)}
}

// Size is asked by the console.
func (t *terminal) Size() (width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width, t.height
}

func (t *terminal) resize(width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.width, t.height = width, height
}

// String returns what is on the screen.
func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rows []string
	for _, line := range t.lines {
		for len(line) > t.width {
			rows, line = append(rows, string(line[:t.width])), line[t.width:]
		}
		rows = append(rows, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for text := []rune(string(p)); len(text) > 0; {
		text = t.accept(text)
	}
	return len(p), nil
}

// accept handles a character, or an escape sequence, and returns the rest.
func (t *terminal) accept(text []rune) []rune {
	switch r := text[0]; r {
	case '\r':
		t.column -= t.column % t.width
	case '\n':
		if t.line++; t.line == len(t.lines) {
			t.lines = append(t.lines, nil)
		}
		t.column = 0
	case '\x1b':
		end := 2
		for text[1] == '[' && strings.ContainsRune("?0123456789", text[end]) {
			end++
		}
		t.control(string(text[2:end]), text[end])
		return text[end+1:]
	default:
		t.put(r)
	}
	return text[1:]
}

func (t *terminal) put(r rune) {
	if t.noWrap && t.column == t.width {
		t.column--
	}
	line := t.lines[t.line]
	for len(line) <= t.column {
		line = append(line, ' ')
	}
	line[t.column] = r
	t.lines[t.line] = line
	t.column++
}

func (t *terminal) control(argument string, command rune) {
	switch command {
	case 'm':
		if argument != "" {
			t.colours++
		}
	case 'h', 'l':
		t.noWrap = argument == "?7" && command == 'l'
	case 'A':
		n, err := strconv.Atoi(argument)
		if err != nil {
			panic(err)
		}
		for range n {
			if t.column < t.width {
				t.line--
				t.column += len(t.lines[t.line]) / t.width * t.width
			} else {
				t.column -= t.width
			}
		}
	case 'K', 'J':
		t.lines[t.line] = t.lines[t.line][:min(t.column, len(t.lines[t.line]))]
		if command == 'J' {
			t.lines = t.lines[:t.line+1]
		}
	default:
		panic(fmt.Sprintf("the terminal does not know the sequence %q %q", argument, command))
	}
}
