package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

// pathRule is what becomes of the values at a path of a document.
type pathRule struct {
	path  string
	steps []string // names of members; "*" is any, and so is any element of an array
	rule  Rule
}

const maxPaths = 100

var errNotJSON = errors.New("it is no JSON")

// parsePaths reads paths and their rules: "$.a: email, $.b[*].c: text". A path ends at the first colon and space.
func parsePaths(text string) (paths []pathRule, err error) {
	for text != "" {
		path, rest, found := strings.Cut(text, ":")
		one := pathRule{path: strings.TrimSpace(path)}
		if !found || len(paths) == maxPaths {
			return nil, fmt.Errorf("mask: the rule json needs PATH: RULE, …, of which there may be %d", maxPaths)
		}
		if one.steps, err = parsePath(one.path); err != nil {
			return nil, err
		}
		rule, next, _ := strings.Cut(rest, ", $")
		if one.rule, err = ParseRule(rule); err != nil {
			return nil, err
		}
		if one.rule.name == "json" || one.rule.name == "drop" || one.rule.name == "program" {
			return nil, fmt.Errorf("mask: the rule %s cannot be inside json", one.rule.name)
		}
		paths = append(paths, one)
		if text = ""; next != "" {
			text = "$" + next
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("mask: the rule json needs a path, such as json $.customer.email: email")
	}
	return paths, nil
}

func parsePath(path string) (steps []string, err error) {
	wrong := fmt.Errorf("mask: %q is no path: write one as $.customer.emails[*]", path)
	rest, is := strings.CutPrefix(path, "$")
	if !is || rest == "" {
		return nil, wrong
	}
	for rest != "" {
		if after, is := strings.CutPrefix(rest, "[*]"); is {
			steps, rest = append(steps, "*"), after
			continue
		}
		name, is := strings.CutPrefix(rest, ".")
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		if !is || end == 0 || strings.ContainsAny(name[:end], " ,]$\"\n\t") {
			return nil, wrong
		}
		steps, rest = append(steps, name[:end]), name[end:]
	}
	return steps, nil
}

func validJSON(text []byte) bool { return json.Valid(text) }

// newJSON masks the strings and numbers at paths of a document, and those inside of what is there. All else stays, byte
// for byte. A value true or false at a path becomes null.
func (r Rule) newJSON(k *Key, c source.Column) (maker, error) {
	makers := make([]maker, len(r.paths))
	for i, one := range r.paths {
		var err error
		if makers[i], err = one.rule.compile(k, source.Column{Name: c.Name}); err != nil {
			return nil, err
		}
	}
	return func() masking {
		d := &document{paths: r.paths}
		for _, one := range makers {
			d.masks = append(d.masks, one())
		}
		return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
			if kind != source.JSON && kind != source.Text {
				return kind, dst, errNotJSON
			}
			if kind == source.Text && len(value) == 0 {
				return kind, dst, nil
			}
			if !validJSON(value) {
				return kind, dst, errNotJSON
			}
			d.rest, d.dst = value, dst
			d.active = d.active[:0]
			for i := range d.paths {
				d.active = append(d.active, state{i, 0})
			}
			err := d.value(0, nil)
			return kind, append(d.dst, d.rest...), err
		})
	}, nil
}

// document is a document that is being masked. It is known to be valid.
type document struct {
	paths  []pathRule
	masks  []masking
	active []state // of the paths that lead here; those of outer values are before them
	dst    []byte
	rest   []byte

	text, masked []byte
}

// state is a path, and how many of its steps lead here.
type state struct{ path, steps int }

// space copies white space, and what is between values.
func (d *document) space() {
	n := 0
	for n < len(d.rest) && bytes.IndexByte([]byte(" \t\r\n,:"), d.rest[n]) >= 0 {
		n++
	}
	d.copy(n)
}

func (d *document) copy(n int) {
	d.dst, d.rest = append(d.dst, d.rest[:n]...), d.rest[n:]
}

// value masks the next value, to which the states from first on lead. Mask is that of an outer value, or nil.
func (d *document) value(first int, mask masking) (err error) {
	d.space()
	for _, s := range d.active[first:] {
		if mask == nil && s.steps == len(d.paths[s.path].steps) {
			mask = d.masks[s.path]
		}
	}
	switch d.rest[0] {
	case '{', '[':
		return d.inside(first, mask)
	case '"':
		n := stringSize(d.rest)
		if mask == nil {
			d.copy(n)
			return nil
		}
		if d.text, err = unquote(d.text[:0], d.rest[:n]); err != nil {
			return err
		}
		d.rest = d.rest[n:]
		return d.put(mask, source.Text, d.text)
	}
	n := 0
	for n < len(d.rest) && bytes.IndexByte([]byte(" \t\r\n,]}"), d.rest[n]) < 0 {
		n++
	}
	if mask == nil || d.rest[0] == 'n' {
		d.copy(n)
		return nil
	}
	number := d.rest[:n]
	d.rest = d.rest[n:]
	if number[0] == 't' || number[0] == 'f' {
		d.dst = append(d.dst, "null"...)
		return nil
	}
	return d.put(mask, source.Number, number)
}

// put appends a masked value.
func (d *document) put(mask masking, kind source.Kind, value []byte) (err error) {
	if kind, d.masked, err = mask.append(d.masked[:0], kind, value); err != nil {
		return err
	}
	switch kind {
	case source.Null:
		d.dst = append(d.dst, "null"...)
	case source.Number:
		d.dst = append(d.dst, d.masked...)
	default:
		d.dst = appendQuoted(d.dst, d.masked)
	}
	return nil
}

// inside masks the members of an object, or the elements of an array.
func (d *document) inside(first int, mask masking) error {
	object := d.rest[0] == '{'
	d.copy(1)
	before := len(d.active)
	for d.space(); d.rest[0] != '}' && d.rest[0] != ']'; d.space() {
		var name []byte
		if object {
			n := stringSize(d.rest)
			var err error
			if name, err = unquote(d.text[:0], d.rest[:n]); err != nil {
				return err
			}
			d.text = name
			d.copy(n)
		}
		for _, s := range d.active[first:before] {
			steps := d.paths[s.path].steps
			if s.steps < len(steps) && (steps[s.steps] == "*" || object && steps[s.steps] == string(name)) {
				d.active = append(d.active, state{s.path, s.steps + 1})
			}
		}
		if err := d.value(before, mask); err != nil {
			return err
		}
		d.active = d.active[:before]
	}
	d.copy(1)
	return nil
}

// stringSize returns the size of the string at the beginning of a text, with its quotes.
func stringSize(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// unquote appends the text of a string.
func unquote(dst, quoted []byte) ([]byte, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return append(dst, quoted[1:len(quoted)-1]...), nil
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return dst, errNotJSON
	}
	return append(dst, text...), nil
}

// appendQuoted appends a text as a string.
func appendQuoted(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[r>>4], digits[r&15])
		case r == utf8.RuneError:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return append(dst, '"')
}
