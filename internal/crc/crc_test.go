package crc_test

import (
	"bytes"
	"fmt"
	"hash"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/minio/crc64nvme"

	"culvert/internal/crc"
)

// TestJoin compares joined checksums with those of the whole text, for pieces of any sizes.
func TestJoin(t *testing.T) {
	for name, test := range map[string]struct {
		crc.Polynomial
		hash.Hash
	}{
		"IEEE":       {crc.IEEE, crc32.NewIEEE()},
		"Castagnoli": {crc.Castagnoli, crc32.New(crc32.MakeTable(crc32.Castagnoli))},
		"NVME":       {crc.NVME, crc64nvme.New()},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				var text []byte
				joined := test.Join()
				size := random.IntN(1000)
				for range random.IntN(20) {
					if random.IntN(3) == 0 {
						size = random.IntN(1000)
					}
					piece := make([]byte, size)
					for i := range piece {
						piece[i] = byte(random.Uint32())
					}
					test.Reset()
					_, _ = test.Write(piece) // never fails
					joined.Append(test.Hash.Sum(nil), int64(size))
					text = append(text, piece...)
				}
				test.Reset()
				_, _ = test.Write(text) // never fails
				if want, got := test.Hash.Sum(nil), joined.Sum(nil); !bytes.Equal(got, want) {
					t.Fatalf("the checksum of %d bytes is %x, want %x", len(text), got, want)
				}
			}
		})
	}
}

// TestJoinLarge joins the same text from few large pieces and from many small ones.
func TestJoinLarge(t *testing.T) {
	piece := crc64nvme.New()
	_, _ = piece.Write(make([]byte, 1<<20)) // never fails
	many, few := crc.NVME.Join(), crc.NVME.Join()
	few.Append(piece.Sum(nil), 1<<20)
	for size := int64(1) << 20; size < 8<<30; size *= 2 {
		few.Append(few.Sum(nil), size)
	}
	for range 8 << 10 {
		many.Append(piece.Sum(nil), 1<<20)
	}
	if !bytes.Equal(few.Sum(nil), many.Sum(nil)) {
		t.Errorf("the checksums are %x and %x", few.Sum(nil), many.Sum(nil))
	}
}

func Example() {
	joined := crc.IEEE.Join()
	for _, piece := range []string{"one text", ", ", "in pieces"} {
		sum := crc32.NewIEEE()
		_, _ = sum.Write([]byte(piece)) // never fails
		joined.Append(sum.Sum(nil), int64(len(piece)))
	}
	fmt.Printf("%x %x", joined.Sum(nil), crc32.ChecksumIEEE([]byte("one text, in pieces")))
	// Output: ee44e3a9 ee44e3a9
}
