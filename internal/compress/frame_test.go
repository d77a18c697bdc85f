package compress

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"culvert/internal/testkit"
)

func TestFrom(t *testing.T) {
	table := new(SeekTable)
	random := rand.New(rand.NewPCG(1, 1))
	for range 3*pageEntries + 5 {
		table.add(random.Int64N(5), random.Int64N(3)) // a third of them without text
	}
	all := slices.Collect(table.All())
	if len(all) != table.Len() {
		t.Fatalf("%d of %d frames", len(all), table.Len())
	}
	for range 500 {
		offset := random.Int64N(table.TextSize())
		i := slices.IndexFunc(all, func(f Frame) bool { return f.TextOffset+f.TextSize > offset })
		got := 0
		for frame := range table.From(offset) {
			for all[i].TextOffset+all[i].TextSize <= offset {
				i++
			}
			if frame != all[i] {
				t.Fatalf("frame %d after offset %d is %v, want %v", got, offset, frame, all[i])
			}
			if i++; got == 10 {
				break
			}
			got++
		}
	}
	for _, offset := range []int64{-1, table.TextSize(), table.TextSize() + 1} {
		for frame := range table.From(offset) {
			t.Fatalf("there is frame %v at offset %d", frame, offset)
		}
	}
	for frame := range new(SeekTable).From(0) {
		t.Fatalf("frame %v in no table", frame)
	}
}

func TestReadSeekTableUpTo(t *testing.T) {
	trailer := NewTrailer(Zstd)
	trailer.Add(0, 0)
	trailer.Add(0, 0)
	file := bytes.NewReader(tableBytes(t, trailer))
	if _, err := ReadSeekTableUpTo(file, file.Size(), 2); err != nil {
		t.Error(err)
	}
	if _, err := ReadSeekTableUpTo(file, file.Size(), 1); !errors.Is(err, ErrNoSeekTable) {
		t.Errorf("two frames where one is allowed: error %v", err)
	}
}

func TestFrameDecoder(t *testing.T) {
	text := bytes.Repeat([]byte("water\n"), 1000)
	size := int64(len(text))
	frame := NewEncoder(Zstd, 1).AppendFrame(nil, text)
	decoder := NewFrameDecoder(0)
	buffer := make([]byte, 0, FrameBuffer(size))
	got, err := decoder.Decode(buffer, frame, size)
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes, error %v, or they differ", len(got), err)
	}
	if &got[0] != &buffer[:1][0] {
		t.Error("the text is not in the buffer")
	}
	if got, err := decoder.Decode(buffer, slices.Concat(frame, frame), 2*size); err == nil {
		t.Errorf("%d bytes go into a buffer of %d", len(got), cap(buffer))
	}
	flipped := bytes.Clone(frame)
	flipped[len(flipped)-1] ^= 1 // of the checksum
	for what, test := range map[string]struct {
		frame []byte
		size  int64
	}{
		"too little text": {frame, size - 1},
		"too much text":   {slices.Concat(frame, frame), size},
		"cut":             {frame[:len(frame)-1], size},
		"flipped":         {flipped, size},
		"nothing":         {nil, size},
	} {
		if got, err := decoder.Decode(buffer, test.frame, test.size); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %d bytes, error %v", what, len(got), err)
		}
	}
	testkit.Allocs(t, 0, func() {
		if _, err := decoder.Decode(buffer, frame, size); err != nil {
			t.Error(err)
		}
	})
}
