package command

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestCollectEarly makes garbage until the collector has run, which changes its share: to a quarter of much that is in
// use, and to a room that is more than that of little.
func TestCollectEarly(t *testing.T) {
	t.Setenv("GOGC", "")
	const most = 100 * earlyRoom / leastHeap // that the room of little can be
	const usual = 2 * most
	in := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/cycles/total:gc-cycles"}}
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	for name, test := range map[string]struct{ inUse, least, most uint64 }{
		"Much": {64 << 20, earlyPercent, earlyPercent}, "Little": {1, earlyPercent + 1, most},
	} {
		t.Run(name, func(t *testing.T) {
			kept.Store(nil)
			defer kept.Store(new(room)) // which ends the one before
			debug.SetGCPercent(usual)
			held := make([]byte, test.inUse)
			metrics.Read(in)
			before := in[1].Value.Uint64()
			CollectEarly()
			for in[0].Value.Uint64() == usual {
				sha256.Sum256(make([]byte, 1<<20))
				metrics.Read(in)
			}
			if in[1].Value.Uint64() == before {
				t.Error("the share has changed before a collection")
			}
			if share := in[0].Value.Uint64(); share < test.least || share > test.most {
				t.Errorf("the share is %d %%, want %d to %d", share, test.least, test.most)
			}
			runtime.KeepAlive(held)
		})
	}
}

// TestCollectEvery runs a process that has much in use, and makes a great deal of garbage. Neither may its memory grow
// by much more than the room, nor may it collect much more often.
func TestCollectEvery(t *testing.T) {
	if os.Getenv("CULVERT_TEST_GARBAGE") != "" {
		makeGarbage(t)
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestCollectEvery$")
	command.Env = append(os.Environ(), "CULVERT_TEST_GARBAGE=1", "GOGC=", "GOMEMLIMIT=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

func makeGarbage(t *testing.T) {
	const (
		inUse, garbage = 48 << 20, 128 << 20
		piece          = 64 << 10
		least          = 16 << 20 // of a process that does nothing
	)
	CollectEvery(TransferRoom)
	var kept [][]byte
	for range inUse / piece {
		kept = append(kept, make([]byte, piece))
	}
	in := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(in)
	most, before := uint64(0), in[2].Value.Uint64()
	for i := range garbage / piece {
		kept[i%2] = make([]byte, piece)
		for range 16 { // what is allocated while the collector runs counts as used
			sha256.Sum256(kept[i%2])
		}
		metrics.Read(in)
		most = max(most, in[0].Value.Uint64()-in[1].Value.Uint64())
	}
	runtime.KeepAlive(kept)
	if limit := uint64(inUse + 2*TransferRoom + least); most > limit {
		t.Errorf("%d MiB were used, want at most %d", most>>20, limit>>20)
	}
	if n, limit := in[2].Value.Uint64()-before, uint64(2*garbage/TransferRoom); n == 0 || n > limit {
		t.Errorf("%d collections, want at most %d", n, limit)
	}
}
