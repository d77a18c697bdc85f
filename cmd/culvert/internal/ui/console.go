// Package ui is how Culvert speaks to people: messages with hints, progress, the figures at the end, JSON for programs,
// and prompts.
//
// Its rules:
//
//   - Data goes to standard output, all else to standard error, through one [Console].
//   - Errors, hints and warnings begin with culvert: and the word, are lower case, and have no full stop.
//   - Progress is a bar for each task under way, on a terminal only. Messages appear above the bars, and prompts in
//     their place. When the command ends, the bars are gone.
//   - Secrets are asked for on the terminal itself, even if standard input and output are redirected, and the question
//     is erased afterwards.
//   - Nothing depends on colours: only bars have one, and none if NO_COLOR is set.
//   - In a locale that is not in UTF-8, bars, tables and messages are drawn in ASCII.
//   - Text from elsewhere, such as the name of a table, cannot control the terminal, and cannot pass for a message: its
//     further lines are indented.
package ui

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Console writes messages and progress to one stream, usually standard error. It is safe for concurrent use.
type Console struct {
	// Redact, if it is set, removes secrets from everything that is written. It must not be changed once the console is
	// in use.
	Redact func(string) string

	mu    sync.Mutex
	w     io.Writer
	frame string // on the screen below the cursor; "" is none
	asks  bool   // a prompt has the terminal
}

// NewConsole returns a console that writes to w.
func NewConsole(w io.Writer) *Console { return &Console{w: w} }

// Error reports why a command failed.
func (c *Console) Error(text string) { c.Print("culvert: error: " + text) }

// Hint suggests what to try next.
func (c *Console) Hint(text string) { c.Print("culvert: hint: " + text) }

// Warn reports what is doubtful but no failure.
func (c *Console) Warn(text string) { c.Print("culvert: warning: " + text) }

// Print writes a line without a prefix.
func (c *Console) Print(text string) {
	text = strings.ReplaceAll(c.clean(text), "\n", "\n  ") + "\n"
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frame != "" && !c.asks {
		text = eraseBelow + text + c.frame
	}
	c.write(text)
}

// Terminal reports whether the console is a terminal.
func (c *Console) Terminal() bool { return IsTerminal(c.w) }

// Style returns the style of progress that suits the console.
func (c *Console) Style(quiet, verbose bool) Style {
	file, _ := c.w.(*os.File)
	switch {
	case quiet:
		return Silent
	case c.Terminal() && understandsEscapes(file):
		return Redrawn
	case verbose:
		return Periodic
	}
	return Silent
}

// The escape sequences of ECMA-48 that frames are made of.
const (
	eraseBelow = "\x1b[J"
	eraseRight = "\x1b[K"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
)

// draw replaces the frame, the lines of progress at the end of the screen. The cursor stays at the beginning of the
// first line: a terminal that becomes narrower wraps the lines anew, and still all of them are below the cursor.
func (c *Console) draw(lines []string) {
	frame := ""
	if len(lines) > 0 {
		frame = wrapOff + strings.Join(lines, eraseRight+"\r\n") + eraseBelow + wrapOn + "\r"
	}
	if inASCII() {
		frame = strings.ReplaceAll(frame, "…", "~") // of the same width
	}
	if len(lines) > 1 {
		frame += fmt.Sprintf("\x1b[%dA", len(lines)-1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.asks:
	case frame != "":
		c.write(frame)
	case c.frame != "":
		c.write(eraseBelow)
	}
	c.frame = frame
}

// ask runs f, which has the terminal for itself, without the frame and what is drawn meanwhile.
func (c *Console) ask(f func() error) error {
	hold := func(asks bool, text string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asks = asks; c.frame != "" {
			c.write(text)
		}
	}
	hold(true, eraseBelow)
	defer hold(false, "")
	return f()
}

// write ignores the error: if standard error fails, there is nowhere to report it.
func (c *Console) write(text string) { _, _ = io.WriteString(c.w, Symbols(text)) }

// size returns the columns and lines of the terminal. Writers other than files may have a method for it.
func (c *Console) size() (width, height int) {
	switch w := c.w.(type) {
	case interface{ Size() (width, height int) }:
		return w.Size()
	case *os.File:
		if width, height, err := term.GetSize(int(w.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

func (c *Console) clean(text string) string {
	if c.Redact != nil {
		text = c.Redact(text)
	}
	return Printable(text)
}

// Printable replaces the characters of a text that could control a terminal, except line ends and tabs. It removes
// characters that are invisible but change how others are shown, such as those that set the direction of writing.
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

// Line returns a text that stays on its line: characters that [Printable] would change, and line ends, are escaped as
// in Go.
func Line(text string) string {
	return escape(text, func(r rune) bool { return r != '\t' && !isShown(r) })
}

// Lines is Line for a text of several lines.
func Lines(text string) string {
	return escape(text, func(r rune) bool { return r != '\t' && r != '\n' && !isShown(r) })
}

// Name returns the name of a file or a table as it can be shown. If it has characters that are not shown as they are,
// or could control a terminal, it is quoted and escaped as bash takes it, $'a\nb'.
func Name(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !isShown(r) }) {
		return name
	}
	return "$'" + escape(name, func(r rune) bool { return r == '\'' || r == '\\' || !isShown(r) }) + "'"
}

func isShown(r rune) bool {
	return r != '\n' && r != '\t' && Printable(string(r)) == string(r)
}

// escape escapes some characters of a text, and all bytes that are not UTF-8.
func escape(text string, isEscaped func(rune) bool) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case !isEscaped(r):
			b.WriteRune(r)
		case r == '\'':
			b.WriteString(`\'`)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
