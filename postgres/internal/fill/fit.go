package fill

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// fit is what is to be done with the values of a table. It is safe for concurrent use.
type fit struct {
	table   string
	redact  bool
	columns []fitted // only those of which something is to be done, in order
	texts   []named  // may have characters that PostgreSQL does not have
}

// named is a column by its name and its number.
type named struct {
	name  string
	index int
}

// fitted is a column whose values are looked at.
type fitted struct {
	name     string
	index    int
	grammar  grammar.Grammar // nil for all values
	infinite bool            // an infinite number may be that of SQLite, which has no name for it
	zeros    bool            // dates that only MySQL has become NULL
	octets   bool            // text may come for binary data
	digits   bool            // and its hexadecimal digits
	escapes  bool            // and escapes of it
	binary   bool            // only binary data may come, not what else SQLite has in such columns
}

// infinity is how SQLite prints an infinite number.
var infinity = []byte("9.0e+999")

// newFit finds the columns of the rows whose values are to be looked at.
func newFit(p *plan) fit {
	f := fit{table: p.target.name(), redact: p.Redact}
	for i, c := range p.columns {
		from := p.Origin(i)
		one := fitted{name: c.Name, index: i}
		converts := p.Converts(c.Name)
		one.zeros = converts && (c.Type == "date" || strings.HasPrefix(c.Type, "timestamp"))
		if !converts {
			one.grammar = p.target.grammars[c.Name]
			if one.grammar == nil {
				one.grammar = grammar.Narrow(grammar.Postgres(c.Type), source.PostgreSQL, c.Type, from)
			}
		}
		isTyped := from.Dialect != "" && from.Dialect != source.SQLite
		if !isTyped {
			one.infinite = c.Type == "real" || c.Type == "double precision" || strings.HasPrefix(c.Type, "numeric")
		}
		if c.Type == "bytea" {
			one.escapes = from.Dialect == ""
			one.digits = from.Type == "" || isBinary(from.Type)
			one.binary = from.Dialect == source.SQLite && isBinary(from.Type) && !converts
			one.octets = (!isTyped || !isBinary(from.Type)) && (!one.escapes || !converts)
		}
		if mayHaveNUL(c.Type, from.Dialect) {
			f.texts = append(f.texts, named{c.Name, i})
		}
		if one.grammar != nil || one.infinite || one.zeros || one.octets {
			f.columns = append(f.columns, one)
		}
	}
	return f
}

// mayHaveNUL reports whether a column of a type may get text with a NUL, or text that is not UTF-8, of which the server
// does not name the column. What has a grammar has neither.
func mayHaveNUL(name string, from source.Dialect) bool {
	if from == source.PostgreSQL || name == "bytea" {
		return false
	}
	name = strings.TrimSuffix(name, "[]")
	isText := strings.HasPrefix(name, "character") || name == "name" || name == `"char"`
	return isText || grammar.Postgres(name) == nil
}

// notText returns why a text cannot be one of PostgreSQL, or "".
func notText(value []byte) string {
	switch {
	case bytes.IndexByte(value, 0) >= 0:
		return "text of PostgreSQL has no NUL (0x00)"
	case !utf8.Valid(value):
		return "the text is not valid UTF-8"
	}
	return ""
}

// isBinary reports whether the values of a type of a source are binary data.
func isBinary(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(name), "(")
	switch base {
	case "bytea", "blob", "tinyblob", "mediumblob", "longblob", "binary", "varbinary":
		return true
	}
	return false
}

// notBinary is why a column of binary data does not take another value of SQLite.
const notBinary = "the column takes binary data, and this is a text or a number"

// notOctets is why a column of binary data does not take a text.
const notOctets = `text with \ may be escapes of binary data, which is \x and hexadecimal digits`

// The SQLSTATE of a text that is none of a type, and of one with a character that the database lacks.
const (
	codeInvalid = "22P02"
	codeNotText = "22021"
)

// apply returns the rows with the names of infinite numbers, NULL for zero dates where columns may change values, and
// text as the binary data of its bytes in columns of such data: in the same batch, unless it has any. The error is that
// of the first value which its column would change.
func (f *fit) apply(b *source.Batch) (*source.Batch, error) {
	moved, end := false, b.Rows()
	var err error
	for i := range f.columns {
		c := &f.columns[i]
		for row := 0; row < end; row++ { // not to the rows after one that is refused
			kind, value := b.AnyValue(row, c.index)
			if kind == source.Null {
				continue
			}
			reason := ""
			switch {
			case c.binary && kind != source.Bytes:
				reason = notBinary
			case c.infinite && isInfinite(kind, value), c.zeros && grammar.IsZeroDate(value),
				c.octets && kind != source.Bytes && !c.isEscape(value):
				moved = true
			case c.octets && kind != source.Bytes:
				reason = notOctets
			case c.grammar != nil:
				reason = c.grammar(kind, value)
			}
			if reason != "" {
				err, end = f.refused(c.name, row, value, codeInvalid, reason), row
			}
		}
	}
	for _, c := range f.texts {
		for row := range end {
			kind, value := b.AnyValue(row, c.index)
			if kind == source.Null || kind == source.Bytes {
				continue
			}
			if reason := notText(value); reason != "" {
				err = f.refused(c.name, row, value, codeNotText, reason)
				end = row
				break
			}
		}
	}
	if err == nil && moved {
		b = f.move(b)
	}
	return b, err
}

func isInfinite(kind source.Kind, value []byte) bool {
	return kind == source.Number && bytes.Equal(bytes.TrimPrefix(value, []byte("-")), infinity)
}

func (c *fitted) isEscape(value []byte) bool { return c.escapes && bytes.IndexByte(value, '\\') >= 0 }

func (f *fit) refused(column string, row int, value []byte, code, reason string) error {
	refused := &sink.RowError{
		Table: f.table, Row: int64(row) + 1, Column: column, Code: code, Err: sink.Changed(reason),
	}
	if code == codeNotText {
		refused.Err = errors.New(reason)
	}
	if !f.redact {
		refused.Value = sink.Shorten(string(value[:min(len(value), 2*sink.MaxValue)]))
	}
	return refused
}

// move returns rows in another batch, with the values that the columns take.
func (f *fit) move(b *source.Batch) *source.Batch {
	made := new(source.Batch)
	made.Reset(b.Columns())
	for row := range b.Rows() {
		next := f.columns
		for column := range b.Columns() {
			kind, value := b.AnyValue(row, column)
			if len(next) > 0 && next[0].index == column {
				switch {
				case kind == source.Null:
				case next[0].zeros && grammar.IsZeroDate(value):
					kind, value = source.Null, nil
				case next[0].infinite && isInfinite(kind, value):
					value = bytes.Replace(value, infinity, []byte("Infinity"), 1)
				case next[0].octets:
					kind = source.Bytes
				}
				next = next[1:]
			}
			made.Append(kind, value)
		}
		made.EndRow()
	}
	return made
}
