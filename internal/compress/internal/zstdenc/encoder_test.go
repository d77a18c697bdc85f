package zstdenc_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"culvert/internal/compress/internal/zstdenc"
	"culvert/internal/testkit"
)

// decode returns the text of frames by a decoder that is not ours.
func decode(t testing.TB, frames []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text, err := d.DecodeAll(frames, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func check(t testing.TB, e *zstdenc.Encoder, text []byte) (frame []byte) {
	t.Helper()
	frame = e.AppendFrame(nil, text)
	if got := decode(t, frame); !bytes.Equal(got, text) {
		t.Fatalf("%d bytes become %d other ones", len(text), len(got))
	}
	return frame
}

// rows returns at least size bytes of CSV.
func rows(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("river stone letter garden window copper signal harbour winter market bridge paper")
	var b bytes.Buffer
	for i := 1; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%d,%d,\"%s %s, %x\",", i, r.IntN(1e6), words[r.IntN(len(words))], words[r.IntN(len(words))],
			r.Uint64())
		fmt.Fprintf(&b, "%d.%02d,2024-03-%02d %02d:10:00+00,t,\"{\"\"n\"\": %d}\"\n", r.IntN(1e5), r.IntN(100),
			1+r.IntN(31), r.IntN(24), r.IntN(1000))
	}
	return b.Bytes()
}

// random returns text of a random kind: pieces of noise from alphabets of different sizes, runs, and copies of
// earlier pieces from all distances and with small changes.
func random(r *rand.Rand, size int) []byte {
	text := make([]byte, 0, size)
	alphabet := 1 + r.IntN(256)
	for len(text) < size {
		n := min(1+int(r.ExpFloat64()*float64(int(4)<<r.IntN(16))), size-len(text))
		switch kind := r.IntN(6); {
		case kind == 0:
			text = append(text, bytes.Repeat([]byte{byte(r.IntN(alphabet))}, n)...)
		case kind <= 2 || len(text) == 0:
			for range n {
				text = append(text, byte(r.IntN(alphabet)))
			}
		default:
			from := len(text) - 1 - int(float64(len(text)-1)*r.Float64()*r.Float64())
			for i := range n {
				text = append(text, text[from+i]) // may overlap itself
			}
			if kind == 5 {
				text[len(text)-1-r.IntN(n)]++
			}
		}
	}
	return text
}

func TestSizes(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	text := rows(3 * mib)
	var e zstdenc.Encoder
	for _, around := range []int{
		8, 24, 32, 256, kib, 4 * kib, 64 * kib, 64*kib + 256, 128 * kib, 256 * kib, mib, 2 * mib, 3*mib - 64,
	} {
		for size := max(0, around-9); size <= around+9; size++ {
			check(t, &e, text[:size])
		}
	}
}

func TestRandom(t *testing.T) {
	var e zstdenc.Encoder
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := int(r.ExpFloat64() * float64(int(16)<<r.IntN(14)))
		if text := random(r, size); !bytes.Equal(decode(t, e.AppendFrame(nil, text)), text) {
			t.Fatalf("seed %d, %d bytes: the frame has another text", seed, len(text))
		}
	}
}

// TestLargeFrames has matches at distances around the window, and more text than it.
func TestLargeFrames(t *testing.T) {
	var e zstdenc.Encoder
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		piece := random(r, 300+r.IntN(100_000))
		var text []byte
		for _, distance := range []int{1<<20 - 2, 1<<20 - 1, 1 << 20, 1<<20 + 1, 1 << 21} {
			text = append(text, piece...)
			for range (distance - len(piece)) / 8 {
				text = binary.LittleEndian.AppendUint64(text, r.Uint64())
			}
			text = append(text, make([]byte, (distance-len(piece))%8)...)
		}
		check(t, &e, append(text, piece...))
	}
}

// TestLengths has literals and matches of all orders of length, so that each symbol of their codes occurs.
func TestLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	var e zstdenc.Encoder
	for range 5 {
		var text []byte
		for len(text) < 2<<20 {
			literals, match := r.IntN(2<<r.IntN(17)), 4+r.IntN(2<<r.IntN(17))
			from := r.IntN(len(noise) - literals)
			text = append(text, noise[from:from+literals]...)
			if from := len(text) - match; from >= 0 {
				text = append(text, text[from:from+match]...)
			}
		}
		check(t, &e, text)
	}
}

// TestProgram has the zstd program decode frames of all kinds.
func TestProgram(t *testing.T) {
	var e zstdenc.Encoder
	var frames, texts []byte
	add := func(text []byte) {
		frames, texts = e.AppendFrame(frames, text), append(texts, text...)
	}
	csv := rows(3 << 20)
	for _, size := range []int{0, 1, 31, 1000, 5000, 128 << 10, 200_000, 1 << 20, 1<<20 + 1, len(csv)} {
		add(csv[:size])
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		add(random(r, int(r.ExpFloat64()*float64(int(16)<<r.IntN(14)))))
	}
	checkProgram(t, frames, texts)
}

// checkProgram has the zstd program decode frames.
func checkProgram(t *testing.T, frames, text []byte) {
	t.Helper()
	program, err := exec.LookPath("zstd")
	if err != nil {
		testkit.Missing(t, "the program zstd", "apt-get install zstd")
	}
	cmd := exec.Command(program, "-dc")
	cmd.Stdin = bytes.NewReader(frames)
	if got, err := cmd.Output(); err != nil || !bytes.Equal(got, text) {
		t.Errorf("zstd decodes %d bytes, or other ones, of %d: %v", len(got), len(text), err)
	}
}

// TestRatio compares the size of a table's frame with the sizes that the usual encoder achieves.
func TestRatio(t *testing.T) {
	text := rows(1 << 20)
	for level, times := range map[zstd.EncoderLevel]float64{zstd.SpeedFastest: 1, zstd.SpeedDefault: 1.05} {
		peer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		got, theirs := len(check(t, new(zstdenc.Encoder), text)), len(peer.EncodeAll(text, nil))
		if float64(got) > times*float64(theirs) {
			t.Errorf("%d bytes are %d, and %d at the level %v", len(text), got, theirs, level)
		}
	}
}

func TestIncompressible(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	var text []byte
	for range 3 << 17 {
		text = binary.LittleEndian.AppendUint64(text, r.Uint64())
	}
	if frame := check(t, new(zstdenc.Encoder), text); len(frame) > len(text)+100 {
		t.Errorf("%d bytes become %d", len(text), len(frame))
	}
}

// TestFramesAreIndependent encodes texts after different ones.
func TestFramesAreIndependent(t *testing.T) {
	var e zstdenc.Encoder
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 6))
		text := random(r, r.IntN(300_000))
		if !bytes.Equal(e.AppendFrame(nil, text), new(zstdenc.Encoder).AppendFrame(nil, text)) {
			t.Errorf("seed %d: the frame depends on earlier texts", seed)
		}
	}
}

func TestAllocations(t *testing.T) {
	var e zstdenc.Encoder
	text := rows(300_000)
	dst := e.AppendFrame(make([]byte, 0, 2*len(text)), text)
	testkit.Allocs(t, 0, func() { dst = e.AppendFrame(dst[:0], text) })
}

// TestManySequences has a block with so many sequences that their number takes the format's longest form.
func TestManySequences(t *testing.T) {
	const block = 128 << 10
	r := rand.New(rand.NewPCG(1, 7))
	text := make([]byte, block, 2*block)
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	extend := func(n, distance int) { text = append(text, text[len(text)-distance:][:n]...) }
	distances := [2]int{block - 64, block - 128}
	for _, distance := range distances {
		extend(16, distance)
	}
	for i := 0; len(text) < cap(text); i++ {
		this, other := distances[i%2], distances[1-i%2]
		for n := 0; len(text) < cap(text) && (n < 4 || text[len(text)-this] == text[len(text)-other]); n++ {
			extend(1, this)
		}
	}
	frame := check(t, new(zstdenc.Encoder), text)
	const (
		header  = 4 + 1 + 4 // magic number, descriptor, size
		stored  = 3 + block // the first block
		longest = 255       // marks the longest form
	)
	second := frame[header+stored+3:]
	literals := int(second[0] >> 3) // few enough for a header of one byte
	if second[0]&7 != 0 || second[1+literals] != longest {
		t.Errorf("the second block begins with % x", second[:32])
	}
	checkProgram(t, frame, text)
}

// FuzzAppendFrame makes texts of up to five blocks of the pieces of a text.
func FuzzAppendFrame(f *testing.F) {
	f.Add([]byte(nil), uint64(0), uint32(0))
	f.Add([]byte("a"), uint64(1), uint32(600_000))
	f.Add(rows(2000), uint64(2), uint32(2000))
	f.Add(rows(500), uint64(3), uint32(300_000))
	f.Add(random(rand.New(rand.NewPCG(1, 8)), 5000), uint64(4), uint32(400_000))
	_, err := exec.LookPath("zstd")
	var e zstdenc.Encoder
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, size uint32) {
		frame := check(t, &e, mixed(text, seed, int(size)))
		if err == nil {
			checkProgram(t, frame, mixed(text, seed, int(size)))
		}
	})
}

// mixed returns text, extended to a size of up to five blocks with pieces of itself and noise.
func mixed(text []byte, seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 9))
	text = slices.Clone(text)
	for size %= 5*128<<10 + 1; len(text) < size; {
		n := min(1+r.IntN(2<<r.IntN(15)), size-len(text))
		if len(text) == 0 || r.IntN(8) == 0 {
			text = append(text, random(r, n)...)
			continue
		}
		from := r.IntN(len(text))
		text = append(text, text[from:min(from+n, len(text))]...)
	}
	return text
}
