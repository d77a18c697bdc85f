package bucket

import "testing"

// TestPartSize holds the sizes of parts to the limits of the stores, and to the formula of the package comment.
func TestPartSize(t *testing.T) {
	for _, first := range []int64{minPartSize, DefaultPartSize, 100<<20 + 1, maxPartSize} {
		b := &bucket{Config: Config{PartSize: first}}
		parts, written := 0, int64(0)
		for written < 5<<40 {
			size := b.partSize(written)
			if written <= 1250*first && size != first {
				t.Fatalf("after %d bytes the size is %d, and not yet %d", written, size, first)
			}
			if size < minPartSize || size > maxPartSize || size > max(first, written/1250+1<<20) {
				t.Fatalf("after %d bytes the size is %d", written, size)
			}
			written += size
			parts++
		}
		if parts >= 10_000 {
			t.Errorf("an object of 5 TiB has %d parts if the first has %d bytes", parts, first)
		}
	}
}
