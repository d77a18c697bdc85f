package fill

import (
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/format"
	"culvert/mysql/internal/catalog"
	"culvert/source"
)

// valuesOfLines are what columns keep, and what they refuse or have in another form.
var valuesOfLines = []string{
	"", "7", "-7", "007", "-0", "+7", "0", "1", "12345678", "99999999999999999999", "1.5", "1.50", "-0.25", "1e3", ".5",
	"NaN", "t", "f", "true", "NO", "NULL", `\N`, `\x`, `\x00ff`, `\xFF`, `\x0`, "10110", "2026-01-31",
	"2026-01-31 10:20:30", "2026-01-31 10:20:30.125", "2026-01-31 10:20:30.1250", "2026-01-31 10:20:30+00",
	"2026-01-31T10:20:30Z", "10:20:30",
	"0000", "1970", "70", "river", "river ", "river, stone", "river \"stone\"", `""`, `"`, "'", "it's", "tab\there",
	"two\nlines", "a\r\nb", "\x00", "\x01", "\x7f", "é", "漢字漢字漢字漢字", "\xff", "12345678\xc3", `{"n": 1, "tag": "stone"}`,
	`a\nb`, "a,b",
}

func randomLineValue(r *rand.Rand) string {
	if r.IntN(6) > 0 {
		return valuesOfLines[r.IntN(len(valuesOfLines))]
	}
	var text strings.Builder
	for range r.IntN(30) {
		text.WriteString(valuesOfLines[r.IntN(len(valuesOfLines))])
	}
	return text.String()
}

// randomLine returns a line of CSV, or almost one.
func randomLine(r *rand.Rand, columns int, value func(column int) string) string {
	var line strings.Builder
	for i := range columns {
		if i > 0 {
			line.WriteByte(',')
		}
		switch v := value(i); {
		case r.IntN(200) == 0:
			line.WriteString(v) // whatever it has
		case r.IntN(5) == 0:
		case strings.ContainsAny(v, "\",\r\n") || v == "" || r.IntN(4) == 0:
			line.WriteString(`"` + strings.ReplaceAll(v, `"`, `""`) + `"`)
		default:
			line.WriteString(v)
		}
	}
	return line.String() + "\n"
}

// shown are the lines that are shown.
type shown struct{ lines []string }

func (s *shown) Line(text []byte) { s.lines = append(s.lines, string(text)) }
func (s *shown) Part([]byte)      {}
func (s *shown) EndLine()         {}

// TestLines compares rows that are made of CSV at once with those that are decoded before.
func TestLines(t *testing.T) {
	types := []string{
		"bigint", "int unsigned", "tinyint(1)", "decimal(12,2)", "float", "double", "text", "varchar(8)", "char(8)",
		"datetime", "datetime(3)", "timestamp", "time(2)", "date", "year", "bit(1)", "bit(5)", "blob", "binary(2)",
		"json", "longtext", "enum('river','stone')", "set('a','b')", "uuid",
	}
	kinds := []source.Kind{source.Text, source.Number, source.Bool, source.Bytes, source.JSON, source.Null}
	r := rand.New(rand.NewPCG(7, 3))
	taken := 0
	for range 60_000 {
		columns, fields := make([]column, 1+r.IntN(4)), []format.Field{}
		for i := range columns {
			known := source.Column{Name: "c", Type: types[r.IntN(len(types))], NotNull: r.IntN(4) == 0}
			columns[i] = newColumn(catalog.Column{Column: known})
			if r.IntN(4) == 0 {
				columns[i].grammar = nil
			}
			fields = append(fields, format.Field{Name: "c", Kind: kinds[r.IntN(len(kinds))]})
		}
		plain := make([]string, len(columns)) // which the column probably keeps
		for i := range plain {
			plain[i] = randomLineValue(r)
		}
		var text strings.Builder
		for range 1 + r.IntN(3) {
			text.WriteString(randomLine(r, len(columns), func(i int) string { return plain[i] }))
		}
		if compareLines(t, columns, fields, text.String()) {
			taken++
		}
		if t.Failed() {
			return
		}
	}
	if taken < 6_000 {
		t.Errorf("only %d texts are taken", taken)
	}
}

// compareLines reports whether the rows of a text are made at once.
func compareLines(t *testing.T, columns []column, fields []format.Field, text string) bool {
	var want []byte
	decoder, _ := format.CSV{}.Decoder(fields)
	var b source.Batch
	b.SetLimit(64 << 10)
	_, err := decoder.Decode(&b, []byte(text))
	w := writer{columns: columns}
	rows, errorValues := 0, 0
	for ; err == nil && rows < b.Rows(); rows++ {
		want, err = w.appendRow(want, &b, rows)
		errorValues += w.errorValues
	}
	var seen shown
	made, n, feeds, ok := rowsFrom(columns, fields)([]byte("before"), []byte(text), &seen)
	if !ok {
		if string(made) != "before" {
			t.Errorf("%q has left %q", text, made)
		}
		return false
	}
	if err != nil || errorValues > 0 {
		t.Errorf("%q is made of %q, with %d error values and the error %v", made, text, errorValues, err)
		return true
	}
	wanted := "before" + strings.ReplaceAll(string(want), `\'`, "'")
	got := strings.ReplaceAll(string(made), `\'`, "'")
	if got != wanted || n != int64(rows) || feeds != int64(strings.Count(text, "\n")) {
		t.Errorf("%q becomes %q, %d rows in %d lines, want %q, %d", text, got, n, feeds, wanted, rows)
	}
	if strings.Join(seen.lines, "") != text || len(seen.lines) != rows {
		t.Errorf("the rows of %q are shown as %q", text, seen.lines)
	}
	return true
}
