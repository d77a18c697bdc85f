package rowsum_test

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"culvert/internal/rowsum"
	"culvert/internal/testkit"
)

// naive adds up the hashes of lines as the package comment says.
func naive(lines [][]byte) string {
	total := new(big.Int)
	for _, line := range lines {
		hash := xxh3.Hash128(line).Bytes()
		total.Add(total, new(big.Int).SetBytes(hash[:]))
	}
	return fmt.Sprintf("%032x", total.Mod(total, new(big.Int).Lsh(big.NewInt(1), 128)))
}

func randomLines(r *rand.Rand, n int) [][]byte {
	lines := make([][]byte, n)
	for i := range lines {
		lines[i] = bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(1<<r.IntN(13)))
	}
	return lines
}

// TestSum compares sums with a naive implementation, whatever the order of the rows and the parts they come in.
func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 100, 1000} {
		lines := randomLines(r, n)
		want := naive(lines)
		var adders [3]rowsum.Adder
		for range 3 {
			r.Shuffle(n, func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			for _, line := range lines {
				if r.IntN(2) == 0 {
					adders[r.IntN(3)].Line(line)
					continue
				}
				one := &adders[r.IntN(3)]
				for len(line) > 0 {
					size := 1 + r.IntN(len(line))
					one.Part(line[:size])
					line = line[size:]
				}
				one.EndLine()
			}
			var got rowsum.Sum
			for i := range adders {
				got.Add(adders[i].Sum)
				adders[i].Reset()
			}
			if got.String() != want {
				t.Errorf("%d rows: %s, want %s", n, got, want)
			}
			parsed, err := rowsum.Parse(want)
			if err != nil || parsed != got {
				t.Errorf("parsed %s as %s, %v", want, parsed, err)
			}
		}
	}
}

// TestCounts has rows count as often as they occur, and in no other row.
func TestCounts(t *testing.T) {
	sums := map[rowsum.Sum]string{{}: "nothing"}
	for _, lines := range []string{"", "a", "aa", "aaa", "b", "ab", "abb", "\n", "\n\n"} {
		var a rowsum.Adder
		for i := range lines {
			a.Line([]byte{lines[i], '\n'})
		}
		if lines == "" {
			a.Line(nil) // a row of no bytes is a row
		}
		if other, ok := sums[a.Sum]; ok {
			t.Errorf("%q has the sum of %q", lines, other)
		}
		sums[a.Sum] = lines
	}
}

// TestStable pins the sum: manifests have it.
func TestStable(t *testing.T) {
	var a rowsum.Adder
	for _, line := range []string{"1,\"water, still\",\n", "2,stone,\"\"\n"} {
		a.Line([]byte(line))
	}
	if want := "8de7c9d46eadf81daf781ee278f92dc5"; a.Sum.String() != want {
		t.Errorf("%s, want %s", a.Sum, want)
	}
}

func TestParseRefused(t *testing.T) {
	for _, text := range []string{
		"", "0", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0",
		"0123456789ABCDEF0123456789abcdef", "0123456789abcdef0123456789abcdeg", " 0123456789abcdef0123456789abcde",
	} {
		if sum, err := rowsum.Parse(text); err == nil {
			t.Errorf("%q: %s, %v", text, sum, err)
		}
	}
}

func TestAllocs(t *testing.T) {
	line := bytes.Repeat([]byte("x"), 5000)
	var a rowsum.Adder
	a.Part(line)
	testkit.Allocs(t, 0, func() {
		a.Reset()
		a.Line(line)
		a.Part(line)
		a.Part(line)
		a.EndLine()
	})
}

func BenchmarkLine(b *testing.B) {
	for _, size := range []int{10, 40, 100, 200, 1000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := bytes.Repeat([]byte("x"), size)
			b.SetBytes(int64(size))
			var a rowsum.Adder
			for b.Loop() {
				a.Line(line)
			}
		})
	}
}

func Example() {
	var one, other rowsum.Adder
	one.Line([]byte("1,water\n"))
	other.Line([]byte("2,stone\n"))
	table := other.Sum
	table.Add(one.Sum)

	var whole rowsum.Adder
	whole.Line([]byte("1,water\n"))
	whole.Line([]byte("2,stone\n"))
	fmt.Println(whole.Sum == table)
	// Output:
	// true
}
