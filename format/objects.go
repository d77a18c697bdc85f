package format

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"culvert/source"
)

// Header returns the names of the first object, in order. No text is before the first row.
func (JSONL) Header(text []byte) (names []string, n int, err error) {
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if at = next; isBlank(line) {
			continue
		}
		o := object{line: line}
		for {
			m, reason := o.next()
			if reason != "" {
				return nil, 0, &RowError{Row: 1, Reason: reason}
			}
			if m.name == nil {
				return names, 0, nil
			}
			name, ok := unquote(nil, m.name)
			if !ok {
				return nil, 0, &RowError{Row: 1, Reason: halfPair}
			}
			names = append(names, string(name))
		}
	}
	return nil, 0, nil
}

// Cut returns the length of the whole lines at the beginning of text, and their number. It also counts blank lines.
func (JSONL) Cut(text []byte) (n, rows int) { return cutLines(text) }

// Decoder returns a decoder. It fails if two fields have the same name.
//
// The names of an object may be in any order, with white space between the tokens, but an object must be on one line.
// Blank lines are left out, and a [RowError] does not count them. A field that the object does not have is NULL. A name
// that is not a field is an error, and so is a name that an object has twice.
//
// Values are read as they are written: binary data is a string of \x and hexadecimal digits, {"base64":"…"} stands for
// text that is not UTF-8, and {"json_text":"…"} for JSON. null is NULL. A value of another kind than its field stays
// what it is in JSON, except that a number or a boolean in a field of Text is its text, and a string is what it spells.
func (JSONL) Decoder(fields []Field) (Decoder, error) {
	d := &jsonlDecoder{
		fields: slices.Clone(fields), wanted: wanted(fields), columns: make(map[string]int),
		values: make([]member, len(fields)),
	}
	for i, f := range fields {
		name := []byte(f.Name)
		if !utf8.Valid(name) {
			name = replaceInvalid(name) // as the encoder does
		}
		if _, exists := d.columns[string(name)]; exists {
			return nil, fmt.Errorf("format: jsonl: two columns are named %q, and an object can have only one", name)
		}
		d.columns[string(name)] = i
		key, _ := appendQuoted(nil, name)
		d.keys = append(d.keys, key)
		d.order = append(d.order, i)
	}
	return d, nil
}

type jsonlDecoder struct {
	fields  []Field
	wanted  int            // fields that are not skipped
	keys    [][]byte       // the names as they are usually written
	columns map[string]int // by name
	order   []int          // the columns of the names of an earlier object, as the next one probably has them
	values  []member       // by column
	row     int64          // counts the rows of all calls, to tell which values are of the current one
	name    []byte         // scratch
	shown   shown
}

var _ LineDecoder = (*jsonlDecoder)(nil)

func (d *jsonlDecoder) Decode(b *source.Batch, text []byte) (n int, err error) {
	b.Reset(d.wanted)
	for n < len(text) && !b.Full() {
		line, next := lineAt(text, n)
		n = next
		if isBlank(line) {
			continue
		}
		column, reason := d.find(line)
		if reason == "" {
			column, reason = d.append(b, line)
		}
		if reason != "" {
			row := int64(b.Rows()) + 1
			b.Reset(d.wanted)
			return 0, &RowError{Row: row, Column: column, Reason: reason}
		}
		b.EndRow()
		if d.shown.lines != nil {
			d.show(b, line)
		}
	}
	return n, nil
}

// lineAt returns the line at text[i] without its line feed, and where the next one begins.
func lineAt(text []byte, i int) (line []byte, next int) {
	end := bytes.IndexByte(text[i:], '\n')
	if end < 0 {
		return text[i:], len(text)
	}
	return text[i : i+end], i + end + 1
}

func isBlank(line []byte) bool { return skipSpace(line, 0) == len(line) }

// find finds the values of an object. It returns the reason if it fails, and the name that it is about.
func (d *jsonlDecoder) find(line []byte) (name, reason string) {
	d.row++
	o := object{line: line}
	for nth := 0; ; nth++ {
		m, reason := o.next()
		if reason != "" || m.name == nil {
			return "", reason
		}
		column := d.columnOf(m.name, nth)
		if column < 0 {
			return string(d.name), "there is no such column"
		}
		if d.values[column].row == d.row {
			return d.fields[column].Name, "the object has this name twice"
		}
		m.row, m.name = d.row, nil // the text may be large, and is not kept
		d.values[column] = m
	}
}

// columnOf returns the column of the nth name of an object, or -1 if there is none, and then leaves the name in d.name.
func (d *jsonlDecoder) columnOf(key []byte, nth int) int {
	if nth < len(d.order) && bytes.Equal(key, d.keys[d.order[nth]]) {
		return d.order[nth]
	}
	var ok bool
	if d.name, ok = unquote(d.name[:0], key); !ok {
		d.name = append(d.name[:0], key...)
	} else if column, exists := d.columns[string(d.name)]; exists {
		if nth < len(d.order) {
			d.order[nth] = column
		}
		return column
	}
	return -1
}

// append appends the values that find has found.
func (d *jsonlDecoder) append(b *source.Batch, line []byte) (name, reason string) {
	for i := range d.fields {
		f, m := &d.fields[i], &d.values[i]
		switch {
		case f.Skip:
		case m.row != d.row:
			b.AppendNull()
		case d.shown.lines != nil && m.form == jsonBool && f.Kind == source.Text:
			b.Append(source.Bool, line[m.start:m.start+1]) // the type is one that the reader does not know
		case !appendJSON(b, f.Kind, m.form, line[m.start:m.end]):
			return f.Name, halfPair
		}
	}
	return "", ""
}

// object reads the object of a line, name by name.
type object struct {
	line  []byte
	at    int
	begun bool
}

// member is a name in its quotes, and where its value is in the line.
type member struct {
	name       []byte
	start, end int
	form       jsonForm
	row        int64 // of a jsonlDecoder
}

type jsonForm uint8

const (
	jsonNull jsonForm = iota
	jsonBool
	jsonNumber
	jsonPlain   // a string without escapes
	jsonEscaped // a string with escapes
	jsonNested  // an object or array
)

// next returns the next member, which has no name at the end of the object, or the reason why there is none.
func (o *object) next() (m member, reason string) {
	i := skipSpace(o.line, o.at)
	first := !o.begun
	switch {
	case first && (i == len(o.line) || o.line[i] != '{'):
		return m, "it is not a JSON object"
	case first:
		o.begun = true
		i = skipSpace(o.line, i+1)
	}
	if i < len(o.line) && o.line[i] == '}' {
		if i = skipSpace(o.line, i+1); i < len(o.line) {
			return m, fmt.Sprintf("something follows the object at byte %d of the line", i+1)
		}
		return m, ""
	}
	if !first {
		if i == len(o.line) || o.line[i] != ',' {
			return m, o.invalid(i)
		}
		i = skipSpace(o.line, i+1)
	}
	if i == len(o.line) || o.line[i] != '"' {
		return m, o.invalid(i)
	}
	end, _, ok := quotedEnd(o.line, i)
	if !ok {
		return m, o.invalid(end)
	}
	m.name = o.line[i:end]
	if i = skipSpace(o.line, end); i == len(o.line) || o.line[i] != ':' {
		return m, o.invalid(i)
	}
	i = skipSpace(o.line, i+1)
	m.start = i
	if m.end, m.form, ok = valueEnd(o.line, i); !ok {
		return m, o.invalid(m.end)
	}
	o.at = m.end
	return m, ""
}

func (o *object) invalid(i int) string {
	if i == len(o.line) {
		return "the JSON object is not complete"
	}
	return fmt.Sprintf("it is not valid JSON at byte %d of the line", i+1)
}

// valueEnd finds the end of the value at line[i].
func valueEnd(line []byte, i int) (end int, form jsonForm, ok bool) {
	if i == len(line) {
		return i, 0, false
	}
	switch line[i] {
	case '"':
		return quotedEnd(line, i)
	case '{', '[':
		form = jsonNested
	case 't', 'f':
		form = jsonBool
	case 'n':
		form = jsonNull
	default:
		form = jsonNumber
	}
	end, ok = scanValue(line, i, 0)
	return end, form, ok
}

// quotedEnd finds the end of the string at line[i].
func quotedEnd(line []byte, i int) (end int, form jsonForm, ok bool) {
	plain, _ := plainLength(line[i+1:])
	end = i + 1 + plain
	if end < len(line) && line[end] == '"' {
		return end + 1, jsonPlain, true
	}
	end, ok = scanString(line, end)
	return end, jsonEscaped, ok
}
