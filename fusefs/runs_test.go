package fusefs

import (
	"math/rand/v2"
	"testing"
)

// TestRunsInAnyOrder sends the requests of a sequential reader as the kernel does, some at once and shuffled, with a
// random reader of the same file in between.
func TestRunsInAnyOrder(t *testing.T) {
	const size, atOnce, rounds = 1 << 20, 4, 20
	random := rand.New(rand.NewPCG(1, 2))
	var seen runs
	for round := range int64(rounds) {
		for _, i := range random.Perm(atOnce) {
			start := (round*atOnce + int64(i)) * size
			seen.note(start, start+size, false)
		}
		far := (1 << 40) + random.Int64N(1<<40)
		if r := seen.note(far, far+4096, false); r.isSequential() {
			t.Fatalf("a random request is part of the run %+v", r)
		}
		end := (round + 1) * atOnce * size
		if r := seen.note(end-1, end, false); r.start != 0 || r.end != end || !r.isSequential() {
			t.Fatalf("%d bytes in order are the run %+v", end, r)
		}
	}
	if len(seen) > maxRuns {
		t.Errorf("%d runs are kept", len(seen))
	}
}

// TestForeseenRequestsContinueTheirRun has requests answered from memory before earlier ones arrive.
func TestForeseenRequestsContinueTheirRun(t *testing.T) {
	var seen runs
	seen.note(0, 128<<10, false)
	seen.note(128<<10, 256<<10, false)
	if r := seen.note(1<<20, 2<<20, true); r.start != 0 || r.end != 2<<20 {
		t.Errorf("a foreseen request is part of %+v", r)
	}
	if r := seen.note(8<<30, 8<<30+1, true); r.start != 8<<30 {
		t.Errorf("a request that is far away is part of %+v", r)
	}
}
