package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/namepattern"
	"culvert/source"
)

// Conversion is a rule for the columns that a pattern matches. The zero value is none.
type Conversion struct {
	pattern *namepattern.Pattern
	rule    rule
}

// rule has the words of a rule, such as the value of default or the encoding of charset.
type rule struct {
	name, text string
	decode     decode // of charset
	kind       source.Kind
	value      []byte // of a default, with its kind
}

// decode appends a text in an encoding to dst as UTF-8.
type decode func(dst, text []byte) ([]byte, error)

// rules are those without a value.
var rules = [][2]string{
	{"zero-date", "null"},
	{"nul", "strip"},
	{"nul", "error"},
	{"epoch", "seconds"},
	{"epoch", "millis"},
	{"epoch", "julian"},
	{"empty", "null"},
	{"trim", ""},
	{"cast", "integer"},
	{"cast", "decimal"},
	{"cast", "boolean"},
	{"cast", "timestamp"},
}

// Parser reads rules.
type Parser struct {
	// Charset returns, for the rule charset, a function that appends a text in an encoding to dst as UTF-8. Decoder of
	// package format/charset is such a Charset. If it is nil, the rule is refused: so only programs that want the
	// tables of encodings have them.
	Charset func(encoding string) (func(dst, text []byte) ([]byte, error), error)

	// SQL returns, for the rule default-sql, what a database makes of an expression. If it is nil, the rule is refused.
	SQL func(expression string) (source.Kind, []byte, error)
}

// Parse reads a pattern and a rule, but not charset and default-sql.
func Parse(pattern, text string) (Conversion, error) { return Parser{}.Parse(pattern, text) }

// ParseText reads PATTERN=RULE, but not charset and default-sql.
func ParseText(text string) (Conversion, error) { return Parser{}.ParseText(text) }

// Parse reads a pattern and a rule.
func (p Parser) Parse(pattern, text string) (Conversion, error) {
	parsed, err := namepattern.Parse(pattern, 3)
	if err != nil {
		return Conversion{}, fmt.Errorf("convert: %w", err)
	}
	if value, is := strings.CutPrefix(text, "default "); is {
		return Conversion{parsed, rule{name: "default", text: value, kind: source.Text, value: []byte(value)}}, nil
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	one := rule{name: name, text: strings.TrimSpace(rest)}
	switch {
	case name == "charset":
		one.decode, err = p.charset(one.text)
		return Conversion{parsed, one}, err
	case name == "default-sql" && one.text != "":
		one.kind, one.value, err = p.evaluate(one.text)
		return Conversion{parsed, one}, err
	}
	if !slices.Contains(rules, [2]string{one.name, one.text}) {
		return Conversion{}, fmt.Errorf("convert: there is no rule %q: it is zero-date null, nul strip, nul error, "+
			"epoch seconds, epoch millis, epoch julian, empty null, trim, cast integer, cast decimal, cast boolean, "+
			"cast timestamp, charset NAME, default VALUE, or default-sql EXPRESSION", text)
	}
	return Conversion{parsed, one}, nil
}

// charset returns what decodes an encoding.
func (p Parser) charset(encoding string) (decode, error) {
	if p.Charset == nil {
		return nil, errors.New("convert: there are no encodings for the rule charset: use a Parser that has Charset")
	}
	d, err := p.Charset(encoding)
	if err != nil {
		return nil, fmt.Errorf("convert: the rule charset: %w", err)
	}
	return d, nil
}

// evaluate returns the value of an expression.
func (p Parser) evaluate(expression string) (source.Kind, []byte, error) {
	if p.SQL == nil {
		return 0, nil, errors.New("convert: there is no database for the rule default-sql: use a Parser that has SQL")
	}
	kind, value, err := p.SQL(expression)
	if err == nil && kind == source.Null {
		err = errors.New("the expression is NULL")
	}
	if err != nil {
		return 0, nil, fmt.Errorf("convert: the rule default-sql: %w", err)
	}
	return kind, append([]byte{}, value...), nil
}

// ParseText reads PATTERN=RULE.
func (p Parser) ParseText(text string) (Conversion, error) {
	pattern, rule, found := strings.Cut(text, "=")
	if !found {
		return Conversion{}, errors.New("convert: a conversion is PATTERN=RULE")
	}
	return p.Parse(pattern, rule)
}

// String returns PATTERN=RULE.
func (c Conversion) String() string { return c.Pattern() + "=" + c.rule.String() }

// Pattern returns the text of the pattern.
func (c Conversion) Pattern() string { return c.pattern.String() }

// Matches reports whether a column is meant. The parts of the name are those of its table: a schema, which may be
// empty, and a name.
func (c Conversion) Matches(table []string, column string) bool {
	return c.pattern.Match(append(slices.Clip(table), column)...)
}

func (r rule) String() string { return strings.TrimSpace(r.name + " " + r.text) }

// retype returns a column with the type of the values that the rule makes of those that it had.
func (r rule) retype(c source.Column) source.Column {
	switch r.name {
	case "epoch":
		c.Type, c.Logical = "text", source.Type{Class: source.TimestampClass, Precision: microseconds}
	case "cast":
		c.Type, c.Logical = "text", casts[r.text]
	case "charset":
		c.Type, c.Logical = "text", source.Type{Class: source.StringClass} // it may have been binary data
	case "default", "default-sql":
		c.Type = "text" // the value may be anything
	}
	return c
}

// casts are the types of the values that cast makes.
var casts = map[string]source.Type{
	"integer": {Class: source.IntClass, Bits: 64}, "decimal": {Class: source.DecimalClass},
	"boolean": {Class: source.BoolClass}, "timestamp": {Class: source.TimestampClass, Precision: microseconds},
}

// ValueError reports a value that a rule cannot convert. It does not show the value.
type ValueError struct {
	Column string
	Rule   string
	Row    int64 // of the batch, from 1
	Err    error
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("convert: row %d, column %q: the value cannot be converted by the rule %q: %v", e.Row, e.Column,
		e.Rule, e.Err)
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }
