package plainfs

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
)

// BenchmarkReadAt reads a text of 256 MiB in order, in pieces of 1 MiB by so many goroutines, as a mount that reads
// ahead does.
func BenchmarkReadAt(b *testing.B) {
	identity := newIdentity(b)
	text := rows(256 << 20)
	source := fstest.MapFS{
		"orders.csv.zst.age": {Data: seal(b, identity, pack(b, text, 1<<20)), Sys: version(1)},
		"plain.csv.age":      {Data: seal(b, identity, text), Sys: version(1)},
	}
	for _, name := range []string{"orders.csv", "plain.csv"} {
		for _, readers := range []int{1, 8} {
			b.Run(fmt.Sprintf("file=%s/readers=%d", name, readers), func(b *testing.B) {
				opened, err := newView(b, source, identity).Open(name)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					readInOrder(b, opened.(io.ReaderAt), int64(len(text)), readers)
				}
				if err := opened.Close(); err != nil {
					b.Error(err)
				}
			})
		}
	}
}

func readInOrder(b *testing.B, file io.ReaderAt, size int64, readers int) {
	const step = 1 << 20
	var next atomic.Int64
	var wait sync.WaitGroup
	for range readers {
		wait.Go(func() {
			p := make([]byte, step)
			for at := next.Add(step) - step; at < size; at = next.Add(step) - step {
				if _, err := file.ReadAt(p[:min(step, size-at)], at); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
}
