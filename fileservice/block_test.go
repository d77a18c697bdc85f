package fileservice_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"culvert/fileservice"
)

// The leaves and roots that implementations of Certificate Transparency test themselves with.
var (
	knownLeaves = []string{
		"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
	}
	knownRoots = []string{
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
)

func TestTreeOfKnownLeaves(t *testing.T) {
	var tree fileservice.Tree
	if got, want := tree.Root(), fileservice.Sum(sha256.Sum256(nil)); got != want {
		t.Errorf("no leaves: %v", got)
	}
	for i, leaf := range knownLeaves {
		data, err := hex.DecodeString(leaf)
		if err != nil {
			t.Fatal(err)
		}
		tree.Append(fileservice.SumBlock(data))
		if got := tree.Root().String(); got != knownRoots[i] {
			t.Errorf("%d leaves: %s instead of %s", i+1, got, knownRoots[i])
		}
	}
}

// rootOf is the definition of RFC 9162, word by word.
func rootOf(leaves []fileservice.Sum) fileservice.Sum {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	left, right := rootOf(leaves[:k]), rootOf(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

func TestTreeIsThatOfTheStandard(t *testing.T) {
	var tree fileservice.Tree
	var leaves []fileservice.Sum
	for i := range 300 {
		leaves = append(leaves, fileservice.SumBlock([]byte{byte(i), byte(i >> 8)}))
		tree.Append(leaves[i])
		if tree.Root() != rootOf(leaves) {
			t.Fatalf("%d leaves: another root", i+1)
		}
	}
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
