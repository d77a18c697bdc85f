package export

import "testing"

func TestBufferSize(t *testing.T) {
	for n := range int64(1 << 16) {
		size := bufferSize(n)
		if size < n || size > max(4<<10, n+n/4+1) || bufferSize(size) != size {
			t.Fatalf("%d bytes get %d", n, size)
		}
	}
	for n := int64(1 << 16); n < 8<<30; n += n/1000 + 7 {
		if size := bufferSize(n); size < n || size > n+n/4+1 || bufferSize(size) != size {
			t.Fatalf("%d bytes get %d", n, size)
		}
	}
}
