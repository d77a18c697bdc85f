package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/export"
	"culvert/format"
	"culvert/source"
)

// reading is a way in which an export reads a table.
type reading struct {
	name    string
	jobs    int
	ordered bool
}

var readings = []reading{
	{"one connection", 1, false}, // PostgreSQL prints the CSV
	{"in order", 4, true},
	{"several connections", 4, false},
}

// export returns the text of a table.
func (r reading) export(tb testing.TB, src source.Source, table string, f format.Format) ([]byte, export.Stats) {
	tb.Helper()
	var out bytes.Buffer
	plan := export.Plan{Format: f, Compression: export.None, Unencrypted: true, Jobs: r.jobs, Ordered: r.ordered}
	stats, err := plan.Table(tb.Context(), &out, src, table)
	if err != nil {
		tb.Fatalf("%s, %s: %v", table, r.name, err)
	}
	return out.Bytes(), stats
}

// cells are the values of a row as text, NULL as nil.
type cells []*string

// parseCSV reads CSV as PostgreSQL does: what is not quoted and empty is NULL, and nothing else is changed. Without
// columns each line is a row of none.
func parseCSV(tb testing.TB, text []byte) []cells {
	tb.Helper()
	var rows []cells
	var row cells
	for len(text) > 0 {
		var cell *string
		var value string
		if text[0] == '"' {
			value, text = cutQuoted(tb, text[1:])
			cell = &value
		} else {
			end := bytes.IndexAny(text, ",\n")
			if end < 0 || bytes.ContainsAny(text[:end], "\"\r") {
				tb.Fatalf("not CSV: %.80q", text)
			}
			if value = string(text[:end]); end > 0 {
				cell = &value
			}
			text = text[end:]
		}
		row = append(row, cell)
		switch {
		case len(text) > 0 && text[0] == '\n':
			rows, row = append(rows, row), nil
		case len(text) == 0 || text[0] != ',':
			tb.Fatalf("not CSV: %.80q", text)
		}
		text = text[1:]
	}
	if row != nil {
		tb.Fatal("CSV without an end")
	}
	return rows
}

// cutQuoted returns the value that begins after a quote, and the text after the closing one.
func cutQuoted(tb testing.TB, text []byte) (value string, rest []byte) {
	tb.Helper()
	var b strings.Builder
	for {
		end := bytes.IndexByte(text, '"')
		if end < 0 {
			tb.Fatal("a quote without an end")
		}
		b.Write(text[:end])
		if text = text[end+1:]; len(text) == 0 || text[0] != '"' {
			return b.String(), text
		}
		b.WriteByte('"')
		text = text[1:]
	}
}

// parseJSONL reads lines of objects that have exactly the given keys, each once and in order. It knows no leniency: the
// text must be UTF-8, and is one object to the line. Numbers and what is nested are given as they stand there.
func parseJSONL(tb testing.TB, text []byte, keys []string) []cells {
	tb.Helper()
	if !utf8.Valid(text) {
		tb.Fatal("not UTF-8")
	}
	var rows []cells
	for line := range bytes.Lines(text) {
		row, err := parseObject(line, keys)
		if err != nil {
			tb.Fatalf("line %d: %v: %.200q", len(rows)+1, err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

func parseObject(line []byte, keys []string) (cells, error) {
	if !bytes.HasSuffix(line, []byte("}\n")) || bytes.ContainsRune(line, '\r') {
		return nil, errors.New("the line does not end")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("no object: %v, %w", token, err)
	}
	row := make(cells, len(keys))
	for i, key := range keys {
		if token, err := d.Token(); err != nil || token != key {
			return nil, fmt.Errorf("%v in the place of the key %q: %w", token, key, err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		var err error
		if row[i], err = cellOfJSON(string(value)); err != nil {
			return nil, err
		}
	}
	if token, err := d.Token(); err != nil || token != json.Delim('}') {
		return nil, fmt.Errorf("more than the columns: %v, %w", token, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than an object")
	}
	return row, nil
}

// cellOfJSON is the text that a JSON value stands for.
func cellOfJSON(value string) (*string, error) {
	switch value[0] {
	case 'n':
		return nil, nil
	case 't', 'f':
		value = value[:1]
	case '"':
		if err := json.Unmarshal([]byte(value), &value); err != nil {
			return nil, err
		}
	}
	return &value, nil
}

// String is for messages, and for comparing and sorting.
func (row cells) String() string {
	var b strings.Builder
	for _, cell := range row {
		if cell == nil {
			b.WriteString("NULL ")
		} else {
			fmt.Fprintf(&b, "%q ", *cell)
		}
	}
	return b.String()
}

// expectRows compares rows, in whatever order they are.
func expectRows(tb testing.TB, what string, got, want []cells) {
	tb.Helper()
	strings := func(rows []cells) []string {
		all := make([]string, len(rows))
		for i, row := range rows {
			all[i] = row.String()
		}
		slices.Sort(all)
		return all
	}
	a, b := strings(got), strings(want)
	if slices.Equal(a, b) {
		return
	}
	tb.Errorf("%s: %d rows, want %d", what, len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			tb.Fatal(difference(a[i], b[i]))
		}
	}
}

// difference shows where two texts part.
func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-60):min(len(s), i+60)] }
	return fmt.Sprintf("%d bytes, want %d; at byte %d:\n got %q\nwant %q", len(got), len(want), i, cut(got), cut(want))
}
