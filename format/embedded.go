package format

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

// The escapes of JSON Lines: objects of one name, in exactly this form, that stand for a value which JSON cannot hold,
// or which would be taken for another one. Their values are strings without white space around them.
const (
	base64Open = `{"base64":"`    // the bytes of text, or of JSON, that is not UTF-8
	textOpen   = `{"json_text":"` // the text of JSON
	escapeEnd  = `"}`
)

// jsonColumn is what the type of a column says about the JSON in it.
type jsonColumn uint8

const (
	typed   jsonColumn = iota // that it is JSON; or nothing, if there is no type, and a reader has to know
	unknown                   // a reader takes a string for a text, and true for a boolean
)

func jsonColumnOf(c source.Column) jsonColumn {
	switch strings.ToLower(strings.TrimSpace(c.Type)) {
	case "", "json", "jsonb":
		return typed
	}
	return unknown
}

func jsonColumnsOf(columns []source.Column) []jsonColumn {
	all := make([]jsonColumn, len(columns))
	for i, c := range columns {
		all[i] = jsonColumnOf(c)
	}
	return all
}

// embeds reports whether a value of the kind JSON is a part of the line. Otherwise its text is, in an escape: if it is
// not valid, if it is null, which stands for NULL, or if it would be taken for an escape or a value of another kind.
func (c jsonColumn) embeds(value []byte) bool {
	i := skipSpace(value, 0)
	if i == len(value) {
		return false
	}
	switch value[i] {
	case 'n':
		return false
	case '"', 't', 'f':
		return c == typed && validJSON(value)
	case '{':
		return validJSON(value) && !looksEscaped(value[i:])
	}
	return validJSON(value)
}

// looksEscaped reports whether a valid object may be taken for an escape, once the white space is left out.
func looksEscaped(object []byte) bool {
	i := skipSpace(object, 1)
	for _, name := range []string{`"base64"`, `"json_text"`} {
		if !bytes.HasPrefix(object[i:], []byte(name)) {
			continue
		}
		i = skipSpace(object, i+len(name))
		i = skipSpace(object, i+len(":"))
		if object[i] != '"' {
			return false
		}
		i, _ = scanString(object, i+1)
		return object[skipSpace(object, i)] == '}'
	}
	return false
}

// kept returns what a value of the kind JSON comes back as, except that white space between its tokens may have to be
// left out, which spans reports.
func (c jsonColumn) kept(value []byte) (text []byte, spans bool) {
	trimmed := bytes.Trim(value, outerSpace)
	spans = breaks(trimmed)
	if !spans && len(trimmed) == len(value) || !c.embeds(value) {
		return value, false
	}
	return trimmed, spans
}

// Lines returns the encoder of the lines of CSV that are summed up for rows in this format: of the values that come
// back when the text is read. They differ from those of [CSV] only by what [JSONL] leaves out or replaces.
func (f JSONL) Lines(columns []source.Column) LineEncoder {
	rows := &csvRows{single: len(columns) == 1, json: jsonColumnsOf(columns), replaces: f.InvalidUTF8 == ReplaceInvalid}
	return rows.encoder(columns)
}

// appendKept appends a value of CSV as JSON Lines keep it.
func (e *csvRows) appendKept(dst []byte, column int, kind source.Kind, value []byte) []byte {
	valid := utf8.Valid(value)
	if kind == source.JSON && (valid || e.replaces) {
		text, spans := e.json[column].kept(value)
		if spans {
			text = appendLine(nil, text)
		}
		value = text
	}
	if !valid && e.replaces {
		value = replaceInvalid(value)
	}
	return e.appendValue(dst, value)
}

// addKept adds a value of any size, as appendKept does.
func (e *csvRows) addKept(p *pieces, column int, kind source.Kind, value []byte) {
	if len(value) <= part {
		p.text = e.appendKept(p.text, column, kind, value)
		return
	}
	spans, valid := false, utf8.Valid(value)
	if kind == source.JSON && (valid || e.replaces) {
		value, spans = e.json[column].kept(value)
	}
	appendPart := appendDoubles
	if !valid && e.replaces {
		appendPart = func(dst, part []byte) []byte { return appendDoubles(dst, replaceInvalid(part)) }
	}
	quote := `"`
	if spans && linePlain(value) || !spans && csvPlain(value) {
		quote = ""
	}
	p.addString(quote)
	if spans {
		p.addLine(value, appendPart)
	} else {
		p.add(value, appendPart)
	}
	p.addString(quote)
}

// linePlain reports whether valid JSON needs no quotes around it in CSV once the white space is left out.
func linePlain(text []byte) bool {
	for _, c := range text {
		if c == ',' || c == '"' {
			return false
		}
	}
	return true
}
