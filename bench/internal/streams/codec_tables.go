package streams

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// random is the same on every machine.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// words returns words that are as frequent as in a language: the n-th is n times as rare as the first.
func words(r *rand.Rand) func() string {
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo za tran ster ment ing tion")
	all := make([]string, 8000)
	for i := range all {
		for range 1 + r.IntN(4) {
			all[i] += syllables[r.IntN(len(syllables))]
		}
	}
	zipf := rand.NewZipf(r, 1.1, 4, uint64(len(all)-1))
	return func() string { return all[zipf.Uint64()] }
}

// textTable has a title and a comment of some sentences.
func textTable(size int) []byte {
	r := random(1)
	word := words(r)
	sentence := func(b *bytes.Buffer, n int) {
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word())
		}
	}
	return rowsOf(size, func(b *bytes.Buffer, i int) {
		fmt.Fprintf(b, "%d,", i)
		sentence(b, 2+r.IntN(4))
		b.WriteString(`,"`)
		for range 1 + r.IntN(4) {
			sentence(b, 5+r.IntN(12))
			b.WriteString(", ")
			sentence(b, 2+r.IntN(6))
			b.WriteString(". ")
		}
		b.WriteString("\"\n")
	})
}

// numberTable has times and readings of sensors.
func numberTable(size int) []byte {
	r := random(2)
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return rowsOf(size, func(b *bytes.Buffer, i int) {
		at = at.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
		fmt.Fprintf(b, "%d,%s,%d,%.3f,%.5f,%d\n", i, at.Format("2006-01-02 15:04:05.000+00"), r.IntN(1000),
			1000*r.Float64(), 10*r.Float64(), r.IntN(1<<20))
	})
}

// uuidTable has a key and two references, one of them to a few rows.
func uuidTable(size int) []byte {
	r := random(3)
	uuid := func() string {
		a, b := r.Uint64(), r.Uint64()
		return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&(1<<48-1))
	}
	few := make([]string, 500)
	for i := range few {
		few[i] = uuid()
	}
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return rowsOf(size, func(b *bytes.Buffer, i int) {
		at = at.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
		fmt.Fprintf(b, "%s,%s,%s,%s,%t\n", uuid(), few[r.IntN(len(few))], uuid(), at.Format("2006-01-02 15:04:05+00"),
			i%3 == 0)
	})
}

// jsonTable has events as JSON Lines, with an object in each.
func jsonTable(size int) []byte {
	r := random(4)
	word := words(r)
	kinds := strings.Fields("created updated deleted viewed shared")
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return rowsOf(size, func(b *bytes.Buffer, i int) {
		at = at.Add(time.Duration(r.IntN(900)) * time.Millisecond)
		fmt.Fprintf(b, `{"id":%d,"kind":%q,"at":%q,"user":%d,"payload":{"path":"/%s/%s","bytes":%d,"tags":[%q,%q],`+
			`"agent":"%s/%d.%d","ok":%t,"error":null}}`+"\n", i, kinds[r.IntN(len(kinds))],
			at.Format("2006-01-02T15:04:05.000+00:00"), r.IntN(50000), word(), word(), r.IntN(1<<16), word(), word(),
			word(), r.IntN(9), r.IntN(20), r.IntN(9) > 0)
	})
}

// sparseTable has forty columns, of which a row fills three or four.
func sparseTable(size int) []byte {
	r := random(5)
	word := words(r)
	return rowsOf(size, func(b *bytes.Buffer, i int) {
		fmt.Fprintf(b, "%d", i)
		for column := range 40 {
			b.WriteByte(',')
			switch {
			case r.IntN(12) > 0:
			case column%3 == 0:
				b.WriteString(word())
			default:
				fmt.Fprint(b, r.IntN(10000))
			}
		}
		b.WriteByte('\n')
	})
}
