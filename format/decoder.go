package format

import (
	"encoding/hex"
	"fmt"

	"culvert/source"
)

// Readable is implemented by formats whose text can be read back: [CSV], [Dialect] and [JSONL].
type Readable interface {
	// Header returns the names of the columns, and the length of the text before the first row. Text is the beginning
	// of the file, with at least one whole row.
	Header(text []byte) (names []string, n int, err error)

	// Decoder returns a decoder of rows with these fields.
	Decoder(fields []Field) (Decoder, error)

	// Cut returns the length of the whole rows at the beginning of text, and their number. Text begins with a row. Cut
	// decodes nothing, and reads a few gigabytes of text a second.
	Cut(text []byte) (n, rows int)
}

// Field is a column of the text. The columns of the batch are the fields that are not skipped.
type Field struct {
	Name string

	// Kind is what the values are. A value that does not look like one of its kind is Text. [source.Null] is what an
	// unknown type has: then all values of CSV are Text, and those of JSON Lines are what they are in JSON.
	Kind source.Kind

	Skip bool // the values are checked, but do not become part of the batch
}

// Decoder turns text into rows. It must be used by one goroutine at a time, and allocates nothing once it and the batch
// have grown to their size.
type Decoder interface {
	// Decode resets b and fills it with rows, until b is full or text ends. It returns the length of the text of these
	// rows, of which there is at least one unless text is empty or blank. Text must consist of whole rows; the line
	// feed of the last one may be missing. The batch does not refer to the text.
	//
	// The error is a [*RowError]. The batch is empty then.
	Decode(b *source.Batch, text []byte) (n int, err error)
}

// LineDecoder is implemented by the Decoder of [JSONL].
type LineDecoder interface {
	Decoder

	// DecodeLines is Decode, and shows each row to lines as the encoder of [JSONL.Lines] did when it was written: also
	// the fields that are skipped, and the text of a value, whatever becomes of it in the batch. The fields must be
	// all columns, in order, with the kinds of their types. After an error, lines may have seen rows.
	DecodeLines(b *source.Batch, text []byte, lines Lines) (n int, err error)
}

// RowError reports text that is not a row.
type RowError struct {
	Row    int64  // from 1 in the text, and 0 for its header; callers that know the rows before it may add them
	Line   int64  // from 1 in the text; 0 if it is not known
	Column string // "" if it is not about one
	Reason string
}

func (e *RowError) Error() string {
	where := fmt.Sprintf("row %d", e.Row)
	if e.Row == 0 {
		where = "header"
	}
	if e.Line > 0 {
		where += fmt.Sprintf(" (line %d)", e.Line)
	}
	if e.Column != "" {
		where += fmt.Sprintf(", column %q", e.Column)
	}
	return "format: " + where + ": " + e.Reason
}

// wanted returns the number of fields that are not skipped.
func wanted(fields []Field) int {
	n := 0
	for _, f := range fields {
		if !f.Skip {
			n++
		}
	}
	return n
}

// AppendAs appends text as a value of a kind, or as Text if it does not look like one.
func AppendAs(b *source.Batch, kind source.Kind, text []byte) {
	switch kind {
	case source.Number:
		if !IsNumber(text) {
			kind = source.Text
		}
	case source.Bool:
		if truth := boolOf(text); truth != "" {
			b.Append(source.Bool, []byte(truth))
			return
		}
		kind = source.Text
	case source.Bytes:
		if appendBytes(b, text) {
			return
		}
		kind = source.Text
	case source.Null:
		kind = source.Text
	}
	b.Append(kind, text)
}

// KindOf returns the kind of a text that is read as a value of a kind, which is that of the type of its column.
func KindOf(column source.Kind, text []byte) source.Kind {
	var b source.Batch
	b.Reset(1)
	AppendAs(&b, column, text)
	b.EndRow()
	kind, _ := b.AnyValue(0, 0)
	return kind
}

// appendBytes appends the binary data that the text stands for, if it is \x and pairs of hexadecimal digits.
func appendBytes(b *source.Batch, text []byte) bool {
	if len(text) < 2 || text[0] != '\\' || text[1] != 'x' {
		return false
	}
	digits := text[2:]
	data, err := hex.AppendDecode(b.AvailableBuffer(hex.DecodedLen(len(digits))), digits)
	if err != nil {
		return false
	}
	b.Append(source.Bytes, data)
	return true
}

// IsNumber reports whether text is a number as some database prints it: decimal digits with a sign, a period and an
// exponent at most, or a name.
func IsNumber(text []byte) bool {
	i := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i++
	}
	start := i
	i = skipDigits(text, i)
	digits := i - start
	if digits > 0 && i == len(text) {
		return true
	}
	if i < len(text) && text[i] == '.' {
		start = i + 1
		i = skipDigits(text, start)
		digits += i - start
	}
	if digits == 0 {
		return string(text) == "NaN" || string(text) == "Infinity" || string(text) == "-Infinity"
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '-' || text[i] == '+') {
			i++
		}
		start = i
		if i = skipDigits(text, start); i == start {
			return false
		}
	}
	return i == len(text)
}

// boolOf returns t or f for the words that PostgreSQL reads as a boolean, in any case, and "" for others.
func boolOf(text []byte) string {
	if len(text) == 1 {
		switch text[0] {
		case 't', 'T', 'y', 'Y', '1':
			return "t"
		case 'f', 'F', 'n', 'N', '0':
			return "f"
		}
		return ""
	}
	var lower [len("false")]byte
	if len(text) == 0 || len(text) > len(lower) {
		return ""
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(text)]) {
	case "true", "yes", "on":
		return "t"
	case "false", "no", "off":
		return "f"
	}
	return ""
}
