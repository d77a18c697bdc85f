package fusefs

import "slices"

// maxAhead is how far a sequential reader is read ahead of, if there is memory: as much as a link of 1 Gbit/s holds in
// 130 ms.
const maxAhead = 16 << 20

// maxRuns is how many places of one file may be read at in turn and still count as read in order.
const maxRuns = 8

// A run is a part of a file that was asked for without a gap.
type run struct {
	start, end int64
	requests   int
}

// A run is worth reading ahead of when it has gone on for so long, and came in more than one request. Two neighbours
// that a random reader meets are no run.
const leastRun = 128 << 10

func (r run) isSequential() bool { return r.requests > 1 && r.end-r.start >= leastRun }

// runs are the latest runs of a file, last used first. The kernel sends the requests of one reader several at a time,
// and they arrive in any order: so it is not the order that makes a run but that one begins where another ended.
type runs []run

// note takes in a request and gives the run that it is a part of. If it was foreseen, it belongs to a run that ended
// before it, although others are still to come between the two.
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
