package bucket

import "testing"

// TestPartSize holds the sizes of parts to the limits of the stores, and to the formula of the package comment.
func TestPartSize(t *testing.T) {
	for _, first := range []int64{minPartSize, 6 << 20, defaultPartSize, 12 << 20, 100<<20 + partUnit, maxPartSize} {
		b := &bucket{Config: Config{PartSize: first}}
		want, written, number := first, int64(0), 1
		for ; written < 5<<40; number++ {
			if number > 3200 && (number-3201)%640 == 0 {
				want = min(2*want, maxPartSize)
			}
			size := b.partSize(number)
			if size != want || size%partUnit != 0 {
				t.Fatalf("part %d has %d bytes, want %d", number, size, want)
			}
			written += size
		}
		if number > maxParts {
			t.Errorf("an object of 5 TiB has %d parts if the first has %d bytes", number-1, first)
		}
	}
	b := &bucket{Config: Config{PartSize: defaultPartSize}}
	if size := b.partSize(24 << 30 / defaultPartSize); size != defaultPartSize {
		t.Errorf("after 24 GiB, parts have %d bytes", size)
	}
}
