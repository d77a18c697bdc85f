package command

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// earlyPercent is the share of garbage, in percent of what is in use, at which the collector of most commands runs.
const earlyPercent = 25

// earlyRoom is what lies uncollected at most while little is in use. It is the share of 48 MiB, about what a large
// export has in use. With half of it, an export of 500 small tables takes 5 percent more time.
const earlyRoom = 2 * TransferRoom

// CollectEarly has the collector run at a quarter of garbage after its first collection, unless the user says
// otherwise. The buffers of a command are made once and used again, and little else is allocated. To collect that early
// costs nothing, and keeps the peak of memory close to what is in use. While little is in use, it runs as CollectEvery
// has it, with earlyRoom: an export of many small tables would collect a hundred times.
//
// Before the first collection it would cost each command a collection of what the program has initialized, which takes
// longer than many commands.
func CollectEarly() {
	if os.Getenv("GOGC") == "" {
		runtime.AddCleanup(new(collection), collectEarly, &room{bytes: earlyRoom, least: earlyPercent})
	}
}

// collectEarly keeps the share, unless [CollectEvery] does.
func collectEarly(r *room) {
	if kept.CompareAndSwap(nil, r) {
		r.keep()
	}
}

// kept is the room that is kept.
var kept atomic.Pointer[room]

// room is what lies uncollected at most: the collector runs when as much garbage has been made. A share of what is in
// use, which is all that the runtime has, would be too little while that is little, so that a server of small files
// collects all the time, and too much when buffers are in use, where it takes gigabytes to be reached: the memory of a
// transfer would go on growing for as long.
type room struct {
	bytes   uint64
	least   int // percent, whatever the bytes
	percent int // that is set
}

// TransferRoom is that of transfers and servers. With a third of it a tree of small files takes a fifth more processor
// time.
const TransferRoom = 6 << 20

// CollectEvery has the collector run each time that so many bytes of garbage were made, unless the user says otherwise.
func CollectEvery(bytes uint64) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		r := &room{bytes: bytes, least: 1}
		kept.Store(r)
		r.keep()
	}
}

// leastHeap is what the runtime takes a smaller heap for, when it reckons the share.
const leastHeap = 4 << 20

// collection is collected by each collection. It has a pointer, so that it has memory of its own.
type collection struct{ _ *collection }

// keep sets the share that is the room, and again after each collection, until another room is kept.
func (r *room) keep() {
	if kept.Load() != r {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	used := max(live[0].Value.Uint64(), leastHeap)
	// To set it stops the program for a moment.
	percent := max(int(100*r.bytes/used), r.least)
	if percent < r.percent*7/8 || percent > r.percent*9/8 {
		r.percent = percent
		debug.SetGCPercent(r.percent)
	}
	runtime.AddCleanup(new(collection), (*room).keep, r)
}
