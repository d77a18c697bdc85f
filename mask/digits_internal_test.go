package mask

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"culvert/source"
)

// A value becomes the same whether look has permuted it together with others, or append masks it alone.
func TestDigitsAhead(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	key := GenerateKey()
	for _, class := range []source.Class{source.StringClass, source.CharClass} {
		column := source.Column{Name: "c", Logical: source.Type{Class: class}}
		batched, alone := newDigits(key, column), newDigits(key, column)
		for range 100 {
			var batch source.Batch
			batch.Reset(1)
			count := 0 // without NULL
			for range random.IntN(40) {
				count++
				switch random.IntN(9) {
				case 0:
					batch.AppendNull()
					count--
				case 1:
					batch.Append(source.Number, fmt.Append(nil, random.IntN(1000)))
				default:
					batch.Append(source.Text, []byte(randomDigits(random)))
				}
				batch.EndRow()
			}
			if _, err := batched.look(&batch, 0); err != nil {
				t.Fatal(err)
			}
			for row := range batch.Rows() {
				kind, value := batch.Value(row, 0)
				if kind == source.Null {
					continue
				}
				_, got, err := batched.append(nil, kind, value)
				_, want, wantErr := alone.append(nil, kind, value)
				if !bytes.Equal(got, want) || err != nil || wantErr != nil {
					t.Fatalf("%q becomes %q, %v in a batch, and %q, %v alone", value, got, err, want, wantErr)
				}
			}
			if batched.next != count || len(batched.values) != count {
				t.Fatalf("of %d values, %d were looked at, and %d masked", count, len(batched.values), batched.next)
			}
		}
	}
}

// randomDigits returns a number of a phone, a card or an account, or something else.
func randomDigits(random *rand.Rand) string {
	switch random.IntN(6) {
	case 0:
		return fmt.Sprintf("%016d", random.Uint64N(1e16))
	case 1:
		return "4111 1111 1111 1111"
	case 2:
		return "DE89 3704 0044 0532 0130 00"
	case 3:
		return []string{"", " ", "-", "none", "ext. 12", "0", "7  "}[random.IntN(7)]
	}
	return fmt.Sprintf("+%d %d", random.IntN(100), random.Uint64N(1<<random.IntN(40)+1))
}
