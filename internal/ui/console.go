// Package ui is how Culvert speaks to people: messages with hints, a progress line, the figures at the end, JSON for
// programs, and prompts.
//
// Its rules:
//
//   - Data goes to standard output, all else to standard error, through one [Console].
//   - Errors, hints and warnings begin with culvert: and the word, are lower case, and have no full stop.
//   - Progress is one line that is drawn over and over, on a terminal only. It is gone before anything else is written.
//   - Secrets are asked for on the terminal itself, even if standard input and output are redirected, and the question
//     is erased afterwards.
//   - There are no colours, so that nothing depends on them. What others have written, such as the name of a table,
//     cannot control the terminal, and cannot pass for a message: its further lines are indented.
package ui

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// Console writes messages and the progress line to one stream, usually standard error. It is safe for concurrent use.
type Console struct {
	// Redact, if it is set, takes secrets out of what is written. It must not be changed once the console is in use.
	Redact func(string) string

	mu    sync.Mutex
	w     io.Writer
	drawn int // the width of the progress line that is on the screen
}

// NewConsole gives a console that writes to w.
func NewConsole(w io.Writer) *Console { return &Console{w: w} }

// Error says why a command has failed.
func (c *Console) Error(text string) { c.print("culvert: error: " + text) }

// Hint says what to try next.
func (c *Console) Hint(text string) { c.print("culvert: hint: " + text) }

// Warn says what is dubious, but no failure.
func (c *Console) Warn(text string) { c.print("culvert: warning: " + text) }

// Print writes a line without a prefix.
func (c *Console) Print(text string) { c.print(text) }

// Terminal reports whether the console is a terminal.
func (c *Console) Terminal() bool { return IsTerminal(c.w) }

func (c *Console) print(text string) {
	text = strings.ReplaceAll(c.clean(text), "\n", "\n  ")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	// There is nobody left to tell if standard error fails.
	_, _ = io.WriteString(c.w, text+"\n")
}

// draw replaces the progress line.
func (c *Console) draw(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := []rune(c.clean(text))
	// One column stays free: some terminals go to the next line when the last one is filled.
	line = line[:min(len(line), c.width()-1)]
	padding := strings.Repeat(" ", max(0, c.drawn-len(line)))
	_, _ = io.WriteString(c.w, "\r"+string(line)+padding)
	c.drawn = len(line)
}

// clear removes the progress line.
func (c *Console) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
}

func (c *Console) erase() {
	if c.drawn > 0 {
		_, _ = io.WriteString(c.w, "\r"+strings.Repeat(" ", c.drawn)+"\r")
		c.drawn = 0
	}
}

// width is the number of columns of the terminal.
func (c *Console) width() int {
	if f, ok := c.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

func (c *Console) clean(text string) string {
	if c.Redact != nil {
		text = c.Redact(text)
	}
	return Printable(text)
}

// Printable replaces the characters of a text that could control a terminal, except line ends and tabs. Characters that
// are never seen but change how others are shown, such as those that turn the direction of writing, are dropped.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return unicode.ReplacementChar
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}

// Line is [Printable] for a name that stands in a report: it has no line ends either.
func Line(text string) string {
	return strings.ReplaceAll(Printable(text), "\n", string(unicode.ReplacementChar))
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
