package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBoundsOfTexts finds the least and the greatest of texts that are short, have zeros, and begin alike.
func TestBoundsOfTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		var texts [][]byte
		var values []byte
		for range 1 + random.IntN(5) {
			text := bytes.Repeat([]byte{0}, random.IntN(12))
			for i := range text {
				if random.IntN(4) == 0 {
					text[i] = []byte{0, 1, 'a', 0xff}[random.IntN(4)]
				}
			}
			texts = append(texts, text)
			values = append(binary.LittleEndian.AppendUint32(values, uint32(len(text))), text...)
		}
		least, most := boundsOfTexts(values)
		wantLeast, wantMost := slices.MinFunc(texts, bytes.Compare), slices.MaxFunc(texts, bytes.Compare)
		if !bytes.Equal(least, wantLeast) || !bytes.Equal(most, wantMost) {
			t.Fatalf("%q: %q to %q, want %q to %q", texts, least, most, wantLeast, wantMost)
		}
	}
}
