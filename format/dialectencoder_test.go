package format_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/format"
	"culvert/source"
)

// TestDialectEncoderRandom writes random rows in random dialects. Read back, they are the rows of CSV, whole or in
// pieces; or the value is refused.
func TestDialectEncoderRandom(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	var batch source.Batch
	for range rounds {
		d := randomDialect(random)
		columns := make([]source.Column, 1+random.IntN(3))
		for i := range columns {
			columns[i].Name = strings.Repeat("c", i+1)
		}
		batch.Reset(len(columns))
		for range 1 + random.IntN(4) {
			for range columns {
				value := randomValue(random, d)
				switch random.IntN(5) {
				case 0:
					batch.AppendNull()
				case 1:
					batch.Append(source.Bytes, value)
				default:
					batch.Append(source.Text, value)
				}
			}
			batch.EndRow()
		}
		encoder, err := d.Encoder(columns)
		if err != nil && strings.Contains(d.Null, string(d.Escape)) {
			refused++ // it would not be read as NULL
			continue
		}
		if err != nil {
			t.Fatalf("%q: %v", d.String(), err)
		}
		text, err := encoder.AppendRows(encoder.AppendHeader(nil), &batch)
		if err != nil {
			refused++
			continue
		}
		var whole []byte
		whole = append(whole, encoder.AppendHeader(nil)...)
		rest, err := encoder.AppendPieces(nil, &batch, 64, func(text []byte) ([]byte, error) {
			whole = append(whole, text...)
			return text[:0], nil
		})
		if whole = append(whole, rest...); err != nil || !bytes.Equal(whole, text) {
			t.Fatalf("%q: in pieces it is %.300q instead of %.300q: %v", d.String(), whole, text, err)
		}
		read, _, err := format.ParseDialect(d.String())
		if err != nil {
			t.Fatal(err)
		}
		if read.NoHeader {
			for _, c := range columns {
				read.Names = append(read.Names, c.Name)
			}
		}
		r, err := read.Reader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		plain, plainErr := format.CSV{}.Encoder(columns)
		if plainErr != nil {
			t.Fatal(plainErr)
		}
		want, plainErr := plain.AppendRows(plain.AppendHeader(nil), &batch)
		if err != nil || plainErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q: %.300q became %.300q instead of %.300q: %v", d.String(), text, got, want, err)
		}
	}
	if refused > rounds/2 {
		t.Errorf("%d of %d were refused", refused, rounds)
	}
}

func randomDialect(random *rand.Rand) format.Dialect {
	for {
		d := format.Dialect{
			Delimiter: choose(random, "", ";", "\t", "|", "||", "~", `\`),
			Quote:     choose(random, byte(0), '\''),
			Null:      choose(random, "", `\N`, "NULL", `"NULL"`, "^N"),
			Escape:    choose(random, byte(0), '\\', '^', '"'),
			Escapes:   format.Escapes(random.IntN(3)),
			LineEnd:   choose(random, "", "\n", "\r\n"),
			NoHeader:  random.IntN(2) == 0,
			Mark:      random.IntN(2) == 0,
			Unquoted:  random.IntN(3) == 0,
		}
		if d.Unquoted {
			d.Quote = 0
		}
		if d.Escape == 0 {
			d.Escapes = 0
		}
		if d.Check() == nil {
			return d
		}
	}
}

// randomValue is made of what has a meaning in dialects.
func randomValue(random *rand.Rand, d format.Dialect) []byte {
	if random.IntN(10) == 0 {
		return []byte(d.Null)
	}
	var value []byte
	for range random.IntN(6) {
		value = append(value, choose(random, "a", "n", "N", "é", ",", ";", "|", "\t", "\"", "'", "\\", "^", "~", "\n",
			"\r", ".", " ", "\x00", "\ufeff")...)
	}
	if random.IntN(50) == 0 {
		return bytes.Repeat(append(value, 'x'), 20_000)
	}
	return value
}

func choose[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }
