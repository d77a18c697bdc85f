package compress_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/compress"
)

// nothing is a reader that never makes progress.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

// stream compresses text in frames of 300,000 bytes.
func stream(t *testing.T, codec compress.Codec, text []byte) []byte {
	t.Helper()
	encoder, trailer := compress.NewEncoder(codec, 1), compress.NewTrailer(codec)
	var out bytes.Buffer
	for rest := text; len(rest) > 0; {
		part := rest[:min(len(rest), 300_000)]
		frame := encoder.AppendFrame(nil, part)
		trailer.Add(int64(len(frame)), int64(len(part)))
		out.Write(frame)
		rest = rest[len(part):]
	}
	if _, err := trailer.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestNoProgress reads from sources that stop making progress.
func TestNoProgress(t *testing.T) {
	text := noise(1_000_000)
	for _, codec := range []compress.Codec{compress.Zstd, compress.Gzip, compress.None} {
		whole := stream(t, codec, text)
		for _, size := range []int{0, 2, 10, 1000, 500_000} {
			var n int64
			r, err := compress.NewReader(io.MultiReader(bytes.NewReader(whole[:size]), nothing{}))
			if err == nil {
				n, err = io.Copy(io.Discard, r)
			}
			if err != io.ErrNoProgress || n > int64(len(text)) {
				t.Errorf("%v after %d bytes: %d bytes of text, %v", codec, size, n, err)
			}
		}
	}
}

// noise returns data that does not compress.
func noise(size int) []byte {
	p, x := make([]byte, size), uint32(1)
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// TestEndWithoutClose reads valid and damaged streams to their end and does not close them.
func TestEndWithoutClose(t *testing.T) {
	defer goleak.VerifyNone(t)
	text := noise(1_000_000)
	for _, codec := range []compress.Codec{compress.Zstd, compress.Gzip, compress.None} {
		whole := stream(t, codec, text)
		for size, want := range map[int]error{len(whole): nil, len(whole) / 2: compress.ErrCorrupt} {
			r, err := compress.NewReader(bytes.NewReader(whole[:size]))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if codec != compress.None && !errors.Is(err, want) || !bytes.HasPrefix(text, got) {
				t.Errorf("%v, %d bytes: %d bytes of text, %v", codec, size, len(got), err)
			}
			if sealed := r.Sealed(); sealed != (codec == compress.Zstd && want == nil) {
				t.Errorf("%v, %d bytes: sealed is %v", codec, size, sealed)
			}
			if _, err := r.Read(make([]byte, 1)); err == nil || want == nil && err != io.EOF {
				t.Errorf("%v, %d bytes: read again: %v", codec, size, err)
			}
		}
	}
	// Large frames have another decoder.
	large := compress.NewEncoder(compress.Zstd, 1).AppendFrame(nil, noise(5<<20))
	r, err := compress.NewReader(bytes.NewReader(large))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); n != 5<<20 || err != nil {
		t.Errorf("large frame: %d bytes, %v", n, err)
	}
}

// byteAt is a source that returns one byte at a time.
type byteAt struct{ io.ReaderAt }

func (b byteAt) ReadAt(p []byte, off int64) (int, error) {
	return b.ReaderAt.ReadAt(p[:min(1, len(p))], off)
}

// emptyAt is a source that never makes progress.
type emptyAt struct{}

func (emptyAt) ReadAt([]byte, int64) (int, error) { return 0, nil }

// TestSeekTableOfShortReads reads a table from sources with short reads.
func TestSeekTableOfShortReads(t *testing.T) {
	whole := stream(t, compress.Zstd, noise(1_000_000))
	table, err := compress.ReadSeekTable(byteAt{bytes.NewReader(whole)}, int64(len(whole)))
	if err != nil || table.Len() != 4 || table.TextSize() != 1_000_000 {
		t.Errorf("%v", err)
	}
	if _, err := compress.ReadSeekTable(emptyAt{}, int64(len(whole))); err != io.ErrNoProgress {
		t.Errorf("of a source that gives nothing: %v", err)
	}
	_, err = compress.ReadSeekTable(bytes.NewReader(whole[:len(whole)-1]), int64(len(whole)))
	if err != io.ErrUnexpectedEOF {
		t.Errorf("of a source that ends before: %v", err)
	}
}

func TestZeroReader(t *testing.T) {
	var r compress.Reader
	if _, err := r.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "zero Reader") {
		t.Errorf("Read: %v", err)
	}
	if _, err := r.WriteTo(io.Discard); err == nil || r.Sealed() {
		t.Errorf("WriteTo: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	var d compress.FrameDecoder
	if _, err := d.Decode(make([]byte, 0, 100), []byte("frame"), 5); err == nil {
		t.Error("a zero FrameDecoder decodes")
	}
}

// lying returns counts larger than the slice.
type lying struct{}

func (lying) Read(p []byte) (int, error)  { return len(p) + 1, nil }
func (lying) Write(p []byte) (int, error) { return len(p) + 1, nil }

func TestImpossibleCounts(t *testing.T) {
	whole := stream(t, compress.None, noise(1_000_000))
	r, err := compress.NewReader(io.MultiReader(bytes.NewReader(whole[:500_000]), lying{}))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); n != 500_000 || err == nil {
		t.Errorf("Read: %d, %v", n, err)
	}
	if r, err = compress.NewReader(bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.WriteTo(lying{}); n != 0 || err == nil {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
}
