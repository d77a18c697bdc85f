package format

import (
	"strings"
	"unicode"

	"culvert/source"
)

// Text writes each row by a template. With the Line
//
//	{ID: {id}, Title: {title}, Note: {note}},
//
// the rows are
//
//	{ID: 1, Title: water, Note: NULL},
//	{ID: 2, Title: stone, Note: heavy},
//
// It is for people, and for programs that know their data: values are not quoted and keep their line breaks. Values are
// written as in [CSV], and NULL is NULL.
type Text struct {
	// Line is the template, without the line feed that ends each row.
	//
	// {name} stands for the value of the column with exactly this name, which may contain any characters. If several
	// names match, the longest is taken, and of columns with the same name the first. \{ and \} are always braces, and
	// \\ before a brace is a backslash. Anything else stands for itself, including other braces. However, a {word} of
	// letters, digits, "_", "-" and "." that does not begin with a digit is an error if there is no such column.
	//
	// The empty Line lists all columns: {id: {id}, title: {title}},
	Line string
}

// Extension returns ".txt".
func (Text) Extension() string { return ".txt" }

// Encoder returns an encoder, or a [*source.UnknownError] if the template names a column that does not exist.
func (f Text) Encoder(columns []source.Column) (Encoder, error) {
	t := template{
		columns:  columns,
		places:   make([]place, 0, strings.Count(f.Line, "{")),
		literals: make([]byte, 0, len(f.Line)+1),
	}
	if f.Line == "" {
		t.listAll()
	} else if err := t.parse(f.Line); err != nil {
		return nil, err
	}
	rows := &textRows{places: t.places, end: append(t.literals, '\n')[t.start:]}
	e := &encoder{rowEncoder: rows, rowSize: len(rows.end), copies: 1 + len(t.places)}
	for _, p := range t.places {
		e.rowSize += len(p.before) + len("NULL")
	}
	return e, nil
}

type textRows struct {
	places []place
	end    []byte // the literal after the last place
}

// place is a value in a template.
type place struct {
	before []byte // the literal since the place before
	column int
}

func (e *textRows) appendRow(dst []byte, b *source.Batch, row int) ([]byte, error) {
	for _, p := range e.places {
		dst = append(dst, p.before...)
		switch kind, value := b.Value(row, p.column); kind {
		case source.Null:
			dst = append(dst, "NULL"...)
		case source.Bytes:
			dst = appendHex(dst, value)
		default:
			dst = append(dst, value...)
		}
	}
	return append(dst, e.end...), nil
}

func (e *textRows) addRow(p pieces, b *source.Batch, row int) pieces {
	for _, place := range e.places {
		p.text = append(p.text, place.before...)
		switch kind, value := b.AnyValue(row, place.column); kind {
		case source.Null:
			p.addString("NULL")
		case source.Bytes:
			p.addHex(value)
		default:
			p.add(value, appendPlain)
		}
	}
	p.text = append(p.text, e.end...)
	return p
}

func (e *textRows) valuesSize(b *source.Batch, row int) int {
	size := 0
	for _, p := range e.places {
		if kind, value := b.Value(row, p.column); kind == source.Bytes {
			size += hexSize(value)
		} else {
			size += len(value)
		}
	}
	return size
}

// template is a Line that is being parsed.
type template struct {
	columns  []source.Column
	places   []place
	literals []byte // all literals, concatenated
	start    int    // where the literal since the last place begins
}

func (t *template) listAll() {
	t.literals = append(t.literals, '{')
	for i, c := range t.columns {
		if i > 0 {
			t.literals = append(t.literals, ", "...)
		}
		t.literals = append(append(t.literals, c.Name...), ": "...)
		t.addPlace(i)
	}
	t.literals = append(t.literals, "},"...)
}

func (t *template) addPlace(column int) {
	t.places = append(t.places, place{t.literals[t.start:], column})
	t.start = len(t.literals)
}

func (t *template) parse(line string) error {
	for {
		brace := strings.IndexAny(line, "{}")
		if brace < 0 {
			t.literals = append(t.literals, line...)
			return nil
		}
		plain := strings.TrimRight(line[:brace], `\`)
		backslashes := line[len(plain):brace]
		t.literals = append(append(t.literals, plain...), backslashes[len(backslashes)-len(backslashes)/2:]...)
		escaped := len(backslashes)%2 == 1
		found := line[brace]
		line = line[brace+1:]
		if found == '}' || escaped {
			t.literals = append(t.literals, found)
			continue
		}
		if column := t.column(line); column >= 0 {
			t.addPlace(column)
			line = line[len(t.columns[column].Name)+1:]
		} else if word, ok := unknownColumn(line); ok {
			return &source.UnknownError{What: "column", Name: word, Known: t.names()}
		} else {
			t.literals = append(t.literals, found)
		}
	}
}

// column returns the column whose name begins line, followed by a brace, or -1.
func (t *template) column(line string) int {
	found := -1
	for i, c := range t.columns {
		rest, ok := strings.CutPrefix(line, c.Name)
		if ok && strings.HasPrefix(rest, "}") && (found < 0 || len(c.Name) > len(t.columns[found].Name)) {
			found = i
		}
	}
	return found
}

// unknownColumn returns the word that begins line, followed by a brace.
func unknownColumn(line string) (word string, ok bool) {
	word, _, ok = strings.Cut(line, "}")
	if !ok || word == "" {
		return "", false
	}
	for i, r := range word {
		inside := i > 0 && (unicode.IsDigit(r) || r == '-' || r == '.')
		if r != '_' && !unicode.IsLetter(r) && !inside {
			return "", false
		}
	}
	return word, true
}

func (t *template) names() []string {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.Name)
	}
	return names
}
