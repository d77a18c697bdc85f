package compress_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"culvert/internal/compress"
)

// TestParallelReader reads the same text with any number of workers.
func TestParallelReader(t *testing.T) {
	text := []byte(strings.Repeat("7,\"water, still\",\n", 200_000))
	e := compress.NewEncoder(compress.Zstd, 1)
	var packed []byte
	for rest := text; len(rest) > 0; {
		n := min(1<<20, len(rest))
		packed = e.AppendFrame(packed, rest[:n])
		rest = rest[n:]
	}
	for _, workers := range []int{-1, 0, 1, 2, 100} {
		r, err := compress.NewParallelReader(bytes.NewReader(packed), workers)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
			t.Errorf("with %d workers, the text has %d bytes: %v", workers, len(got), err)
		}
	}
}
