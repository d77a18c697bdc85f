package bucket_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// cuts returns offsets of the file large at which it is cut. In a long test they are those and each MiB.
func cuts(offsets ...int64) []int64 {
	switch {
	case testkit.RaceDetector(): // one cut is like another for it
		return offsets[:2]
	case testkit.Soak():
		for at := int64(0); at < int64(len(large)); at += 1 << 20 {
			offsets = append(offsets, at, at+1)
		}
	}
	slices.Sort(offsets)
	return slices.Compact(offsets) // TestCutPart writes a file for each
}

// TestCutRange cuts an answer before its first byte, after so few bytes that they are no progress, and after more. The
// ranges begin at 0, 1 and 9 MiB.
func TestCutRange(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		mustWrite(t, direct, "file", large)
		f, err := through.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range cuts(0, 1, 1<<20, 1<<20+1000, 5<<20, 9<<20, int64(len(large))-1) {
			p.Set(cutAt(at))
			wantContent(t, through, "file", large)
			p.Set(cutAt(at))
			got := make([]byte, 3<<20)
			off := max(0, at-1<<20)
			n, err := f.(io.ReaderAt).ReadAt(got, off)
			if err != nil && err != io.EOF || !bytes.Equal(got[:n], large[off:off+int64(n)]) {
				t.Errorf("cut at %d: %d, %v", at, n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// cutAt cuts the first answer that has a byte at that byte.
func cutAt(at int64) func(*http.Request) *stores.Fault {
	done := false
	return func(r *http.Request) *stores.Fault {
		var first, last int64
		_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
		if done || err != nil || at < first || last < at {
			return nil
		}
		done = true
		if at == first {
			return &stores.Fault{CutResponse: -1}
		}
		return &stores.Fault{CutResponse: at - first}
	}
}

// TestCutList cuts a listing.
func TestCutList(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		rush(p, through)
		mustWrite(t, direct, "dir/file", nil)
		for _, cut := range []int64{-1, 100, 300} {
			p.Set(stores.Once(stores.List.Of, stores.Fault{CutResponse: cut}))
			if entries, err := fs.ReadDir(through, "dir"); err != nil || len(entries) != 1 {
				t.Errorf("cut after %d: %v, %v", cut, entries, err)
			}
			p.Set(stores.Always(stores.List.Of, stores.Fault{CutResponse: cut}))
			_, err := fs.ReadDir(through, "dir")
			wantError(t, err, place.ErrUnreachable, "dir")
		}
	})
}

// TestCutPart cuts a part after its first byte, and after more. The parts begin at 0, 5 and 10 MiB.
func TestCutPart(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		for _, at := range cuts(1, 3<<20, 5<<20+1, 9<<20, 10<<20+1, int64(len(large))-1) {
			if at%small.PartSize == 0 {
				continue // nothing was sent of the part
			}
			name := fmt.Sprint("file", at)
			number := fmt.Sprint(at/small.PartSize + 1)
			cuts := stores.Once(func(r *http.Request) bool {
				return stores.Part.Of(r) && r.URL.Query().Get("partNumber") == number
			}, stores.Fault{CutRequest: at % small.PartSize})
			cut := false
			p.Set(func(r *http.Request) *stores.Fault {
				f := cuts(r)
				cut = cut || f != nil
				return f
			})
			mustWrite(t, through, name, large)
			wantContent(t, direct, name, large)
			if !cut {
				t.Errorf("nothing was cut at %d", at)
			}
		}
	})
}
