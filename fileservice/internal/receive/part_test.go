package receive

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"culvert/fileservice"
)

// writePart writes the bytes of a block from one place to another.
func (s sample) writePart(r *File, block int64, from, to int) error {
	b := s.block(block)
	return r.WritePart(block*fileservice.BlockSize+int64(from), b[from:to], fileservice.SumBlock(b[:to], block))
}

// TestParts writes blocks in parts, of which some come again, or too early.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	s := newSample(2*fileservice.BlockSize + 5000)
	r := mustReceive(t, openTestRoot(t, dir), "file", s.version)
	const middle, size = 300_001, fileservice.BlockSize
	for _, step := range []struct {
		block    int64
		from, to int
		want     error
	}{
		{0, middle, size, ErrNoBeginning},
		{0, 0, middle, nil},
		{0, middle + 1, size, ErrNoBeginning},
		{0, 0, middle, nil},
		{0, middle, middle + 9, nil},
		{0, middle, size, nil}, // the part before has come in vain
		{0, 5, 10, nil},        // it is there
		{1, 0, size - 1, nil},
		{1, size - 1, size, nil},
		{2, 4000, 5000, ErrNoBeginning},
		{2, 0, 4000, nil},
		{2, 4000, 5000, nil},
	} {
		if err := s.writePart(r, step.block, step.from, step.to); !errors.Is(err, step.want) {
			t.Errorf("%+v: %v", step, err)
		}
	}
	err := r.WritePart(size-5, s.block(0)[size-5:], fileservice.Sum{})
	if !errors.Is(err, fileservice.ErrIntegrity) {
		t.Errorf("another sum of a block that is there: %v", err)
	}
	if err := r.WritePart(2*size+4999, []byte("ab"), fileservice.Sum{}); err == nil {
		t.Error("a part goes beyond the end")
	}
	_, err = r.Finish(s.root(), 0)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	seeOnly(t, dir, "file")
}

// TestPartsBesideBlocks has some send blocks in parts that others send as a whole.
func TestPartsBesideBlocks(t *testing.T) {
	s := newSample(9 * fileservice.BlockSize)
	r := mustReceive(t, openTestRoot(t, t.TempDir()), "file", s.version)
	var writers sync.WaitGroup
	for n := range fileservice.Blocks(s.version.Size) {
		writers.Go(func() { s.write(t, r, n) })
		for seed := range uint64(2) {
			writers.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				for from := 0; from < fileservice.BlockSize; {
					to := min(from+1+random.IntN(200_000), fileservice.BlockSize)
					if err := s.writePart(r, n, from, to); err != nil {
						t.Error(err)
						return
					}
					from = to
				}
			})
		}
	}
	writers.Wait()
	_, err := r.Finish(s.root(), 0)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
}
