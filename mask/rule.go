package mask

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule says what becomes of the values of a column. The zero value is no rule: the values stay as they are.
type Rule struct {
	name   string     // the first word
	part   string     // the second word, if there is one, or the name of a program
	number int64      // of characters, days or percent, or the multiple
	text   string     // of fixed
	paths  []pathRule // of json, in order
}

// MaxRule is the most bytes of the text of a rule, and MaxFixed of the text of the rule fixed: each value of a column
// may become it, whose batch of rows is held in memory.
const (
	MaxRule  = 16 << 10
	MaxFixed = 256
)

// parts are the words that may follow the name of a rule. The first one may be left out if it is "".
var parts = map[string][]string{
	"drop": {""}, "null": {""}, "fixed": {""}, "hash": {""}, "email": {""}, "digits": {""}, "text": {""}, "json": {""},
	"keep":    {"first", "last"},
	"name":    {"", "first", "last"},
	"address": {"", "street", "city", "state", "country"},
	"date":    {"year", "month", "shift"},
	"number":  {"round", "noise"},
	"program": {""},
}

// short are rules whose first word was left out, or that have another name.
var short = map[string]string{
	"phone": "digits", "year": "date year", "month": "date month", "shift": "date shift", "round": "number round",
	"noise": "number noise",
}

// ParseRule reads the text of a rule; the package comment lists them.
func ParseRule(text string) (Rule, error) {
	if len(text) > MaxRule || !utf8.ValidString(text) {
		return Rule{}, errors.New("mask: the rule is too long, or not UTF-8")
	}
	name, rest := cutWord(text)
	if long, is := short[name]; is {
		name, rest = cutWord(long + " " + rest)
	}
	words, known := parts[name]
	if !known {
		return Rule{}, fmt.Errorf("mask: there is no rule %q: use one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(parts)), ", "))
	}
	r := Rule{name: name}
	switch name {
	case "fixed":
		return r.parseFixed(rest)
	case "json":
		var err error
		r.paths, err = parsePaths(rest)
		return r, err
	case "program":
		return r.parseProgram(rest)
	}
	r.part, rest = cutWord(rest)
	if !slices.Contains(words, r.part) {
		if words[0] == "" && len(words) == 1 {
			return Rule{}, fmt.Errorf("mask: nothing may follow the rule %s", name)
		}
		return Rule{}, fmt.Errorf("mask: the rule %s cannot be %q: use one of %s", name, r.part,
			strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" }), ", "))
	}
	return r.parseNumber(rest)
}

// cutWord returns the first word of a text, and what follows it.
func cutWord(text string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return word, strings.TrimSpace(rest)
}

// parseFixed reads a text, which may be in quotes.
func (r Rule) parseFixed(text string) (Rule, error) {
	r.text = text
	if strings.HasPrefix(text, `"`) {
		unquoted, err := strconv.Unquote(text)
		if err != nil || !utf8.ValidString(unquoted) {
			return Rule{}, errors.New(`mask: the text of the rule fixed has a quote at its beginning only; write "…"`)
		}
		r.text = unquoted
	}
	if len(r.text) > MaxFixed {
		return Rule{}, fmt.Errorf("mask: the text of the rule fixed may have %d bytes, and this one has %d", MaxFixed,
			len(r.text))
	}
	return r, nil
}

// most are the largest numbers of rules that have one.
var most = map[string]int64{
	"keep first": 1 << 20, "keep last": 1 << 20, "date shift": 36500, "number round": 1e15, "number noise": 100,
}

func (r Rule) parseNumber(text string) (Rule, error) {
	limit, needed := most[r.name+" "+r.part]
	switch {
	case !needed && text == "":
		return r, nil
	case !needed:
		return Rule{}, fmt.Errorf("mask: nothing may follow the rule %s", r)
	}
	if r.part == "noise" {
		text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > limit {
		return Rule{}, fmt.Errorf("mask: the rule %s %s needs a whole number from 1 to %d", r.name, r.part, limit)
	}
	r.number = n
	return r, nil
}

// IsZero reports whether this is no rule.
func (r Rule) IsZero() bool { return r.name == "" }

// IsDrop reports whether the column is left out.
func (r Rule) IsDrop() bool { return r.name == "drop" }

// IsInjective reports whether different values always become different ones, in a column that is long enough.
func (r Rule) IsInjective() bool {
	return r.name == "hash" || r.name == "email" || r.name == "digits" || r.name == "text" || r.IsZero()
}

// Equal reports whether two rules are the same.
func (r Rule) Equal(other Rule) bool { return r.String() == other.String() }

// String returns the text that ParseRule reads. It is the same for equal rules.
func (r Rule) String() string {
	switch {
	case r.name == "fixed" && (r.text == "" || strconv.Quote(r.text) != `"`+r.text+`"` ||
		strings.TrimSpace(r.text) != r.text):
		return "fixed " + strconv.Quote(r.text)
	case r.name == "fixed":
		return "fixed " + r.text
	case r.name == "json":
		texts := make([]string, len(r.paths))
		for i, one := range r.paths {
			texts[i] = one.path + ": " + one.rule.String()
		}
		return "json " + strings.Join(texts, ", ")
	}
	text := r.name
	if r.part != "" {
		text += " " + r.part
	}
	if r.number > 0 {
		text += " " + strconv.FormatInt(r.number, 10)
	}
	if r.part == "noise" {
		text += "%"
	}
	return text
}

// MarshalText returns the text of the rule.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the text of a rule.
func (r *Rule) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRule(string(text))
	return err
}
