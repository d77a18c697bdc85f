package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/source"
)

// pieceFormats are all formats, with all their options.
var pieceFormats = map[string]format.Format{
	"csv":           format.CSV{},
	"jsonl":         format.JSONL{},
	"jsonl replace": format.JSONL{InvalidUTF8: format.ReplaceInvalid},
	"jsonl base64":  format.JSONL{InvalidUTF8: format.Base64Invalid},
	"text":          format.Text{},
	"template":      format.Text{Line: "{b}, {a} and {b}"},
}

// TestPieces compares the pieces of rows of all sizes with the text as a whole.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for round := range 60 {
		var rows [][]cell
		for range 1 + r.IntN(4) {
			rows = append(rows, []cell{largeCell(r), largeCell(r)})
		}
		batch := fill(2, rows...)
		size := 1 + r.IntN(300_000)
		for name, f := range pieceFormats {
			e := encoder(t, f, "a", "b")
			want, wantErr := e.AppendRows(nil, batch)
			var got []byte
			rest, err := e.AppendPieces(nil, batch, size, func(text []byte) ([]byte, error) {
				if len(text) < size || len(text) > size+400<<10 {
					t.Errorf("%s: a piece of %d bytes, of about %d", name, len(text), size)
				}
				got = append(got, text...)
				return text[:0], nil
			})
			got = append(got, rest...)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && !bytes.Equal(got, want) {
				t.Fatalf("round %d, %s: %d bytes and error %v, want %d and %v",
					round, name, len(got), err, len(want), wantErr)
			}
		}
	}
}

// largeCell returns a random value of any kind, often one that is large enough to be cut.
func largeCell(r *rand.Rand) cell {
	size := []int{0, 5, 100, 12 << 10, 70_000, 200_000}[r.IntN(6)]
	words := []string{`"`, "\n", "é", "漢字", "\\", ",", "word ", "\x01", "😀", "12"}
	if r.IntN(3) == 0 {
		words = append(words, "\xff", "\xe6\xbc", "\x80\x80\x80\x80\x80")
	}
	if r.IntN(2) == 0 {
		words = []string{"plain"}
	}
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(words[r.IntN(len(words))])
	}
	value := b.String()
	switch r.IntN(6) {
	case 0:
		return binary(value)
	case 1:
		return number(strings.Repeat("7", len(value)))
	case 2:
		space := []string{"", "\n ", "\r"}[r.IntN(3)]
		inner := strings.Map(func(c rune) rune {
			if c < ' ' || c == '"' || c == '\\' {
				return 'x'
			}
			return c
		}, strings.ToValidUTF8(value, "?"))
		if strings.Contains(value, "\xff") {
			inner += "\xff"
		}
		return jsonCell("[" + space + `"` + inner + `",` + space + strings.Repeat("1,"+space, len(inner)/50) + "2]")
	case 3:
		return null()
	}
	return text(value)
}

// TestPiecesEnd checks that AppendPieces stops at the first error of next.
func TestPiecesEnd(t *testing.T) {
	stop := errors.New("stop")
	large := fill(2, []cell{text(strings.Repeat("x", 1<<20)), binary(strings.Repeat("x", 1<<20))})
	for name, f := range pieceFormats {
		for last := range 5 {
			calls := 0
			_, err := encoder(t, f, "a", "b").AppendPieces(nil, large, 10_000, func(text []byte) ([]byte, error) {
				if calls++; calls > last {
					return nil, stop
				}
				return text[:0], nil
			})
			if err != stop || calls != last+1 {
				t.Errorf("%s: error %v after %d calls, want the %dth", name, err, calls, last+1)
			}
		}
	}
}

// TestPiecesEndBeforeInvalid checks that an error of next comes before the error of a later value.
func TestPiecesEndBeforeInvalid(t *testing.T) {
	stop := errors.New("stop")
	batch := fill(3, []cell{text(strings.Repeat("x", 1<<20)), text("\xff"), text(strings.Repeat("\xff", 1<<20))})
	_, err := encoder(t, format.JSONL{}, "a", "b", "c").AppendPieces(nil, batch, 10_000, func([]byte) ([]byte, error) {
		return nil, stop
	})
	if err != stop {
		t.Errorf("error %v, want %v", err, stop)
	}
}

// TestPiecesOfManyColumns cuts rows of which no value is large enough to be cut.
func TestPiecesOfManyColumns(t *testing.T) {
	const columns, size = 500, 100_000
	row, names := make([]cell, columns), make([]string, columns)
	for i := range row {
		row[i], names[i] = text(strings.Repeat("x", 10_000)), fmt.Sprint("c", i)
	}
	batch := fill(columns, row)
	for name, f := range map[string]format.Format{"csv": format.CSV{}, "jsonl": format.JSONL{}, "text": format.Text{}} {
		take := func(text []byte) ([]byte, error) {
			if len(text) > size+400<<10 {
				t.Errorf("%s: a piece of %d bytes, of about %d", name, len(text), size)
			}
			return text[:0], nil
		}
		rest, err := encoder(t, f, names...).AppendPieces(nil, batch, size, take)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = take(rest)
	}
}

// TestPiecesHoldWholeRows checks that small rows are not cut.
func TestPiecesHoldWholeRows(t *testing.T) {
	batch := todos(3000)
	for name, f := range formats {
		e := encoder(t, f, todoNames...)
		var ends []byte
		if _, err := e.AppendPieces(nil, batch, 20_000, func(text []byte) ([]byte, error) {
			ends = append(ends, text[len(text)-1])
			return text[:0], nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(ends) < 5 || slices.ContainsFunc(ends, func(end byte) bool { return end != '\n' }) {
			t.Errorf("%s: the pieces end in %q", name, ends)
		}
	}
	var none source.Batch
	none.Reset(0)
	none.EndRow()
	for name, f := range formats {
		e := encoder(t, f)
		want, _ := e.AppendRows(nil, &none)
		if got, err := e.AppendPieces(nil, &none, 1<<20, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: a row without columns is %q, %v, want %q", name, got, err, want)
		}
	}
}
