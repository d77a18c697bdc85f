package compress

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// csvText returns size bytes of CSV, which repeat after 3 MiB.
func csvText(size int) []byte {
	base := csvBase()
	return bytes.Repeat(base, size/len(base)+1)[:size]
}

var csvBase = sync.OnceValue(func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("customer asked for a refund of order shipping delay please check the address Müller")
	var b bytes.Buffer
	for i := 0; b.Len() < 3<<20; i++ {
		fmt.Fprintf(&b, "%d,%d,%s %s,%d.%02d,t,%x\n", i, r.IntN(1e5), words[r.IntN(len(words))],
			words[r.IntN(len(words))], r.IntN(1e4), r.IntN(100), r.Uint32())
	}
	return b.Bytes()
})

// compressed returns a whole stream with frames of the given size.
func compressed(tb testing.TB, codec Codec, text []byte, frame int) []byte {
	tb.Helper()
	var out bytes.Buffer
	encoder, trailer := NewEncoder(codec, 1), NewTrailer(codec)
	for len(text) > 0 {
		piece := text[:min(frame, len(text))]
		text = text[len(piece):]
		start := out.Len()
		out.Write(encoder.AppendFrame(nil, piece))
		trailer.Add(int64(out.Len()-start), int64(len(piece)))
	}
	if _, err := trailer.WriteTo(&out); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// decompressed returns the text of a stream.
func decompressed(tb testing.TB, stream []byte) (text []byte, codec Codec, sealed bool) {
	tb.Helper()
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	text, err = io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return text, r.Codec(), r.Sealed()
}

// tool runs a program with the given standard input.
func tool(t *testing.T, in []byte, name string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		testkit.Missing(t, "the program "+name, "apt-get install zstd gzip")
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = bytes.NewReader(in)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, complaint.Bytes())
	}
	return out.Bytes()
}

// unpack is the program that decompresses a codec.
func unpack(t *testing.T, codec Codec, stream []byte) []byte {
	t.Helper()
	switch codec {
	case Zstd:
		return tool(t, stream, "zstd", "-dc")
	case Gzip:
		return tool(t, stream, "gzip", "-dc")
	default:
		return stream
	}
}

func TestStream(t *testing.T) {
	const mib = 1 << 20
	sizes := []struct{ text, frame int }{
		{0, mib},
		{1, mib},
		{255, mib},
		{256, mib},
		{1024, mib},
		{1025, mib},
		{mib, mib},
		{mib + 1, mib},
		{1000, 1},
		{300_000, 1000},
		{3*mib + 17, mib},
		{5 * mib, 5 * mib},
	}
	for _, codec := range []Codec{Zstd, Gzip, None} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/text=%d/frame=%d", codec, size.text, size.frame), func(t *testing.T) {
				text := csvText(size.text)
				stream := compressed(t, codec, text, size.frame)
				if got := unpack(t, codec, stream); !bytes.Equal(got, text) {
					t.Errorf("the stock program gives %d bytes, not the text of %d", len(got), len(text))
				}
				got, gotCodec, sealed := decompressed(t, stream)
				if !bytes.Equal(got, text) {
					t.Errorf("Reader gives %d bytes, not the text of %d", len(got), len(text))
				}
				if gotCodec != codec {
					t.Errorf("Reader says %v", gotCodec)
				}
				if sealed != (codec == Zstd) {
					t.Errorf("Sealed is %v", sealed)
				}
			})
		}
	}
}

// A huge row is one frame.
func TestHugeFrame(t *testing.T) {
	text := bytes.Repeat(csvText(1000), 64<<20/1000)
	stream := compressed(t, Zstd, text, len(text))
	if got := unpack(t, Zstd, stream); !bytes.Equal(got, text) {
		t.Errorf("zstd gives %d bytes, not the text of %d", len(got), len(text))
	}
	got, _, sealed := decompressed(t, stream)
	if !bytes.Equal(got, text) || !sealed {
		t.Errorf("Reader gives %d bytes, not the text of %d, or is not sealed", len(got), len(text))
	}
}

func TestRandomBytesStayNearTheirSize(t *testing.T) {
	text := make([]byte, 3<<20)
	if _, err := rand.NewChaCha8([32]byte{}).Read(text); err != nil {
		t.Fatal(err)
	}
	for _, codec := range []Codec{Zstd, Gzip} {
		stream := compressed(t, codec, text, 1<<20)
		if limit := len(text) + len(text)/500; len(stream) > limit {
			t.Errorf("%v: %d bytes, want at most %d", codec, len(stream), limit)
		}
		if got := unpack(t, codec, stream); !bytes.Equal(got, text) {
			t.Errorf("%v: the stock program gives something else", codec)
		}
		if got, _, _ := decompressed(t, stream); !bytes.Equal(got, text) {
			t.Errorf("%v: Reader gives something else", codec)
		}
	}
}

func TestAppendFrameKeepsWhatIsThere(t *testing.T) {
	for _, codec := range []Codec{Zstd, Gzip, None} {
		e := NewEncoder(codec, 1)
		text := csvText(10_000)
		out := e.AppendFrame([]byte("head"), text)
		rest, found := bytes.CutPrefix(out, []byte("head"))
		if !found {
			t.Fatalf("%v: the beginning of dst was changed", codec)
		}
		if got, _, _ := decompressed(t, rest); !bytes.Equal(got, text) {
			t.Errorf("%v: not the text", codec)
		}
		if !bytes.Equal(text, csvText(10_000)) {
			t.Errorf("%v: the text was changed", codec)
		}
	}
}

func TestEncoderIsSafeForConcurrentUse(t *testing.T) {
	for _, codec := range []Codec{Zstd, Gzip, None} {
		e := NewEncoder(codec, 2)
		texts, frames := make([][]byte, 8), make([][]byte, 8)
		var wg sync.WaitGroup
		for i := range texts {
			texts[i] = csvText(100_000 + i)
			wg.Go(func() {
				for range 5 {
					frames[i] = e.AppendFrame(frames[i][:0], texts[i])
				}
			})
		}
		wg.Wait()
		for i := range texts {
			if got, _, _ := decompressed(t, frames[i]); !bytes.Equal(got, texts[i]) {
				t.Errorf("%v: frame %d has another text", codec, i)
			}
		}
	}
}

func TestSameTextMakesSameFrame(t *testing.T) {
	for _, codec := range []Codec{Zstd, Gzip} {
		e := NewEncoder(codec, 1)
		text := csvText(500_000)
		first := e.AppendFrame(nil, text)
		e.AppendFrame(nil, csvText(70_000))
		if !bytes.Equal(first, e.AppendFrame(nil, text)) {
			t.Errorf("%v: the frame depends on what was encoded before", codec)
		}
	}
}

func TestAppendFrameAllocatesNothing(t *testing.T) {
	text := csvText(300_000)
	for _, codec := range []Codec{Zstd, Gzip, None} {
		e := NewEncoder(codec, 1)
		dst := e.AppendFrame(nil, text)
		testkit.Allocs(t, 0, func() { dst = e.AppendFrame(dst[:0], text) })
	}
}

func TestTrailerAllocatesNothing(t *testing.T) {
	trailer := NewTrailer(Zstd)
	trailer.Add(1, 1)
	testkit.Allocs(t, 0, func() { trailer.Add(250_000, 1<<20) })
}

func BenchmarkAppendFrame(b *testing.B) {
	text := csvText(1 << 20)
	for _, codec := range []Codec{Zstd, Gzip} {
		b.Run("codec="+codec.String(), func(b *testing.B) {
			e := NewEncoder(codec, 1)
			dst := e.AppendFrame(nil, text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = e.AppendFrame(dst[:0], text)
			}
			b.ReportMetric(float64(len(text))/float64(len(dst)), "ratio")
		})
	}
}

func BenchmarkReader(b *testing.B) {
	text := csvText(32 << 20)
	for _, codec := range []Codec{Zstd, Gzip} {
		b.Run("codec="+codec.String(), func(b *testing.B) {
			stream := compressed(b, codec, text, 1<<20)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(stream))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, r); err != nil {
					b.Fatal(err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
