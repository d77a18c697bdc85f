package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"culvert/internal/testkit"
)

// skippable returns a skippable frame.
func skippable(magic uint32, content []byte) []byte {
	frame := binary.LittleEndian.AppendUint32(nil, magic)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(content)))
	return append(frame, content...)
}

func TestReaderReadsWhatProgramsMake(t *testing.T) {
	text := csvText(9 << 19)
	half, end := len(text)/2, len(text)-9
	zstdOf := func(text []byte, args ...string) []byte { return tool(t, text, "zstd", append(args, "-c")...) }
	gzipOf := func(text []byte, args ...string) []byte { return tool(t, text, "gzip", append(args, "-c")...) }
	file := filepath.Join(t.TempDir(), "named.csv")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		codec  Codec
		stream []byte
	}{
		"zstd -1":           {Zstd, zstdOf(text, "-1")},
		"zstd -7 --long":    {Zstd, zstdOf(text, "-7", "--long=27")},
		"zstd of a file":    {Zstd, tool(t, nil, "zstd", "-c", file)},
		"zstd --no-check":   {Zstd, zstdOf(text, "--no-check")},
		"zstd -T2":          {Zstd, zstdOf(text, "-T2", "-B1048576")},
		"zstd of nothing":   {Zstd, slices.Concat(zstdOf(nil), zstdOf(text), zstdOf(nil))},
		"zstd joined":       {Zstd, slices.Concat(zstdOf(text[:half]), zstdOf(text[half:]))},
		"zstd small, large": {Zstd, slices.Concat(zstdOf(text[:9]), zstdOf(text[9:end]), zstdOf(text[end:]))},
		"skippable first":   {Zstd, slices.Concat(skippable(0x184D2A50, []byte("note")), zstdOf(text))},
		"skippable between": {
			Zstd,
			slices.Concat(zstdOf(text[:half]), skippable(skippableMagic, make([]byte, 1<<20)), zstdOf(text[half:])),
		},
		"ours joined": {
			Zstd,
			slices.Concat(compressed(t, Zstd, text[:half], 1<<20), compressed(t, Zstd, text[half:], 1<<20)),
		},
		"ours, then zstd": {Zstd, slices.Concat(compressed(t, Zstd, text[:half], 1<<20), zstdOf(text[half:]))},
		"gzip -1":         {Gzip, gzipOf(text, "-1")},
		"gzip -9":         {Gzip, gzipOf(text, "-9")},
		"gzip of a file":  {Gzip, tool(t, nil, "gzip", "-c", file)},
		"gzip joined":     {Gzip, slices.Concat(gzipOf(text[:half]), gzipOf(nil), gzipOf(text[half:]))},
		"plain":           {None, text},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, codec, sealed := decompressed(t, test.stream)
			if !bytes.Equal(got, text) {
				t.Errorf("%d bytes, not the text of %d", len(got), len(text))
			}
			if codec != test.codec {
				t.Errorf("codec %v, want %v", codec, test.codec)
			}
			if want := name == "ours joined"; sealed != want {
				t.Errorf("Sealed is %v, want %v", sealed, want)
			}
		})
	}
}

func TestReaderOfPlainBytes(t *testing.T) {
	for _, text := range []string{
		"", "i", "id", "id,", "id,title\n", "(", "P*", "P*M", "\x1f", "\xb5\x2f\xfd\x28", "\x00\x00\x00\x00",
	} {
		got, codec, sealed := decompressed(t, []byte(text))
		if string(got) != text || codec != None || sealed {
			t.Errorf("%q: got %q, %v, sealed %v", text, got, codec, sealed)
		}
	}
}

func TestReaderKeepsTheRulesOfReaders(t *testing.T) {
	text := csvText(100_000)
	for _, codec := range []Codec{Zstd, Gzip, None} {
		stream := compressed(t, codec, text, 30_000)
		for _, size := range []int{1, 100, len(stream) / 2} {
			src := map[string]io.Reader{
				"whole":      bytes.NewReader(stream),
				"one byte":   iotest.OneByteReader(bytes.NewReader(stream)),
				"half":       iotest.HalfReader(bytes.NewReader(stream)),
				"with EOF":   iotest.DataErrReader(bytes.NewReader(stream)),
				"in pieces":  io.MultiReader(bytes.NewReader(stream[:size]), bytes.NewReader(stream[size:])),
				"just bytes": bytes.NewBuffer(slices.Clone(stream)),
			}
			for name, src := range src {
				r, err := NewReader(src)
				if err != nil {
					t.Fatal(err)
				}
				if err := iotest.TestReader(r, text); err != nil {
					t.Errorf("%v, source %s: %v", codec, name, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// readDamaged reads a stream that may be damaged. It checks that Read returns a prefix of the text and that errors are
// sticky.
func readDamaged(t *testing.T, stream, text []byte) (got []byte, sealed bool, err error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err = io.ReadAll(r)
	if r.Codec() == Zstd && !bytes.HasPrefix(text, got) {
		t.Fatalf("gives text that is not there: %d bytes", len(got))
	}
	if again, errAgain := r.Read(make([]byte, 1)); again != 0 || (err != nil && errAgain != err) {
		t.Fatalf("after %v, the next Read gives %d bytes and %v", err, again, errAgain)
	}
	return got, r.Sealed(), err
}

func TestReaderOfCutStream(t *testing.T) {
	text := csvText(1500)
	for _, codec := range []Codec{Zstd, Gzip} {
		// A stream that is cut between frames is valid: the length of the text at each border.
		borders := map[int]int{0: 0}
		encoder := NewEncoder(codec, 1)
		var frames []byte
		for end := 500; end <= len(text); end += 500 {
			frames = encoder.AppendFrame(frames, text[end-500:end])
			borders[len(frames)] = end
		}
		stream := compressed(t, codec, text, 500)
		for length := range len(stream) {
			got, sealed, err := readDamaged(t, stream[:length], text)
			if sealed {
				t.Errorf("%v cut at %d: Sealed is true", codec, length)
			}
			if end, border := borders[length]; border {
				if err != nil || len(got) != end {
					t.Errorf("%v cut at %d: %d bytes and %v, want %d bytes", codec, length, len(got), err, end)
				}
				continue
			}
			if length == 1 {
				continue // one byte is not known as either codec
			}
			if !errors.Is(err, ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v cut at %d: %v, want ErrCorrupt and io.ErrUnexpectedEOF", codec, length, err)
			}
		}
	}
}

func TestReaderOfFlippedStream(t *testing.T) {
	text := csvText(160)
	for _, codec := range []Codec{Zstd, Gzip} {
		stream := compressed(t, codec, text, 80)
		for i := range stream {
			for bit := range 8 {
				damaged := slices.Clone(stream)
				damaged[i] ^= 1 << bit
				got, _, err := readDamaged(t, damaged, text)
				switch {
				case err == nil && i > 3 && !bytes.Equal(got, text):
					t.Errorf("%v, byte %d, bit %d: text is lost without an error", codec, i, bit)
				case err != nil && !errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "the stream needs"):
					t.Errorf("%v, byte %d, bit %d: %v, want ErrCorrupt", codec, i, bit, err)
				}
			}
		}
	}
}

func TestReaderMissesFrames(t *testing.T) {
	encoder, trailer := NewEncoder(Zstd, 1), NewTrailer(Zstd)
	var frames [4][]byte
	for i := range frames {
		frames[i] = encoder.AppendFrame(nil, csvText(1000*(i+1)))
		trailer.Add(int64(len(frames[i])), 1000*int64(i+1))
	}
	last := tableBytes(t, trailer)
	tests := map[string][]byte{
		"first is missing":  slices.Concat(frames[1], frames[2], frames[3], last),
		"middle is missing": slices.Concat(frames[0], frames[2], frames[3], last),
		"last is missing":   slices.Concat(frames[0], frames[1], frames[2], last),
		"one twice":         slices.Concat(frames[0], frames[1], frames[1], frames[2], frames[3], last),
		"in other order":    slices.Concat(frames[1], frames[0], frames[2], frames[3], last),
		"all are missing":   last,
		"one too many":      slices.Concat(slices.Concat(frames[:]...), skippable(0x184D2A50, nil), last),
		"another's table":   slices.Concat(frames[0], frames[1], compressed(t, Zstd, nil, 1)),
	}
	for name, stream := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := io.Copy(io.Discard, r); !errors.Is(err, ErrCorrupt) || !errors.Is(err, errTable) {
				t.Errorf("error %v, want that of the table", err)
			}
			if r.Sealed() {
				t.Error("Sealed is true")
			}
		})
	}
}

func TestReaderTakesTablesWithChecksums(t *testing.T) {
	text := csvText(2000)
	encoder := NewEncoder(Zstd, 1)
	var stream, entries []byte
	for i := range 2 {
		piece := text[i*1000 : i*1000+1000]
		frame := encoder.AppendFrame(nil, piece)
		stream = append(stream, frame...)
		entries = appendEntry(entries, int64(len(frame)), int64(len(piece)))
		entries = append(entries, frame[len(frame)-checksumSize:]...)
	}
	foot := binary.LittleEndian.AppendUint32(nil, 2)
	foot = append(foot, checksumFlag)
	foot = binary.LittleEndian.AppendUint32(foot, seekableMagic)
	stream = append(stream, skippable(skippableMagic, slices.Concat(entries, foot))...)

	if got, _, sealed := decompressed(t, stream); !bytes.Equal(got, text) || !sealed {
		t.Errorf("%d bytes, sealed %v", len(got), sealed)
	}
	table, err := ReadSeekTable(bytes.NewReader(stream), int64(len(stream)))
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() != 2 || table.TextSize() != 2000 {
		t.Errorf("%d frames of %d bytes", table.Len(), table.TextSize())
	}
}

func TestReaderPassesOnErrorsOfTheSource(t *testing.T) {
	text := csvText(5 << 20)
	failure := errors.New("cable pulled")
	streams := map[string][]byte{
		"zstd":       compressed(t, Zstd, text, 1<<20),
		"zstd large": compressed(t, Zstd, text, len(text)),
		"gzip":       compressed(t, Gzip, text, 1<<20),
		"none":       text,
	}
	for name, stream := range streams {
		for _, length := range []int{0, 2, 5, len(stream) / 2, len(stream)} {
			src := io.MultiReader(bytes.NewReader(stream[:length]), iotest.ErrReader(failure))
			r, err := NewReader(src)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				if r.Sealed() {
					t.Error("Sealed is true")
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if err != failure {
				t.Errorf("%s, failure at %d: %v", name, length, err)
			}
		}
	}
}

func TestReaderRefusesWhatItCannotHold(t *testing.T) {
	dictionary := filepath.Join(t.TempDir(), "dictionary")
	if err := os.WriteFile(dictionary, csvText(10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	header := func(h zstd.Header) []byte {
		frame, err := h.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		return append(frame, 1, 0, 0) // the last block, empty
	}
	tests := map[string][]byte{
		"dictionary": header(zstd.Header{WindowSize: 1024, DictionaryID: 7}),
		"window":     header(zstd.Header{WindowSize: 256 << 20}),
		"segment":    header(zstd.Header{SingleSegment: true, FrameContentSize: 1 << 40, HasFCS: true}),
	}
	for name, stream := range tests {
		r, err := NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, err = io.Copy(io.Discard, r)
		if err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "the stream needs") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReaderIsClosedInTheMiddle(t *testing.T) {
	text := csvText(5 << 20)
	for _, stream := range [][]byte{
		compressed(t, Zstd, text, 1<<20),
		compressed(t, Zstd, text, len(text)),
		compressed(t, Gzip, text, 1<<20),
		text,
	} {
		r, err := NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if n, err := r.Read(make([]byte, 10)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("after Close: %d bytes, %v", n, err)
		}
	}
}

func TestReaderStopsWhenTheWriterFails(t *testing.T) {
	stream := compressed(t, Zstd, csvText(3<<20), 1<<20)
	r, err := NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	full := errors.New("disk full")
	if _, err := r.WriteTo(writerFunc(func(p []byte) (int, error) { return 1, full })); err != full {
		t.Errorf("error %v", err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A few KiB can hold any amount of text.
func TestReaderMemoryOfBombs(t *testing.T) {
	frame, err := (&zstd.Header{WindowSize: 1 << 20}).AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	blocks := testkit.Fewer(2560)
	text := int64(blocks) * maxBlockSize
	for i := range blocks {
		h := uint32(maxBlockSize<<3 | 1<<1)
		if i == blocks-1 {
			h |= 1
		}
		frame = append(frame, byte(h), byte(h>>8), byte(h>>16), 'x')
	}
	small, err := (&zstd.Header{WindowSize: 1 << 20}).AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 32 {
		h := uint32(maxBlockSize<<3 | 1<<1)
		if i == 31 {
			h |= 1
		}
		small = append(small, byte(h), byte(h>>8), byte(h>>16), 'x')
	}
	for name, stream := range map[string][]byte{"large": frame, "small": bytes.Repeat(small, blocks/32)} {
		testkit.MemoryCeiling(t, 200<<20, func() {
			r, err := NewReader(bytes.NewReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if n, err := io.Copy(io.Discard, r); n != text || err != nil {
				t.Errorf("%s: %d bytes, %v", name, n, err)
			}
		})
	}
}

func TestReaderOfSmallTextUsesMemoryAgain(t *testing.T) {
	stream := compressed(t, Zstd, csvText(5_000), 1<<20)
	testkit.AllocatedBytes(t, 64<<10, func() { decompressed(t, stream) })
}

func FuzzReader(f *testing.F) {
	text := csvText(400)
	f.Add([]byte{})
	for _, codec := range []Codec{Zstd, Gzip, None} {
		f.Add(compressed(f, codec, text, 100))
		f.Add(compressed(f, codec, nil, 1))
	}
	f.Add(slices.Concat(skippable(0x184D2A50, []byte("note")), compressed(f, Zstd, text, 1000)))
	f.Add(slices.Concat(compressed(f, Zstd, text, 50), skippable(skippableMagic, text)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 16 << 20
		r, err := NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err) // the source does not fail
		}
		defer r.Close()
		got, err := io.ReadAll(io.LimitReader(r, limit))
		if r.Codec() != Zstd || len(got) == limit {
			return
		}
		if err != nil && !errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "the stream needs") {
			t.Errorf("error %v", err)
		}
		peer, peerErr := zstd.NewReader(bytes.NewReader(stream),
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if peerErr != nil {
			t.Fatal(peerErr)
		}
		defer peer.Close()
		want, peerErr := io.ReadAll(io.LimitReader(peer, limit))
		switch {
		case err == nil && (peerErr != nil || !bytes.Equal(got, want)):
			t.Errorf("%d bytes, but the serial decoder gives %d and %v", len(got), len(want), peerErr)
		case err != nil && !bytes.HasPrefix(want, got):
			t.Errorf("%d bytes before %v are not those of the serial decoder", len(got), err)
		}
	})
}

func ExampleNewReader() {
	r, err := NewReader(strings.NewReader("id,title\n1,water\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	fmt.Printf("%v %q %v\n", r.Codec(), text, err)
	// Output: none "id,title\n1,water\n" <nil>
}
