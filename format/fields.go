package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"culvert/source"
)

var (
	_ Readable = CSV{}
	_ Readable = JSONL{}
)

// Header returns the names in the first row, and none if it is an empty line.
func (CSV) Header(text []byte) (names []string, n int, err error) {
	var r csvDecoder
	for {
		f, ok := r.field(text, n)
		if !ok {
			return nil, 0, &RowError{Reason: "a quote of the header is not closed"}
		}
		end := r.endOf(text, f.end)
		n = f.end + end.size()
		if len(names) == 0 && f.start == f.end && end != endOfValue {
			return nil, n, nil // the header of a table without columns
		}
		names = append(names, string(f.appendTo(nil, text)))
		switch end {
		case endOfValue:
		case strayReturn:
			return nil, 0, &RowError{Reason: "the header has a carriage return that is not quoted"}
		default:
			return names, n, nil
		}
	}
}

// Decoder returns a decoder, and never an error. Names may repeat.
//
// Everything is accepted that PostgreSQL accepts: rows may end in CR LF instead of LF, but all in the same way; quotes
// may also be around a part of a value only. A CR or LF that is not quoted ends a row, and nothing else. Each row must
// have as many values as there are fields, so an empty line is a row only of one value, or of none.
func (CSV) Decoder(fields []Field) (Decoder, error) {
	return &csvDecoder{append([]Field(nil), fields...), wanted(fields)}, nil
}

// Cut returns the length and number of the whole rows at the beginning of text.
func (CSV) Cut(text []byte) (n, rows int) { return cutQuoted(text) }

// csvDecoder has no state besides what it was made of.
type csvDecoder struct {
	fields []Field
	wanted int // fields that are not skipped
}

func (d *csvDecoder) Decode(b *source.Batch, text []byte) (n int, err error) {
	b.Reset(d.wanted)
	ending := atEnd
	for n < len(text) && !b.Full() {
		next, end, err := d.row(b, text, n)
		if err == nil && end != ending && end != atEnd {
			if ending != atEnd {
				err = &RowError{Reason: "the row ends in " + end.String() + ", those before it in " + ending.String()}
			}
			ending = end
		}
		if err != nil {
			err.Row = int64(b.Rows()) + 1
			b.Reset(d.wanted)
			return 0, err
		}
		b.EndRow()
		n = next
	}
	return n, nil
}

// row appends the values of the row at text[i], and returns where the next one begins and how it ended.
func (d *csvDecoder) row(b *source.Batch, text []byte, i int) (next int, end ending, err *RowError) {
	last := len(d.fields) - 1
	if last < 0 {
		end = d.endOf(text, i)
		if end != lineFeed && end != returnAndFeed {
			return 0, end, &RowError{Reason: "there are values, but no columns"}
		}
		return i + end.size(), end, nil
	}
	for k := range d.fields {
		f := &d.fields[k]
		start := i
		if i, err = d.value(b, f, text, i); err != nil {
			return 0, 0, err
		}
		isEmpty := i == start
		end = d.endOf(text, i)
		i += end.size()
		if end == endOfValue {
			continue
		}
		switch {
		case end == strayReturn:
			return 0, 0, &RowError{Column: f.Name, Reason: "a carriage return is neither quoted nor before a line feed"}
		case k == 0 && k < last && isEmpty:
			return 0, 0, &RowError{Reason: "it is an empty line"}
		case k < last:
			return 0, 0, &RowError{Reason: fmt.Sprintf("it has %s, and there are %d columns", values(k+1), last+1)}
		}
		return i, end, nil
	}
	return 0, 0, &RowError{Reason: fmt.Sprintf("it has more values than the %d columns", last+1)}
}

// value appends the value of a field at text[i], and returns its end.
func (d *csvDecoder) value(b *source.Batch, f *Field, text []byte, i int) (end int, err *RowError) {
	end = d.plain(text, i)
	switch {
	case end < len(text) && text[end] == '"':
		return d.quoted(b, f, text, i)
	case f.Skip:
	case i == end:
		b.AppendNull()
	default:
		AppendAs(b, f.Kind, text[i:end])
	}
	return end, nil
}

// quoted appends a value with quotes.
func (d *csvDecoder) quoted(b *source.Batch, f *Field, text []byte, i int) (end int, err *RowError) {
	if text[i] == '"' && f.Kind != source.Bytes && !f.Skip {
		value, end := unquoteCSV(b.AvailableBuffer(0), text, i+1)
		if end == len(text) || end > 0 && d.isEnd(text[end]) {
			AppendAs(b, f.Kind, value)
			return end, nil
		}
	}
	v, ok := d.field(text, i)
	switch {
	case !ok:
		return 0, &RowError{Column: f.Name, Reason: "a quote is not closed"}
	case f.Skip:
	case v.whole && v.quotes == 2:
		AppendAs(b, f.Kind, text[v.start+1:v.end-1])
	default:
		value := v.appendTo(b.AvailableBuffer(v.end-v.start), text)
		if f.Kind == source.Bytes {
			value = bytes.Clone(value) // the digits must not be where the data is made
		}
		AppendAs(b, f.Kind, value)
	}
	return v.end, nil
}

func values(n int) string {
	if n == 1 {
		return "1 value"
	}
	return fmt.Sprintf("%d values", n)
}

// ending is what follows a value.
type ending uint8

const (
	atEnd         ending = iota // the text ends
	endOfValue                  // a comma
	lineFeed                    // LF
	returnAndFeed               // CR LF
	strayReturn                 // CR and something else
)

// size returns the number of bytes of the ending.
func (e ending) size() int { return int([...]uint8{0, 1, 1, 2, 1}[e]) }

func (e ending) String() string {
	if e == returnAndFeed {
		return "CR LF"
	}
	return "LF"
}

// endOf returns the ending at text[i], which a field has found.
func (*csvDecoder) endOf(text []byte, i int) ending {
	switch {
	case i == len(text):
		return atEnd
	case text[i] == '\n':
		return lineFeed
	case text[i] != '\r':
		return endOfValue
	case i+1 < len(text) && text[i+1] == '\n':
		return returnAndFeed
	}
	return strayReturn
}

// csvField is where a value is in the text.
type csvField struct {
	start, end int
	quotes     int  // in it, of any meaning
	whole      bool // if there are two quotes, nothing is outside of them
}

// field finds the end of the value at text[i]. It reports whether its quotes are closed.
func (d *csvDecoder) field(text []byte, i int) (f csvField, ok bool) {
	f = csvField{start: i, whole: i < len(text) && text[i] == '"'}
	for {
		i = d.plain(text, i)
		if i == len(text) || text[i] != '"' {
			f.end = i
			return f, true
		}
		closing := bytes.IndexByte(text[i+1:], '"')
		if closing < 0 {
			return f, false
		}
		i += closing + 2
		f.quotes += 2
		if i < len(text) && text[i] != '"' && !d.isEnd(text[i]) {
			f.whole = false
		}
	}
}

func (*csvDecoder) isEnd(c byte) bool { return c == ',' || c == '\n' || c == '\r' }

// plain returns the index of the first comma, quote or end of a line from text[i] on, or the length of the text.
func (d *csvDecoder) plain(text []byte, i int) int {
	for ; len(text)-i >= 8; i += 8 {
		w := word(text[i:])
		comma, quote, feed, carriage := w^ones*',', w^ones*'"', w^ones*'\n', w^ones*'\r'
		if found := ((comma-ones)&^comma | (quote-ones)&^quote | (feed-ones)&^feed | (carriage-ones)&^carriage) &
			highBits; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c == '"' || d.isEnd(c) {
			break
		}
	}
	return i
}

// unquoteCSV makes the value that begins after the quote before text[i] in the memory of dst, and returns the index
// after the quote at its end, or 0 if there is none or not enough memory. Quotes are frequent in JSON, so it works on
// words, as appendDoubles does.
func unquoteCSV(dst, text []byte, i int) (value []byte, end int) {
	dst = dst[:cap(dst)]
	n := 0
	for len(text)-i >= 8 && len(dst)-n >= 8 {
		w := word(text[i:])
		binary.LittleEndian.PutUint64(dst[n:], w)
		quotes := hasByte(w, '"')
		if quotes == 0 {
			i, n = i+8, n+8
			continue
		}
		plain := bits.TrailingZeros64(quotes) / 8
		i, n = i+plain+1, n+plain
		if i == len(text) || text[i] != '"' {
			return dst[:n], i
		}
		i, n = i+1, n+1 // the first quote is in dst already
	}
	for ; i < len(text) && n < len(dst); i, n = i+1, n+1 {
		if text[i] == '"' {
			if i++; i == len(text) || text[i] != '"' {
				return dst[:n], i
			}
		}
		dst[n] = text[i]
	}
	return nil, 0
}

// appendTo appends the value: without the quotes around its parts, and each two quotes within them as one.
func (f csvField) appendTo(dst, text []byte) []byte {
	text = text[f.start:f.end]
	for {
		at := bytes.IndexByte(text, '"')
		if at < 0 {
			return append(dst, text...)
		}
		dst, text = append(dst, text[:at]...), text[at+1:]
		at = bytes.IndexByte(text, '"')
		dst, text = append(dst, text[:at]...), text[at+1:]
		if len(text) > 0 && text[0] == '"' {
			dst = append(dst, '"') // and the quote after it opens again
		}
	}
}
