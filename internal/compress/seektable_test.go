package compress

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func tableBytes(t *testing.T, trailer *Trailer) []byte {
	t.Helper()
	var out bytes.Buffer
	n, err := trailer.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		t.Fatalf("WriteTo gives %d and %v for %d bytes", n, err, out.Len())
	}
	return out.Bytes()
}

func TestSeekTableBytes(t *testing.T) {
	trailer := NewTrailer(Zstd)
	want := "5e2a4d18" + "09000000" + "00000000" + "00" + "b1ea928f"
	if got := hex.EncodeToString(tableBytes(t, trailer)); got != want {
		t.Errorf("empty table:\n got %s\nwant %s", got, want)
	}
	trailer.Add(0x01020304, 0x05060708)
	trailer.Add(15, 0)
	want = "5e2a4d18" + "19000000" + "04030201" + "08070605" + "0f000000" + "00000000" + "02000000" + "00" + "b1ea928f"
	if got := hex.EncodeToString(tableBytes(t, trailer)); got != want {
		t.Errorf("table of two:\n got %s\nwant %s", got, want)
	}
}

func TestTrailerOfOtherCodecs(t *testing.T) {
	if got := tableBytes(t, NewTrailer(None)); len(got) != 0 {
		t.Errorf("none: %d bytes", len(got))
	}
	trailer := NewTrailer(Gzip)
	trailer.Add(20, 0)
	if got := tableBytes(t, trailer); len(got) != 0 {
		t.Errorf("gzip after a member: %d bytes", len(got))
	}
}

// Streams that a table cannot describe have none.
func TestTrailerWithoutTable(t *testing.T) {
	tests := map[string]func(*Trailer){
		"large frame": func(trailer *Trailer) { trailer.Add(math.MaxUint32+1, 5) },
		"large text":  func(trailer *Trailer) { trailer.Add(5, math.MaxUint32+1) },
		"many frames": func(trailer *Trailer) {
			for range maxFrames {
				trailer.Add(5, 5)
			}
			if got, want := trailer.table.Len(), maxFrames; got != want {
				t.Fatalf("%d frames are listed, want %d", got, want)
			}
		},
	}
	for name, add := range tests {
		trailer := NewTrailer(Zstd)
		add(trailer)
		trailer.Add(1, 1)
		if got := tableBytes(t, trailer); len(got) != 0 {
			t.Errorf("%s: a table of %d bytes", name, len(got))
		}
	}
}

func TestReadSeekTable(t *testing.T) {
	for _, frames := range []int{0, 1, 2, pageEntries - 1, pageEntries, pageEntries + 1, 3*pageEntries + 5} {
		trailer := NewTrailer(Zstd)
		var want []Frame
		var next Frame
		for i := range frames {
			next.Size, next.TextSize = int64(i%7), int64(i)
			want = append(want, next)
			next.Offset += next.Size
			next.TextOffset += next.TextSize
			trailer.Add(next.Size, next.TextSize)
		}
		stream := append(make([]byte, next.Offset), tableBytes(t, trailer)...)
		table, err := ReadSeekTable(bytes.NewReader(stream), int64(len(stream)))
		if err != nil {
			t.Fatalf("%d frames: %v", frames, err)
		}
		if got := slices.Collect(table.All()); !slices.Equal(got, want) || table.Len() != frames {
			t.Errorf("%d frames: %d come back, or others", frames, len(got))
		}
	}
}

func TestReadSeekTableOfOtherStreams(t *testing.T) {
	text := csvText(3000)
	whole := compressed(t, Zstd, text, 1000)
	changed := func(at int, to byte) []byte {
		stream := slices.Clone(whole)
		stream[at] = to
		return stream
	}
	end := len(whole)
	tests := map[string]struct {
		stream []byte
		want   error
	}{
		"nothing":         {nil, ErrNoSeekTable},
		"gzip":            {compressed(t, Gzip, text, 1000), ErrNoSeekTable},
		"text":            {text, ErrNoSeekTable},
		"cut":             {whole[:end-1], ErrNoSeekTable},
		"joined":          {slices.Concat(whole, whole), ErrNoSeekTable},
		"first is cut":    {whole[1:], ErrCorrupt},
		"only the footer": {whole[end-footerSize:], ErrNoSeekTable},
		"footer of two":   {whole[end-2*footerSize:], ErrCorrupt},
		"no magic":        {changed(end-footerSize-3*entrySize-skippableSize, 0), ErrCorrupt},
		"other length":    {changed(end-footerSize-3*entrySize-4, 0), ErrCorrupt},
		"other sizes":     {changed(end-footerSize-entrySize+3, 1), ErrCorrupt},
		"fewer frames":    {changed(end-footerSize, 2), ErrCorrupt},
		"checksum flag":   {changed(end-5, checksumFlag), ErrCorrupt},
		"descriptor":      {changed(end-5, 1<<6), ErrNoSeekTable},
		"too many frames": {changed(end-6, 0xff), ErrNoSeekTable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSeekTable(bytes.NewReader(test.stream), int64(len(test.stream)))
			if !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), "compress: ") {
				t.Errorf("error %v, want one that begins with compress and is: %v", err, test.want)
			}
		})
	}
}

// readerAt is a function that implements io.ReaderAt.
type readerAt func(p []byte, off int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

func TestReadSeekTableFromFailingSource(t *testing.T) {
	stream := compressed(t, Zstd, csvText(3000), 1000)
	failure := errors.New("cable pulled")
	for reads := range 3 {
		src := readerAt(func(p []byte, off int64) (int, error) {
			if reads == 0 {
				return 0, failure
			}
			reads--
			return bytes.NewReader(stream).ReadAt(p, off)
		})
		if _, err := ReadSeekTable(src, int64(len(stream))); err != failure {
			t.Errorf("error %v", err)
		}
	}
	if _, err := ReadSeekTable(bytes.NewReader(stream), int64(len(stream))+1); err != io.ErrUnexpectedEOF {
		t.Errorf("shorter than it is said to be: error %v", err)
	}
	if _, err := NewTrailer(Zstd).WriteTo(writerFunc(func([]byte) (int, error) { return 0, failure })); err != failure {
		t.Errorf("WriteTo: error %v", err)
	}
}

func FuzzReadSeekTable(f *testing.F) {
	text := csvText(400)
	whole := compressed(f, Zstd, text, 100)
	f.Add(whole)
	f.Add(compressed(f, Zstd, nil, 1))
	f.Add(whole[len(whole)-footerSize:])
	f.Fuzz(func(t *testing.T, stream []byte) {
		table, err := ReadSeekTable(bytes.NewReader(stream), int64(len(stream)))
		if err != nil {
			return
		}
		count := 0
		var end int64
		for frame := range table.All() {
			count++
			if frame.Offset != end || frame.Size < 0 || frame.TextSize < 0 {
				t.Fatalf("frame %d lies at %d, not at %d", count, frame.Offset, end)
			}
			end = frame.Offset + frame.Size
		}
		if count != table.Len() || end > int64(len(stream)) {
			t.Errorf("%d of %d frames, to %d of %d bytes", count, table.Len(), end, len(stream))
		}
	})
}
