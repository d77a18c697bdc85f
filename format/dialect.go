package format

import (
	"errors"
	"fmt"
	"strings"
)

// Dialect is how other programs write CSV. The zero value is RFC 4180, with nothing for NULL: commas, values in quotes
// if necessary, quotes in them doubled, and names in the first row.
//
// Text in a dialect is not decoded itself. [Dialect.Reader] turns it into that of [CSV], row by row, and this is the
// text that the methods of [Readable] are for.
type Dialect struct {
	Delimiter string // between values, such as ";" or "||"; "" is a comma
	Quote     byte   // around values, a character of ASCII; 0 is "
	Unquoted  bool   // no character is a quote
	Null      string // stands for NULL where it is not in quotes; "" in quotes is the empty string

	Escape  byte    // a character of ASCII that takes the meaning of the next one; 0 is none
	Escapes Escapes // what it does

	// LineEnd ends a row: "\n", "\r\n" or "\r", and nothing else does. If it is "", the first row says which, and a
	// line feed or carriage return of another kind is refused unless it is quoted.
	LineEnd string

	NoHeader bool     // the first row is no header
	Names    []string // of the columns, for text without a header
	Skip     int      // lines before the header or the first row
	Comment  string   // lines that begin with it are left out; "" is none
	Mark     bool     // a byte order mark is written before the text, as Excel needs it; read, it never counts
	Trim     bool     // spaces and tabs around values, and around their quotes, do not count
}

// Escapes is what an escape does.
type Escapes uint8

const (
	// EscapeSpecial is the default: the character after the escape is part of the value if it is a quote, the escape,
	// CR, LF, or begins a delimiter or a comment. Before others, the escape is itself.
	EscapeSpecial Escapes = iota

	// EscapeQuoted is as PostgreSQL's COPY … (FORMAT csv, ESCAPE …): only within quotes, and only before a quote and
	// the escape.
	EscapeQuoted

	// EscapeLetters is as PostgreSQL's text and MySQL write values: \b, \f, \n, \r, \t and \v, \0 for the byte 0 and \Z
	// for 0x1a. Other letters and digits have no meaning and are refused, and the rest is itself.
	EscapeLetters
)

// Dialects that have names.
var (
	TSV = Dialect{Delimiter: "\t"}

	// PostgreSQLText is that of COPY without options.
	PostgreSQLText = Dialect{
		Delimiter: "\t", Unquoted: true, Null: `\N`, Escape: '\\', Escapes: EscapeLetters, NoHeader: true,
	}

	// MySQLText is that of SELECT … INTO OUTFILE, LOAD DATA and mysqldump --tab without options.
	MySQLText = Dialect{
		Delimiter: "\t", Unquoted: true, Null: `\N`, Escape: '\\', Escapes: EscapeLetters, NoHeader: true,
		LineEnd: "\n",
	}
)

var _ Readable = Dialect{}

// Header is [CSV.Header], for the text that Reader returns.
func (Dialect) Header(text []byte) (names []string, n int, err error) { return CSV{}.Header(text) }

// Decoder is [CSV.Decoder], for the text that Reader returns.
func (Dialect) Decoder(fields []Field) (Decoder, error) { return CSV{}.Decoder(fields) }

// Cut is [CSV.Cut], for the text that Reader returns.
func (Dialect) Cut(text []byte) (n, rows int) { return cutQuoted(text) }

// Check returns what is wrong with a dialect. Reader does so, too.
func (d Dialect) Check() error {
	delimiter, quote := d.delimiter(), d.quote()
	if d.Unquoted {
		quote = 0
	}
	isSpecial := func(c byte) bool { return c == '\r' || c == '\n' || c >= 0x80 || c == delimiter[0] }
	switch {
	case strings.ContainsAny(delimiter, "\r\n"):
		return errors.New("format: csv: a delimiter cannot have an end of a line")
	case len(delimiter) > mostDelimiter || len(d.Comment) > mostDelimiter:
		return fmt.Errorf("format: csv: a delimiter or comment has at most %d bytes", mostDelimiter)
	case d.Unquoted && d.Quote != 0:
		return errors.New("format: csv: there is a quote, but values are not quoted")
	case quote != 0 && isSpecial(quote):
		return fmt.Errorf("format: csv: %q cannot be the quote beside the delimiter %q", quote, delimiter)
	case d.Escape != 0 && (isSpecial(d.Escape) || d.Escape == ' '):
		return fmt.Errorf("format: csv: %q cannot be the escape beside the delimiter %q", d.Escape, delimiter)
	case d.Escape != 0 && d.Escape == quote && d.Escapes != EscapeQuoted:
		return errors.New("format: csv: a doubled quote needs no escape: leave it out")
	case d.Escapes > EscapeLetters || d.Escapes != EscapeSpecial && d.Escape == 0:
		return errors.New("format: csv: it is said what an escape does, but not which it is")
	case d.LineEnd != "" && d.LineEnd != "\n" && d.LineEnd != "\r\n" && d.LineEnd != "\r":
		return fmt.Errorf("format: csv: %q cannot end a line", d.LineEnd)
	case strings.ContainsAny(d.Null, "\r\n") || strings.Contains(d.Null, delimiter):
		return fmt.Errorf("format: csv: %q cannot stand for NULL", d.Null)
	case quote != 0 && strings.IndexByte(d.Null, quote) == 0:
		return fmt.Errorf("format: csv: the text for NULL is never quoted, so it cannot be %q", d.Null)
	case d.Trim && strings.Trim(d.Null, " \t") != d.Null:
		return fmt.Errorf("format: csv: without spaces around values, %q cannot stand for NULL", d.Null)
	case strings.ContainsAny(d.Comment, "\r\n"):
		return errors.New("format: csv: a comment cannot begin with an end of a line")
	case d.Skip < 0:
		return errors.New("format: csv: fewer lines than none cannot be left out")
	}
	return nil
}

const mostDelimiter = 16

// explicit returns the dialect with what is meant by zero values.
func (d Dialect) explicit() Dialect {
	d.Delimiter = d.delimiter()
	if !d.Unquoted {
		d.Quote = d.quote()
	}
	return d
}

func (d Dialect) delimiter() string {
	if d.Delimiter == "" {
		return ","
	}
	return d.Delimiter
}

func (d Dialect) quote() byte {
	if d.Quote == 0 {
		return '"'
	}
	return d.Quote
}
