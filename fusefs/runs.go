package fusefs

import "slices"

// maxAhead is the longest read-ahead, in bytes, if there is memory: what a link of 1 Gbit/s carries in 130 ms.
const maxAhead = 16 << 20

// maxRuns is how many sequential readers of one file are recognized.
const maxRuns = 8

// A run is a part of a file that was read without a gap.
type run struct {
	start, end int64
	requests   int
}

// leastRun is the shortest run that counts as sequential, in bytes. It must also have several requests: two neighbours
// that a random reader meets are no sequence.
const leastRun = 128 << 10

func (r run) isSequential() bool { return r.requests > 1 && r.end-r.start >= leastRun }

// runs are the latest runs of a file, most recently used first. The kernel sends several requests of one reader at a
// time, and they arrive in any order. So requests form a run if one begins where another ends, in whatever order.
type runs []run

// note adds a request and returns its run. A foreseen request, which was read ahead, belongs to a run that ends before
// it, although the requests between the two are still to come.
func (rs *runs) note(start, end int64, foreseen bool) run {
	joined := run{start, end, 1}
	kept := (*rs)[:0]
	for _, r := range *rs {
		touches := r.start <= joined.end && joined.start <= r.end
		if touches || foreseen && r.end < start && start-r.end <= maxAhead {
			joined.start, joined.end = min(joined.start, r.start), max(joined.end, r.end)
			joined.requests += r.requests
		} else {
			kept = append(kept, r)
		}
	}
	*rs = slices.Insert(kept[:min(len(kept), maxRuns-1)], 0, joined)
	return joined
}
