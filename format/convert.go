package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// Reader returns a reader of the text of r as [CSV] writes it: all rows have as many values as the first one or the
// names, and end in a line feed. So whoever reads CSV reads all dialects. The text must be UTF-8, as far as it is not
// ASCII; a byte order mark at its beginning is left out, and so are empty lines if there are several columns. There is
// no header if it is neither in the text nor named.
//
// It reads r in blocks of 128 KiB, and more only if a value has more: at most 1 GiB, as a value of PostgreSQL.
//
// What is not in the dialect is a [*RowError] with its Line in r. A RowError of r that has none gets the place of the
// text after which it came. Other errors of r are returned as they are.
func (d Dialect) Reader(r io.Reader) (io.Reader, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	c := &converter{
		r: r, dialect: d, delimiter: []byte(d.delimiter()), quote: d.quote(), isQuoted: !d.Unquoted,
		escape: d.Escape, comment: []byte(d.Comment), null: d.Null, line: 1, skip: d.Skip,
		names: append([]string(nil), d.Names...), columns: len(d.Names), in: make([]byte, 0, convertSize),
	}
	c.rows.single = c.columns == 1
	c.outside = d.Escape != 0 && d.Escapes != EscapeQuoted
	c.stops = [4]byte{c.delimiter[0], '\n', '\r', c.delimiter[0]}
	switch d.LineEnd {
	case "\n":
		c.stops[2] = '\n'
	case "\r":
		c.stops[1] = '\r'
	}
	if c.outside {
		c.stops[3] = c.escape
	}
	for i, stop := range c.stops {
		c.words[i] = ones * uint64(stop)
	}
	c.lineEnd = d.LineEnd
	return c, nil
}

// convertSize is how much is read and returned at once.
const convertSize = 128 << 10

// converter turns text in a dialect into CSV.
type converter struct {
	r       io.Reader
	dialect Dialect

	delimiter, comment []byte
	quote, escape      byte
	isQuoted, outside  bool // there are quotes; the escape has a meaning outside of them
	null               string
	stops              [4]byte // what may end a value without quotes, or is an escape
	words              [4]uint64
	lineEnd            string // "" until it is known

	in    []byte // of which at has been converted
	at    int
	inErr error // what comes after in
	begun bool

	out  []byte // of which sent has been returned
	sent int
	err  error // what comes after out

	rows    csvRows
	scratch []byte
	names   []string
	columns int // in each row; 0 until the first one ends
	row     int64
	line    int64 // at the beginning of the value
	rowLine int64 // at that of the row
	column  int   // from 0
	skip    int
}

func (c *converter) Read(p []byte) (int, error) {
	for c.sent == len(c.out) {
		if c.err != nil {
			return 0, c.err
		}
		c.out, c.sent = c.out[:0], 0
		c.err = c.convert()
	}
	n := copy(p, c.out[c.sent:])
	c.sent += n
	return n, nil
}

// convert converts rows until there is enough to return.
func (c *converter) convert() error {
	if !c.begun {
		if err := c.begin(); err != nil {
			return err
		}
	}
	for len(c.out) < convertSize {
		if err := c.convertRow(); err != nil {
			return c.located(err)
		}
	}
	return nil
}

// begin leaves out what is before the first row, and writes the names that are known.
func (c *converter) begin() error {
	c.begun = true
	if !c.has(len("\ufeff")) && c.inErr != io.EOF {
		return c.located(c.inErr)
	}
	switch {
	case bytes.HasPrefix(c.in, []byte("\ufeff")):
		c.at = len("\ufeff")
	case bytes.HasPrefix(c.in, []byte{0xff, 0xfe}), bytes.HasPrefix(c.in, []byte{0xfe, 0xff}):
		return c.located(&RowError{Reason: "the text begins as UTF-16 does, and not as UTF-8"})
	}
	for ; c.skip > 0; c.skip-- {
		if err := c.skipLine(); err != nil {
			return c.located(err)
		}
	}
	for i, name := range c.names {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = c.rows.appendValue(c.out, []byte(name))
	}
	if c.names != nil {
		c.out = append(c.out, '\n')
		c.row++
	}
	return nil
}

// located says where in the text an error is.
func (c *converter) located(err error) error {
	row, is := errors.AsType[*RowError](err)
	if !is || row.Line != 0 {
		return err
	}
	at := *row
	at.Row, at.Line = c.nextRow(), c.line
	if at.Column == "" && c.column < len(c.names) && c.row > 0 {
		at.Column = c.names[c.column]
	}
	return &at
}

// nextRow is the number of the row that is being converted, without the header.
func (c *converter) nextRow() int64 {
	if c.dialect.NoHeader && c.dialect.Names == nil {
		return c.row + 1
	}
	return c.row
}

// wrong is an error of a row as a whole.
func (c *converter) wrong(reason string, args ...any) error {
	return &RowError{Row: c.nextRow(), Line: c.rowLine, Reason: fmt.Sprintf(reason, args...)}
}

// has reports whether n bytes follow, if necessary after reading more. If not, inErr says why.
func (c *converter) has(n int) bool {
	for len(c.in)-c.at < n {
		if c.inErr != nil || !c.more() {
			return false
		}
	}
	return true
}

// more reads more of the text, after what is not converted yet, and reports whether there was any.
func (c *converter) more() bool {
	if c.inErr != nil {
		return false
	}
	if c.at > 0 {
		c.in, c.at = c.in[:copy(c.in, c.in[c.at:])], 0
	}
	if len(c.in) == cap(c.in) {
		if len(c.in) >= maxRow {
			c.inErr = &RowError{Reason: fmt.Sprintf("a value has more than %d bytes; is a quote not closed?", maxRow)}
			return false
		}
		c.in = append(make([]byte, 0, min(larger(len(c.in)), maxRow)), c.in...)
	}
	for range 100 {
		n, err := c.r.Read(c.in[len(c.in):cap(c.in)])
		c.in, c.inErr = c.in[:len(c.in)+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	c.inErr = io.ErrNoProgress
	return false
}

// convertRow converts a row. The error is io.EOF after the last one.
func (c *converter) convertRow() error {
	c.column = 0
	switch isBlank, err := c.between(); {
	case err != nil:
		return err
	case isBlank:
		return nil
	}
	c.rowLine = c.line
	start := len(c.out)
	for {
		if c.column > 0 {
			if c.columns > 0 && c.column == c.columns {
				return c.wrong("it has more values than the %d columns", c.columns)
			}
			c.out = append(c.out, ',')
		}
		isLast, err := c.convertValue()
		if err != nil {
			return err
		}
		c.column++
		if isLast {
			break
		}
	}
	if c.columns == 0 {
		c.columns, c.rows.single = c.column, c.column == 1
		if c.rows.single && string(c.out[start:]) == `\.` {
			c.out = append(c.out[:start], `"\."`...)
		}
	}
	if c.column < c.columns {
		return c.wrong("it has %s, and there are %d columns", values(c.column), c.columns)
	}
	c.out = append(c.out, '\n')
	c.row++
	if c.row == 1 && c.names == nil && !c.dialect.NoHeader {
		names, _, err := CSV{}.Header(c.out)
		if err != nil {
			return err
		}
		c.names = names
	}
	return nil
}

// between leaves out a line that is no row, and reports whether it was one. The error is io.EOF at the end of the text.
func (c *converter) between() (isBlank bool, err error) {
	if !c.has(max(len(`\.`)+1, len(c.comment))) && c.inErr != io.EOF && c.at == len(c.in) {
		return false, c.inErr
	}
	text := c.in[c.at:]
	switch {
	case len(text) == 0:
		return false, io.EOF
	case c.dialect.Escapes == EscapeLetters && text[0] == c.escape && len(text) > 1 && text[1] == '.' &&
		(len(text) == 2 || text[2] == '\n' || text[2] == '\r'):
		if err := c.skipLine(); err != nil {
			return false, err
		}
		if c.has(1) {
			return false, &RowError{Reason: fmt.Sprintf("more follows the line %c., which ends the rows", c.escape)}
		}
		return false, c.inErr
	case len(c.comment) > 0 && bytes.HasPrefix(text, c.comment):
		return true, c.skipLine()
	case c.columns > 1 || c.columns == 0 && !c.dialect.NoHeader:
		n, err := c.lineEndAt(0)
		if n > 0 {
			c.at += n
			c.line++
		}
		return n > 0, err
	}
	return false, nil
}

// skipLine leaves out a line, however it ends.
func (c *converter) skipLine() error {
	for {
		text := c.in[c.at:]
		end := bytes.IndexAny(text, "\r\n")
		switch {
		case end < 0:
			if c.at = len(c.in); !c.more() {
				if c.inErr == io.EOF {
					return nil
				}
				return c.inErr
			}
			continue
		case text[end] == '\r' && end+1 == len(text):
			if c.more() { // a line feed may follow
				continue
			}
		case text[end] == '\r' && text[end+1] == '\n':
			end++
		}
		c.at += end + 1
		c.line++
		return nil
	}
}

// lineEndAt returns the size of the end of a line i bytes from here, or 0 if there is none.
func (c *converter) lineEndAt(i int) (n int, err error) {
	first := c.in[c.at+i]
	if first != '\n' && first != '\r' {
		return 0, nil
	}
	if first == '\r' && !c.has(i+2) && c.inErr != io.EOF {
		return 0, c.inErr
	}
	found := "\n"
	if first == '\r' {
		found = "\r"
		if text := c.in[c.at+i:]; len(text) > 1 && text[1] == '\n' {
			found = "\r\n"
		}
	}
	switch {
	case c.lineEnd == "":
		c.lineEnd = found
	case c.lineEnd == "\r" && found == "\r\n" && c.dialect.LineEnd != "":
		found = "\r"
	case c.lineEnd == found:
	case c.dialect.LineEnd != "":
		return 0, nil // it is part of a value
	default:
		return 0, &RowError{Reason: fmt.Sprintf("the row ends in %s, those before it in %s", lineEndNames[found],
			lineEndNames[c.lineEnd])}
	}
	return len(found), nil
}

var lineEndNames = map[string]string{"\n": "LF", "\r\n": "CR LF", "\r": "CR"}

// stop returns the index of the first of the stops from i bytes on, or the length of the text that is there.
func (c *converter) stop(i int) int {
	text := c.in[c.at:]
	for ; len(text)-i >= 8; i += 8 {
		w := word(text[i:])
		p, q, r, s := w^c.words[0], w^c.words[1], w^c.words[2], w^c.words[3]
		if found := ((p-ones)&^p | (q-ones)&^q | (r-ones)&^r | (s-ones)&^s) & highBits; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if b := text[i]; b == c.stops[0] || b == c.stops[1] || b == c.stops[2] || b == c.stops[3] {
			break
		}
	}
	return i
}
