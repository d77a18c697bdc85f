package fileservice_test

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"

	"culvert/fileservice"
	"culvert/internal/testkit"
)

// sanityBuffer is the input of the reference implementation's self-test.
func sanityBuffer(size int) []byte {
	p := make([]byte, size)
	generator := uint64(2654435761)
	for i := range p {
		p[i] = byte(generator >> 56)
		generator *= 11400714785074694797
	}
	return p
}

// TestKnownSums has results of XXH3_128bits_withSeed from the self-test of github.com/Cyan4973/xxHash 0.8: one for each
// way in which the algorithm treats a length.
func TestKnownSums(t *testing.T) {
	const seed = 2654435761
	for _, known := range []struct {
		size   int
		number int64
		sum    string
	}{
		{0, 0, "99aa06d3014798d86001c324468d497f"},
		{0, seed, "92220ae55e14ab505444f7869c671ab0"},
		{1, 0, "a6cd5e9392000f6ac44bdff4074eecdb"},
		{1, seed, "89b99554ba22467cb53d5557e7f76f8d"},
		{6, 0, "082afe0b8162d12a3e7039bdda43cfc6"},
		{6, seed, "5a865b5389abd2b1269d8f70be98856e"},
		{12, 0, "6e3efd8fc7802b18061a192713f69ad9"},
		{24, seed, "3162026714a6a243d7304c54ebad40a9"},
		{48, 0, "a002ac4e5478227ef942219aed80f67b"},
		{81, seed, "2724ec7adc750fb6703fbb3d7a5f755c"},
		{222, 0, "337e09641b948717f1aebd597cec6b3a"},
		{403, 0, "1b6de21e332dd73dcdeb804d65c6dea4"},
		{512, 0, "18d2d110dcc9bca1617e49599013cb6b"},
		{2048, 0, "f736557fd47073a5dd59e2c3a5f038e0"},
		{2048, seed, "7fb03f7e7186c3ea230d43f30206260b"},
		{2240, seed, "50a1fe17b338995fed385111126fba6f"},
		{2367, 0, "e89c0f6ff369b427cb37aeb9e5d361ed"},
		{2367, seed, "d23aae4b76c31ecb6f5360ae69c2f406"},
	} {
		block := sanityBuffer(known.size)
		if got := fileservice.SumBlock(block, known.number).String(); got != known.sum {
			t.Errorf("%d bytes as block %d: %s", known.size, known.number, got)
		}
		var parts fileservice.BlockSum
		parts.Reset(known.number)
		for part := range slices.Chunk(block, 100) {
			parts.Write(part)
		}
		if got := parts.Sum().String(); got != known.sum {
			t.Errorf("%d bytes as block %d in parts: %s", known.size, known.number, got)
		}
	}
}

// TestBlockSum uses one BlockSum for blocks of several numbers and lengths, in parts of several lengths.
func TestBlockSum(t *testing.T) {
	random := rand.New(rand.NewChaCha8([32]byte{}))
	block := make([]byte, fileservice.BlockSize)
	_, _ = rand.NewChaCha8([32]byte{}).Read(block)
	var parts fileservice.BlockSum
	for i := range 100 {
		number := int64(i % 3)
		p := block[random.IntN(64):]
		p = p[:random.IntN(len(p)>>random.IntN(20))]
		parts.Reset(number)
		for rest := p; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			parts.Write(rest[:n])
			rest = rest[n:]
		}
		if parts.Sum() != fileservice.SumBlock(p, number) {
			t.Errorf("%d bytes as block %d: another sum", len(p), number)
		}
	}
}

// TestSumOfBlockHasItsNumber reports that a block in another place has another sum.
func TestSumOfBlockHasItsNumber(t *testing.T) {
	for _, size := range []int{0, 1, 5, 12, 100, 200, 1000, fileservice.BlockSize} {
		block := make([]byte, size)
		if fileservice.SumBlock(block, 1) == fileservice.SumBlock(block, 2) {
			t.Errorf("%d bytes: the sum does not depend on the number", size)
		}
	}
}

// TestFileSum makes the sums of files by hand.
func TestFileSum(t *testing.T) {
	content := sanityBuffer(3*fileservice.BlockSize + 5)
	for _, size := range []int{0, 1, fileservice.BlockSize, fileservice.BlockSize + 1, len(content)} {
		var file fileservice.FileSum
		var sums []byte
		number := int64(0)
		for block := range slices.Chunk(content[:size], fileservice.BlockSize) {
			sum := xxh3.Hash128Seed(block, uint64(number)).Bytes()
			sums = append(sums, sum[:]...)
			file.Append(fileservice.SumBlock(block, number))
			number++
		}
		if len(sums) != fileservice.SumSize {
			sum := xxh3.Hash128(sums).Bytes()
			sums = sum[:]
		}
		if got := file.Sum().String(); got != hex.EncodeToString(sums) {
			t.Errorf("%d bytes: %s", size, got)
		}
	}
}

func TestSumsDoNotAllocate(t *testing.T) {
	block := make([]byte, fileservice.BlockSize)
	testkit.Allocs(t, 0, func() { fileservice.SumBlock(block, 3) })
	testkit.Allocs(t, 0, func() { fileservice.SumFile(block[:4<<10]) })
	var parts fileservice.BlockSum
	number := int64(1)
	testkit.Allocs(t, 0, func() {
		parts.Reset(number)
		parts.Write(block)
		parts.Sum()
		number++
	})
}

func TestBlocks(t *testing.T) {
	for size, want := range map[int64]int64{
		0: 0, 1: 1, fileservice.BlockSize - 1: 1, fileservice.BlockSize: 1, fileservice.BlockSize + 1: 2,
		1<<63 - 1: 1 << 43,
	} {
		if got := fileservice.Blocks(size); got != want {
			t.Errorf("%d bytes: %d blocks", size, got)
		}
	}
}
