package mask_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"culvert/mask"
	"culvert/source"
)

// script writes a program for sh.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// upper is a program that answers in capital letters.
const upper = `exec awk '{ print toupper($0); fflush() }'`

// holdsOutput begins a process that keeps the output of a program open until the test removes the file of the program.
const holdsOutput = `while [ -e "$0" ]; do sleep 0.1; done & `

// programmed returns what masks a column by a program, and the program.
func programmed(ctx context.Context, t *testing.T, c source.Column, text string) (*mask.Masker, *mask.Programs) {
	t.Helper()
	programs := mask.NewPrograms(ctx, map[string]string{"own": script(t, text)})
	t.Cleanup(func() { _ = programs.End() })
	p := &mask.Policy{
		Key: testKey(t, keyText), Programs: programs,
		Tables: map[string]mask.Rules{"t": {c.Name: rule(t, "program own")}},
	}
	m, err := p.Masker("t", []source.Column{c, {Name: "other"}})
	if err != nil {
		t.Fatal(err)
	}
	return m, programs
}

// batchOf returns rows with each value, and another column.
func batchOf(kind source.Kind, values ...string) *source.Batch {
	b := new(source.Batch)
	b.Reset(2)
	for i, value := range values {
		if value == "NULL" {
			b.AppendNull()
		} else {
			b.Append(kind, []byte(value))
		}
		b.AppendInt(int64(i))
		b.EndRow()
	}
	return b
}

func valuesOf(b *source.Batch) (values []string) {
	for row := range b.Rows() {
		kind, value := b.Value(row, 0)
		if kind == source.Null {
			value = []byte("NULL")
		}
		values = append(values, string(value))
	}
	return values
}

// TestProgram masks values by a program, in lines of several, from several goroutines; NULL does not reach it.
func TestProgram(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, programs := programmed(t.Context(), t, column(t, "text", "string"), upper)
	var wanted, values []string
	for i := range 5000 {
		values = append(values, fmt.Sprint("value ", i))
		wanted = append(wanted, fmt.Sprint("VALUE ", i))
	}
	values[7], wanted[7] = "NULL", "NULL"
	values[8], wanted[8] = "", ""
	values[9], wanted[9] = strings.Repeat("x", 900_000), strings.Repeat("X", 900_000)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var dst source.Batch
			for range 3 {
				if err := m.Mask(&dst, batchOf(source.Text, values...)); err != nil {
					t.Error(err)
				} else if got := valuesOf(&dst); !slices.Equal(got, wanted) {
					t.Errorf("got other values: %.200q", got)
				}
			}
		})
	}
	group.Wait()
	if err := programs.End(); err != nil {
		t.Error(err)
	}
}

// TestProgramEcho has values with all that text can have come back as they are.
func TestProgramEcho(t *testing.T) {
	m, _ := programmed(t.Context(), t, column(t, "text", "string"), "exec cat")
	values := []string{"a\nb", "\x00\x01\x7f", `"\`, "[\"],", "ä \u2028 😀 \ufffd", "NULL", " "}
	var dst source.Batch
	if err := m.Mask(&dst, batchOf(source.Text, values...)); err != nil {
		t.Fatal(err)
	}
	if got := valuesOf(&dst); !slices.Equal(got, values) {
		t.Errorf("got %q", got)
	}
	fixed, _ := programmed(t.Context(), t, column(t, "char(9)", "char(9)"), upper)
	if err := fixed.Mask(&dst, batchOf(source.Text, "ab       ")); err != nil {
		t.Fatal(err)
	}
	if got := valuesOf(&dst)[0]; got != "AB       " {
		t.Errorf("char: got %q", got)
	}
}

// TestProgramFailures has each thing that a program can do wrong named, with the row, and without a value.
func TestProgramFailures(t *testing.T) {
	for _, test := range []struct{ name, script, typ, logical, err string }{
		{"dies", "exit 3", "text", "string", `row 1 cannot be masked by the rule "program own": it ended before ` +
			`it had answered: exit status 3`},
		{"dies later", `read -r line; exit 4`, "text", "string", "row 1 "},
		{"ends early", "exec true", "text", "string", "it ended before it had answered"},
		{"within", "read -r q; printf '[\"secret'", "text", "string", "it ended within an answer"},
		{"fewer", `read -r q; echo '["a"]'; exec cat >/dev/null`, "text", "string", "row 2 cannot be masked"},
		{"more", `read -r q; echo '["a","b","c"]'; exec cat >/dev/null`, "text", "string", "answered more than it"},
		{"no JSON", `read -r q; echo secret; exec cat >/dev/null`, "text", "string", "no array of strings in JSON"},
		{"null", `read -r q; echo '[null,"b"]'; exec cat >/dev/null`, "text", "string", "no array of strings in JSON"},
		{"too long", `read -r q; exec cat /dev/zero`, "text", "string", "its answer is longer than"},
		{"length", `exec sed -u s/b/secret/`, "varchar(5)", "string(5)", "row 2 cannot be masked by the rule " +
			`"program own": the answer of the program is no value of the type varchar(5): it is longer than 5`},
		{"number", `exec sed -u s/b/secret/`, "integer", "int32", "no whole number of 32 bits"},
		{"silent", `exec sleep 1000`, "text", "string", "it did not answer within 20ms"},
		{"closed", `exec >&-; exec sleep 1000`, "text", "string", "it ended before it had answered"},
		{"holds", holdsOutput + `exec cat >/dev/null`, "text", "string", "it did not answer within 20ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			m, programs := programmed(t.Context(), t, column(t, test.typ, test.logical), test.script)
			defer func() { _ = programs.End() }() // of one that goes on after a wrong value
			limit := time.Minute
			if strings.Contains(test.err, "20ms") {
				limit = 20 * time.Millisecond
			}
			programs.SetTimes(limit, 20*time.Millisecond)
			var dst source.Batch
			err := m.Mask(&dst, batchOf(source.Text, "1", "b"))
			if err == nil {
				t.Fatal("no error")
			}
			if text := err.Error(); !strings.Contains(text, test.err) || strings.Contains(text, "secret") {
				t.Errorf("the error is %q", text)
			}
			if value, is := errors.AsType[*mask.ValueError](err); !is || value.Rule.Program() != "own" {
				t.Errorf("the error is a %T", err)
			}
			if again := m.Mask(&dst, batchOf(source.Text, "1", "b")); again == nil {
				t.Error("no error the next time")
			}
		})
	}
}

// TestProgramTwice finds a program that prints each answer twice, before the second one is taken for another answer.
func TestProgramTwice(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, programs := programmed(t.Context(), t, column(t, "text", "string"),
		`while read -r line; do printf '%s\n%s\n' "$line" "$line"; done`)
	var dst source.Batch
	for range 2 {
		err := m.Mask(&dst, batchOf(source.Text, "a"))
		if err == nil || !strings.Contains(err.Error(), "answered more than it was asked") {
			t.Errorf("the error is %v", err)
		}
	}
	if err := programs.End(); err != nil {
		t.Error(err)
	}
	// The second line of this one may come later.
	m, programs = programmed(t.Context(), t, column(t, "text", "string"),
		`while read -r line; do echo "$line"; echo "$line"; done`)
	var all error
	for range 2 {
		all = errors.Join(all, m.Mask(&dst, batchOf(source.Text, "a")))
	}
	if all = errors.Join(all, programs.End()); all == nil ||
		!strings.Contains(all.Error(), "answered more than it was asked") {
		t.Errorf("the error is %v", all)
	}
}

// TestProgramGoesOn has a program go on for another column after a value that is refused: it still runs.
func TestProgramGoesOn(t *testing.T) {
	defer goleak.VerifyNone(t)
	programs := mask.NewPrograms(t.Context(), map[string]string{"own": script(t,
		`for n in 1 2; do read -r line; echo "[\"$n\",\"no number\"]"; done; exec cat`)})
	p := &mask.Policy{Key: testKey(t, keyText), Programs: programs, Tables: map[string]mask.Rules{
		"t": {"a": rule(t, "program own"), "b": rule(t, "program own")},
	}}
	masker := func(c source.Column, name string) *mask.Masker {
		c.Name = name
		m, err := p.Masker("t", []source.Column{c, {Name: "other"}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var dst source.Batch
	err := masker(column(t, "integer", "int32"), "a").Mask(&dst, batchOf(source.Text, "1", "2"))
	if value, is := errors.AsType[*mask.ValueError](err); !is || value.Row != 2 {
		t.Fatalf("the error is %v", err)
	}
	if err := masker(column(t, "text", "string"), "b").Mask(&dst, batchOf(source.Text, "1", "2")); err != nil {
		t.Fatal(err)
	}
	if got := valuesOf(&dst); !slices.Equal(got, []string{"2", "no number"}) {
		t.Errorf("got %q: it was started again", got)
	}
	if err := programs.End(); err != nil {
		t.Error(err)
	}
}

// TestProgramDigits has answers checked for the digits of their type, and lets pass what is no number or day there.
func TestProgramDigits(t *testing.T) {
	for _, test := range []struct {
		typ, logical string
		kind         source.Kind
		value, err   string
	}{
		{"numeric(5,2)", "decimal(5,2)", source.Number, "-123.45", ""},
		{"numeric(5,2)", "decimal(5,2)", source.Number, "123.4500", ""},
		{"numeric(5,2)", "decimal(5,2)", source.Number, "1234.5", "more digits than its type"},
		{"numeric(5,2)", "decimal(5,2)", source.Number, "1.234", "more digits than its type"},
		{"numeric(5,2)", "decimal(5,2)", source.Number, "NaN", ""},
		{"numeric", "decimal", source.Number, "-Infinity", ""},
		{"date", "date", source.Text, "infinity", ""},
		{"timestamp", "timestamp", source.Text, "-infinity", ""},
		{"date", "date", source.Text, "soon", "no date"},
	} {
		m, _ := programmed(t.Context(), t, column(t, test.typ, test.logical), "exec cat")
		var dst source.Batch
		err := m.Mask(&dst, batchOf(test.kind, test.value))
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s of %s: the error is %v", test.value, test.typ, err)
		}
	}
}

// TestProgramEnd has what a program does after its last answer named.
func TestProgramEnd(t *testing.T) {
	for _, test := range []struct{ script, err string }{
		{upper, ""},
		{`cat; exit 7`, "exit status 7"},
		{`cat; echo more`, "answered more than it was asked"},
		{`read -r line; echo "$line"`, "it ended before it had answered"},
		{`read -r line; echo "$line"; exit 7`, "it ended before it had answered: exit status 7"},
		{`read -r line; echo "$line"; cat >/dev/null; exit 7`, "it ended before it had answered: exit status 7"},
		{`read -r line; echo "$line"; read -r line; echo '["more"]'; exec cat`, "answered more than it was asked"},
		{`read -r line; echo "$line"; cat >/dev/null; echo more`, "no array of strings in JSON"},
		{`read -r line; echo "$line"; exec sleep 1000`, "did not end within 20ms"},
		{`read -r line; echo "$line"; ` + holdsOutput + `exec cat >/dev/null`, "did not end within 20ms"},
	} {
		m, programs := programmed(t.Context(), t, column(t, "text", "string"), test.script)
		programs.SetTimes(time.Minute, time.Minute)
		if strings.Contains(test.err, "20ms") {
			programs.SetTimes(time.Minute, 20*time.Millisecond)
		}
		var dst source.Batch
		if err := m.Mask(&dst, batchOf(source.Text, "a")); err != nil {
			t.Fatal(err)
		}
		err := programs.End()
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: the error is %v", test.script, err)
		}
		if err := programs.End(); err != nil {
			t.Errorf("%s: again: %v", test.script, err)
		}
	}
}

// writer calls a function with what is written.
type writer func(text []byte)

func (w writer) Write(text []byte) (int, error) { w(text); return len(text), nil }

// TestProgramCancelled ends a program that does not answer when the export is cancelled.
func TestProgramCancelled(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	m, programs := programmed(ctx, t, column(t, "text", "string"), "read -r q; echo ready >&2; exec sleep 1000")
	programs.Stderr = writer(func([]byte) { cancel(gone) })
	var dst source.Batch
	if err := m.Mask(&dst, batchOf(source.Text, "a")); !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}

// TestProgramSees holds that a program gets no arguments, and no secret from the environment.
func TestProgramSees(t *testing.T) {
	t.Setenv("PGPASSWORD", "secret")
	var shown bytes.Buffer
	m, programs := programmed(t.Context(), t, column(t, "text", "string"), `env >&2; echo "$# arguments" >&2; exec cat`)
	programs.Stderr = &shown
	var dst source.Batch
	if err := errors.Join(m.Mask(&dst, batchOf(source.Text, "a")), programs.End()); err != nil {
		t.Fatal(err)
	}
	text := shown.String()
	if strings.Contains(text, "secret") || !strings.Contains(text, "PATH=") || !strings.Contains(text, "0 arguments") {
		t.Errorf("it sees %q", text)
	}
}

// TestProgramChecks has named what is not known of the values of programs, and refuses what they cannot mask.
func TestProgramChecks(t *testing.T) {
	programs := mask.NewPrograms(t.Context(), map[string]string{"own": "cat"})
	check := func(c source.Column, text string) (unknown []string, err error) {
		p := &mask.Policy{
			Key: testKey(t, keyText), Programs: programs,
			Tables: map[string]mask.Rules{"t": {"c": rule(t, text)}},
		}
		tables := []mask.Table{{Name: "t", Columns: []source.Column{c}, Definition: &source.Definition{
			Name: "t", Columns: []source.ColumnDefinition{{Name: "c", Type: c.Type}},
			Constraints: []source.Constraint{{Kind: source.Unique, Columns: []string{"c"}}},
		}}}
		_, err = p.Check(tables)
		return p.Unknown(tables), err
	}
	if unknown, err := check(column(t, "text", "string"), "program own"); err != nil || len(unknown) != 1 {
		t.Errorf("a unique column: %q, %v", unknown, err)
	}
	if unknown, err := check(column(t, "inet", "unknown"), "program own"); err != nil || len(unknown) != 2 {
		t.Errorf("a column of a type that is not known: %q, %v", unknown, err)
	}
	for _, c := range []source.Column{column(t, "time", "time"), column(t, "interval", "interval")} {
		if unknown, err := check(c, "program own"); err != nil || len(unknown) != 2 {
			t.Errorf("the type %s: %q, %v", c.Type, unknown, err)
		}
	}
	if unknown, err := check(column(t, "text", "string"), "hash"); err != nil || len(unknown) != 0 {
		t.Errorf("hash: %q, %v", unknown, err)
	}
	for _, c := range []source.Column{column(t, "bytea", "bytes"), column(t, "text[]", "list(string)")} {
		if _, err := check(c, "program own"); err == nil {
			t.Errorf("the type %s: no error", c.Type)
		}
	}
	if _, err := check(column(t, "text", "string"), "program other"); err == nil ||
		!strings.Contains(err.Error(), `there is no program of the name "other"`) {
		t.Errorf("another program: %v", err)
	}
	for _, text := range []string{"program", "program a b", "program a/b", "json $.a: program own"} {
		if _, err := mask.ParseRule(text); err == nil {
			t.Errorf("the rule %q is one", text)
		}
	}
}

// FuzzAnswers reads what programs answer.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		`["a","b\n\u00e4"]`, `[]`, ` [ "" , "x" ] ` + "\r\n", `["a",]`, `[null]`, `{"a":"b"}`, `"a"`, `[`, ``,
		`[["a"]]`, `["a"] ["b"]`, `[,"a"]`, "[\"\xff\"]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var got []string
		err := mask.ParseAnswers(line, func(text []byte) error {
			got = append(got, string(text))
			return nil
		})
		var all []*string
		wrong := json.Unmarshal(line, &all)
		isAnswer := wrong == nil && all != nil && !slices.Contains(all, nil) && utf8.Valid(line)
		if isAnswer != (err == nil) {
			t.Fatalf("%q: %v, and encoding/json says %v", line, err, wrong)
		}
		if err != nil {
			return
		}
		if len(got) != len(all) {
			t.Fatalf("%q: got %d strings", line, len(got))
		}
		for i := range all {
			if got[i] != *all[i] {
				t.Fatalf("%q: got %q, and encoding/json %q", line, got[i], *all[i])
			}
		}
	})
}
