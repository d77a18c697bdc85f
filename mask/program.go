package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// isProgramName matches names of programs in rules.
var isProgramName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Program returns the name of the program that masks the values, or "".
func (r Rule) Program() string {
	if r.name != "program" {
		return ""
	}
	return r.part
}

func (r Rule) parseProgram(name string) (Rule, error) {
	if !isProgramName.MatchString(name) {
		return Rule{}, errors.New("mask: the rule program needs the name of a program: letters, digits and _.-")
	}
	r.part = name
	return r, nil
}

const (
	askedValues = 1000     // of a line at most
	askedSize   = 64 << 10 // bytes of their text, unless one is larger
	maxAsked    = 1 << 20  // bytes of a value
)

var (
	errTooLarge     = fmt.Errorf("it is larger than the %d MiB of values for programs", maxAsked>>20)
	errNoArray      = errors.New("the answer of the program is no array of strings in JSON")
	errMoreAnswers  = errors.New("the program has answered more than it was asked")
	errFewerAnswers = errors.New("the program has answered less than it was asked")
)

// fitsProgram says why a program cannot mask a column of this type: it takes and gives text.
func fitsProgram(c source.Column) error {
	if c.Logical.List || c.Logical.Class == source.BytesClass {
		return fmt.Errorf("the rule program cannot mask the type %s (%s): use fixed, null, drop or another rule",
			c.Type, c.Logical)
	}
	return nil
}

// asker masks the values of a column by a program: those of a batch together, before the batch is masked.
type asker struct {
	program *program
	column  source.Column

	line  []byte // the question
	rows  []int  // of the values in it
	kinds []source.Kind

	answers []byte
	ends    []int
	next    int
}

// look asks for the values of a column of a batch.
func (a *asker) look(src *source.Batch, column int) (row int, err error) {
	a.answers, a.ends, a.next = a.answers[:0], a.ends[:0], 0
	a.begin()
	for row := range src.Rows() {
		kind, value := src.AnyValue(row, column)
		switch {
		case kind == source.Null:
			continue
		case kind == source.Bytes:
			return row, errNotText
		case !utf8.Valid(value):
			return row, errNotUTF8
		case len(value) > maxAsked:
			return row, errTooLarge
		}
		if len(a.rows) == askedValues || len(a.rows) > 0 && len(a.line)+len(value) > askedSize {
			if row, err := a.send(); err != nil {
				return row, err
			}
		}
		if len(a.rows) > 0 {
			a.line = append(a.line, ',')
		}
		a.line = appendQuoted(a.line, trimmed(a.column, value))
		a.rows, a.kinds = append(a.rows, row), append(a.kinds, kind)
	}
	if len(a.rows) == 0 {
		return 0, nil
	}
	return a.send()
}

func (a *asker) begin() { a.line, a.rows, a.kinds = append(a.line[:0], '['), a.rows[:0], a.kinds[:0] }

// send asks for the values of a line. A wrong value is an error of this question only.
func (a *asker) send() (row int, err error) {
	count, wrong := 0, 0
	var wrongErr error
	err = a.program.ask(append(a.line, ']'), func(line []byte) error {
		err := parseAnswers(line, func(text []byte) error {
			if count == len(a.rows) {
				return errMoreAnswers
			}
			if wrongErr == nil {
				wrong, wrongErr = count, a.check(a.kinds[count], text)
			}
			a.answers = append(a.answers, text...)
			a.ends = append(a.ends, len(a.answers))
			count++
			return nil
		})
		if err == nil && count < len(a.rows) {
			return errFewerAnswers
		}
		return err
	})
	if err != nil {
		return a.rows[min(count, len(a.rows)-1)], err
	}
	if wrongErr != nil {
		return a.rows[wrong], wrongErr
	}
	a.begin()
	return 0, nil
}

// check says why an answer is no value of the column.
func (a *asker) check(kind source.Kind, text []byte) error {
	if _, err := kindAs(a.column.Logical, string(text)); err != nil {
		return fmt.Errorf("the answer of the program is no value of the type %s: %w", a.column.Type, err)
	}
	if kind == source.Number && !isNumber(text) {
		return fmt.Errorf("the answer of the program: %w", errNotNumber)
	}
	return nil
}

// mask is the masking of the column, in the order in which its values were asked for.
func (a *asker) append(dst []byte, kind source.Kind, _ []byte) (source.Kind, []byte, error) {
	begin := 0
	if a.next > 0 {
		begin = a.ends[a.next-1]
	}
	dst = append(dst, a.answers[begin:a.ends[a.next]]...)
	a.next++
	return kind, dst, nil
}

// isNumber reports whether a text is a number, as databases print them.
func isNumber(text []byte) bool {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return len(text) > 0 && text[0] != '"' && text[0] != '[' && text[0] != '{' && validJSON(text) &&
		(text[0] == '-' || isDigit(text[0]))
}

// parseAnswers calls each with the text of every string of an array, which is valid until each returns. The text of the
// array, which is from a program, is not part of errors.
func parseAnswers(line []byte, each func(text []byte) error) error {
	if !json.Valid(line) || !utf8.Valid(line) {
		return errNoArray
	}
	rest, is := bytes.CutPrefix(bytes.TrimLeft(line, jsonSpace), []byte("["))
	if !is {
		return errNoArray
	}
	var text []byte
	for {
		rest = bytes.TrimLeft(rest, jsonSpace+",")
		switch rest[0] {
		case ']':
			return nil
		case '"':
		default:
			return errNoArray
		}
		n := stringSize(rest)
		var err error
		if text, err = unquote(text[:0], rest[:n]); err != nil {
			return errNoArray
		}
		if err := each(text); err != nil {
			return err
		}
		rest = rest[n:]
	}
}

const jsonSpace = " \t\r\n"
