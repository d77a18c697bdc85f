package load

import (
	"testing"

	"culvert/format"
	"culvert/source"
)

// TestLargeRow makes text of a large row of binary data. Its values do not stay in memory beside the text, which is not
// copied as it grows.
func TestLargeRow(t *testing.T) {
	const size = 16 << 20
	columns := []source.Column{{Name: "a"}}
	encoder, err := format.CSV{}.Encoder(columns)
	if err != nil {
		t.Fatal(err)
	}
	p := &preparer{encoder: encoder, lines: encoder.(format.LineEncoder)}
	b := new(block)
	prepare := func() {
		b.reset()
		batch := b.batch()
		batch.Reset(1)
		batch.Append(source.Bytes, make([]byte, size))
		batch.EndRow()
		p.prepare(b)
	}
	prepare()
	if b.err != nil || b.rows != 1 || len(b.out) < 2*size {
		t.Fatalf("%d rows, %d bytes, %v", b.rows, len(b.out), b.err)
	}
	if most := 2*size + 2*blockSize; cap(b.out) > most {
		t.Errorf("the text has %d bytes of memory, want at most %d", cap(b.out), most)
	}
	for range 2 {
		for _, batch := range append(b.batches, b.spare...) {
			if batch.Memory() > keptSize {
				t.Errorf("a batch keeps %d bytes", batch.Memory())
			}
		}
		b.reset()
	}
	allocated := testing.AllocsPerRun(1, prepare)
	if allocated > 12 {
		t.Errorf("a large row takes %.0f pieces of memory", allocated)
	}
}
