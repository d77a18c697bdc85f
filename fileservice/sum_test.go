package fileservice_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"lukechampine.com/blake3"

	"culvert/fileservice"
	"culvert/internal/testkit"
)

// rootOf makes the hash of a file of the hashes of its blocks.
func rootOf(file []byte) fileservice.Sum {
	var tree fileservice.Tree
	number := int64(0)
	for block := range slices.Chunk(file, fileservice.BlockSize) {
		tree.Append(fileservice.SumBlock(block, number, int64(len(file))))
		number++
	}
	return tree.Root()
}

// TestKnownHashes has the test vectors of github.com/BLAKE3-team/BLAKE3, up to 100 KiB.
func TestKnownHashes(t *testing.T) {
	text, err := os.ReadFile("testdata/blake3.json")
	if err != nil {
		t.Fatal(err)
	}
	var known []struct {
		Size int    `json:"size"`
		Hash string `json:"hash"`
	}
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	if len(known) < 20 {
		t.Fatalf("%d vectors", len(known))
	}
	for _, k := range known {
		input := make([]byte, k.Size)
		for i := range input {
			input[i] = byte(i % 251)
		}
		if got := rootOf(input).String(); got != k.Hash {
			t.Errorf("%d bytes: %s", k.Size, got)
		}
	}
}

// TestRootIsHashOfFile compares roots with the hash of the whole, around each border of the tree.
func TestRootIsHashOfFile(t *testing.T) {
	const block = fileservice.BlockSize
	file := make([]byte, 9*block)
	_, _ = rand.NewChaCha8([32]byte{}).Read(file)
	for _, border := range []int{
		0, 64, 1 << 10, 16 << 10, 48 << 10, 512 << 10, block, 2 * block, 3 * block, 4 * block,
		5 * block, 6 * block, 7 * block, 8 * block, 8*block + 17<<10, 9 * block,
	} {
		for size := max(border-1, 0); size <= min(border+1, len(file)); size++ {
			if rootOf(file[:size]) != fileservice.Sum(blake3.Sum256(file[:size])) {
				t.Errorf("%d bytes: another hash", size)
			}
		}
	}
}

func FuzzRoot(f *testing.F) {
	f.Add(uint32(3<<20), uint64(1))
	f.Fuzz(func(t *testing.T, size uint32, seed uint64) {
		file := make([]byte, size%(6<<20))
		_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(file)
		if rootOf(file) != fileservice.Sum(blake3.Sum256(file)) {
			t.Errorf("%d bytes: another hash", len(file))
		}
	})
}

func TestBlockOfAnotherSize(t *testing.T) {
	for _, size := range []int{0, 4, 6, 1 << 10, fileservice.BlockSize} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d bytes are hashed as the whole of five", size)
				}
			}()
			fileservice.SumBlock(make([]byte, size), 0, 5)
		}()
	}
}

func TestSumBlockDoesNotAllocate(t *testing.T) {
	block := make([]byte, fileservice.BlockSize)
	testkit.Allocs(t, 0, func() { fileservice.SumBlock(block, 3, 10<<20) })
	testkit.Allocs(t, 0, func() { fileservice.SumBlock(block[:4<<10], 0, 4<<10) })
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
