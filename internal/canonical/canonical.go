// Package canonical brings the values of rows to one text, whatever database has printed them, so that rows of
// different systems can be compared.
//
// The canonical text of a value is the one that PostgreSQL prints for the logical type of its column
// ([culvert/source.Type]), in UTC and with dates of ISO 8601:
//
//	bool             t or f; 1 and 0, and the words that PostgreSQL reads, are read too
//	int16, …         digits, without zeros or + before them
//	float32, 64      the shortest that reads back as the same number, with an exponent from 1e-5 down, and from 1e6
//	                 (float32) or 1e15 up; NaN, Infinity, -Infinity
//	decimal(p,s)     s digits after the point; no zero has a sign
//	decimal          no zeros at the end of a fraction, and no exponent
//	char(n)          n characters: padded with spaces
//	bytes            \x and hexadecimal digits in lower case
//	date             2026-01-02, also of 2026/1/2, and of its midnight
//	time, timestamp  hours, minutes and seconds, a fraction without zeros at its end; a day is its midnight
//	instant          the same in UTC, with +00; without a zone, it is in UTC already
//	uuid             in lower case, with hyphens
//	json             as jsonb: keys by their length, then by their bytes, each once and with its last value; a space
//	                 after each colon and comma; no escapes but those that must be; numbers as decimals without bounds
//	list(T)          the values as T, as PostgreSQL prints arrays; of json and decimal, the text as it is
//
// Values of all other types, such as string, are their text as it is. So is a text that does not read as its type:
// it is equal only to itself. Of a float32 that another system keeps in 64 bits, two numbers are the same value: the
// same number, and the one with the same shortest text.
//
// Only the numbers in JSON are not as PostgreSQL prints them: jsonb keeps the zeros at the end of a fraction, but 1.5
// and 1.50 are equal there too, and other systems have no such zeros.
//
// Two differences remain. JSON of more than [MaxJSON] bytes is its text as it is, and so is JSON with several
// exponents that stand for more than 100,000 digits. And a floating-point zero keeps its sign.
package canonical

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"culvert/internal/rowsum"
	"culvert/source"
)

// Types say what the values of rows are. They are safe for concurrent use.
type Types struct {
	checked []column // those whose text may differ from the canonical one, in order
	zeros   bool     // all of them do only by zeros of numbers
}

// column is a column whose values are looked at.
type column struct {
	index   int
	logical source.Type
	differs func(field []byte) bool // whether it may, which is quicker to see than its canonical text; or nil

	// quick brings a field, from at to end of a line, to its canonical text, if it is one of most, or is nil.
	quick func(j *jsonInLine, line []byte, at, end int) bool

	usual usual // in which a number does not differ, which is quicker still to see
}

// mayDiffer reports whether a field of the column, as it is written, may differ from the canonical one.
func (c *column) mayDiffer(field []byte) bool {
	if len(field) == 0 || c.differs != nil {
		return len(field) > 0 && c.differs(field)
	}
	return c.logical.Class != source.JSONClass || !isNothing(field)
}

// TypesOf returns the types of the columns of rows that a database of a dialect prints. If another has made the
// columns, or it is not known which, the dialect is "". The columns whose names are changed have values that the
// database has not printed.
func TypesOf(columns []source.Column, printed source.Dialect, changed ...string) *Types {
	t := &Types{}
	for i, c := range columns {
		by := printed
		if slices.Contains(changed, c.Name) {
			by = ""
		}
		if mayDiffer(c, by) {
			t.checked = append(t.checked, column{i, c.Logical, lookOf(c, by), quickOf(c), usualOf(c, by)})
			t.zeros = hasZeros(c, by) && (t.zeros || len(t.checked) == 1)
		}
	}
	return t
}

// mayDiffer reports whether a line may differ from the canonical one.
func (t *Types) mayDiffer(line []byte) bool {
	return len(t.checked) > 0 && (!t.zeros || mayHaveZeros(line))
}

// KeptTypesOf is TypesOf for rows of which the text of JSON has lost white space ([culvert/format.JSONL.Lines]).
func KeptTypesOf(columns []source.Column, printed source.Dialect, changed ...string) *Types {
	columns = slices.Clone(columns)
	for i := range columns {
		if columns[i].Logical.Class == source.JSONClass {
			columns[i].Type = "" // also jsonb
		}
	}
	return TypesOf(columns, printed, changed...)
}

// AreText reports whether the text that the database prints is canonical, for all columns. Then the sum of the text is
// the canonical sum.
func (t *Types) AreText() bool { return len(t.checked) == 0 }

// mayDiffer reports whether some text that a database prints for a column may differ from the canonical one.
func mayDiffer(c source.Column, printed source.Dialect) bool {
	l := c.Logical
	if l.List && printed != "" || isListAsPrinted(l) {
		return false // the values of other lists that PostgreSQL prints are canonical
	}
	switch l.Class {
	case source.UnknownClass, source.StringClass, source.IntervalClass, source.EnumClass:
		return false
	case source.DateClass:
		return printed == source.SQLite || printed == "" // others pad days, and months
	case source.CharClass:
		return l.Length > 0 && printed != source.PostgreSQL
	case source.DecimalClass:
		return l.Precision == 0 || printed != source.PostgreSQL
	case source.JSONClass:
		return true // numbers of jsonb may have zeros
	case source.IntClass:
		return printed != source.PostgreSQL && (printed.Family() != source.MySQL || isYear(c.Type))
	case source.BytesClass:
		return printed == ""
	case source.UUIDClass:
		return printed != source.PostgreSQL && (c.Type != "uuid" || printed != source.MariaDB)
	default:
		return printed != source.PostgreSQL
	}
}

// isListAsPrinted reports whether a list is its text, since values that PostgreSQL prints in it may not be canonical.
func isListAsPrinted(t source.Type) bool {
	return t.List && (t.Class == source.JSONClass || t.Class == source.DecimalClass && t.Precision == 0)
}

// isYear reports whether integers of MySQL have a type of which one, the year 0000, has more digits than it needs.
func isYear(name string) bool {
	return len(name) >= len("year") && strings.EqualFold(name[:len("year")], "year")
}

// AsPrinted names the columns, with their types, whose values are their text, although systems print equal ones in
// different texts.
func AsPrinted(columns []source.Column) (names []string) {
	for _, c := range columns {
		class := c.Logical.Class
		if class == source.UnknownClass || class == source.IntervalClass || isListAsPrinted(c.Logical) {
			names = append(names, fmt.Sprintf("%q (%s)", c.Name, cmp.Or(c.Type, c.Logical.String())))
		}
	}
	return names
}

// Adder adds up the text of rows and their canonical text. It is a [culvert/format.Lines]. It must be used by one
// goroutine at a time, and retains no text. It does not allocate once it has grown to the size of the rows.
type Adder struct {
	Text      rowsum.Sum // of the rows as they are printed
	Canonical rowsum.Sum

	types  *Types
	values Values
	line   jsonInLine // and the canonical line
	ends   []int      // of the fields of a line
	field  []byte     // without its quotes
	looked bool       // memory may have grown in this line

	parts struct {
		text, canonical rowsum.Adder
		fields          parts
	}
}

// Reset begins with no rows, of the given types. It keeps memory. Without types, the canonical sum is that of the text.
func (a *Adder) Reset(types *Types) {
	a.types, a.Text, a.Canonical = types, rowsum.Sum{}, rowsum.Sum{}
	a.parts.text.Reset()
	a.parts.canonical.Reset()
	a.parts.fields.reset()
	a.line.shapes.credit = firstCredit
	a.shrink()
}

// shrink frees what large values have left, so that each adder keeps little, however many there are.
func (a *Adder) shrink() {
	if cap(a.line.out)+cap(a.line.spare)+cap(a.line.members)*memberSize > keptSize {
		a.line.jsonObjects = jsonObjects{}
	}
	if cap(a.field) > keptSize {
		a.field = nil
	}
	a.values.shrink()
}

// keptSize is the largest buffer that is used again. Lines of up to smallLine bytes, as they are and as canonical ones,
// never need more, even if exponents stand for many digits.
const (
	keptSize  = 1 << 20
	smallLine = 16 << 10
)

// Line adds a row: a whole line of CSV, as package format writes it, with its line feed.
func (a *Adder) Line(line []byte) { a.Row(line, nil) }

// WantsEnds reports whether Row looks at fields of most lines.
func (a *Adder) WantsEnds() bool { return a.types != nil && len(a.types.checked) > 0 && !a.types.zeros }

// Row is Line for a line of which it is known where its fields end: at their commas, and at the line feed.
func (a *Adder) Row(line []byte, ends []int) {
	sum := rowsum.Of(line)
	a.Text.Add(sum)
	if a.types != nil && a.types.mayDiffer(line) {
		if len(ends) == 0 {
			ends = a.endsOf(line)
		}
		canonical, differs := a.canonical(line, ends)
		if differs {
			sum = rowsum.Of(canonical)
		}
		if a.looked {
			if max(len(line), len(canonical)) > smallLine {
				a.shrink()
			}
			a.looked = false
		}
	}
	a.Canonical.Add(sum)
}

// endsOf returns where the fields of a line end, up to the last that is looked at.
func (a *Adder) endsOf(line []byte) []int {
	a.ends = a.ends[:0]
	last := a.types.checked[len(a.types.checked)-1].index
	for at := 0; at < len(line) && len(a.ends) <= last; at++ {
		at = fieldEnd(line, at)
		a.ends = append(a.ends, at)
	}
	return a.ends
}

// canonical returns the canonical text of a line, if it differs. It looks only at the fields that may.
func (a *Adder) canonical(line []byte, ends []int) (canonical []byte, differs bool) {
	a.line.out, a.line.taken = a.line.out[:0], 0
	checked := a.types.checked
	for i := range checked {
		c := &checked[i]
		if c.index >= len(ends) {
			break // a row of fewer fields than columns
		}
		at, end := 0, ends[c.index]
		if c.index > 0 {
			at = ends[c.index-1] + 1
		}
		if at == end || c.usual.most > 0 && c.usual.fits(line, at, end) {
			continue
		}
		if line[at] == '"' && c.logical.Class == source.JSONClass && (c.differs == nil || a.types.zeros) {
			if a.looked = true; a.line.take(line, at, end) {
				continue
			}
		}
		if c.mayDiffer(line[at:end]) {
			a.looked = true
			a.appendCanonical(c, line, at, end)
		}
	}
	if a.line.taken == 0 {
		return nil, false
	}
	a.line.copy(line, len(line), 0)
	return a.line.out, true
}

// appendCanonical appends what is before a field, and its canonical text, to the canonical line, if it differs.
func (a *Adder) appendCanonical(c *column, line []byte, at, end int) {
	if c.quick != nil && c.quick(&a.line, line, at, end) {
		return
	}
	value, memory := unquoted(line[at:end], a.field)
	a.field = memory
	if text, differs := a.values.canonical(c.logical, value); differs {
		a.line.copy(line, at, end)
		a.line.out = c.appendField(a.line.out, text)
	}
}

// fieldEnd returns where the field that begins at a place of a line ends: at its comma, or at the line feed.
func fieldEnd(line []byte, at int) int {
	if at < len(line) && line[at] == '"' {
		for at++; ; at += 2 {
			quote := bytes.IndexByte(line[at:], '"')
			if quote < 0 {
				return len(line) - 1
			}
			if at += quote; at+1 >= len(line) || line[at+1] != '"' {
				return at + 1
			}
		}
	}
	// Most fields are short, which a search takes longer for than to look at eight bytes at a time: the lowest of those
	// that are a comma becomes 0, and the lowest 0 is found by what it borrows.
	const commas = ones * ','
	for end := min(at+2*word, len(line)-word); at < end; at += word {
		differing := binary.LittleEndian.Uint64(line[at:]) ^ commas
		if found := (differing - ones) &^ differing & highs; found != 0 {
			return at + bits.TrailingZeros64(found)/word
		}
	}
	comma := bytes.IndexByte(line[at:], ',')
	if comma < 0 {
		return len(line) - 1
	}
	return at + comma
}

// unquoted returns the value of a field, in memory that it may use.
func unquoted(field, memory []byte) (value, used []byte) {
	if field[0] != '"' || len(field) < 2 {
		return field, memory
	}
	value = field[1 : len(field)-1]
	if bytes.IndexByte(value, '"') < 0 {
		return value, memory
	}
	memory = memory[:0]
	for {
		quote := bytes.IndexByte(value, '"')
		if quote < 0 {
			memory = append(memory, value...)
			return memory, memory
		}
		memory = append(memory, value[:quote+1]...)
		value = value[min(quote+2, len(value)):]
	}
}

// appendField appends a value as package format writes it.
func (c *column) appendField(dst, value []byte) []byte {
	if len(value) > 0 && !c.needsQuotes(value) {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	for {
		quote := bytes.IndexByte(value, '"')
		if quote < 0 {
			dst = append(dst, value...)
			return append(dst, '"')
		}
		dst = append(append(dst, value[:quote+1]...), '"')
		value = value[quote+1:]
	}
}

// needsQuotes reports whether a canonical value that is not empty is quoted in CSV.
func (c *column) needsQuotes(value []byte) bool {
	if c.logical.List {
		return bytes.ContainsAny(value, ",\"\r\n")
	}
	switch c.logical.Class {
	case source.JSONClass: // it has no line feeds
		return value[0] == '"' || bytes.IndexByte(value, ',') >= 0 || bytes.IndexByte(value, '"') >= 0
	case source.CharClass:
		return bytes.ContainsAny(value, ",\"\r\n")
	}
	return false
}
