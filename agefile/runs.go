package agefile

import (
	"slices"
	"sync"
	"time"
)

const (
	// nearby is how far apart the requests of a run may be, in chunks, since concurrent requests arrive in any order.
	nearby = 4 * spanChunks

	// wholeSpanTime is how long the bytes of a whole span may take, for a request that needs less.
	wholeSpanTime = 250 * time.Millisecond
)

// runs are the parts of a file that are being read from one chunk to the next, the last used one first.
type runs struct {
	mu   sync.Mutex
	last [4]run
	slow bool // loading a whole span would take too long

	// round is the least time that any load took: what each of them waits, whatever its size.
	round time.Duration
}

// run is one of them. Requests that are near to each other by chance also count as a run.
type run struct {
	at   int64 // end of the last request
	read int64 // chunks, including those that were read repeatedly; 0 if there is no run
}

// note adds a request to its run, and reports whether the run is worth loading whole spans.
func (rs *runs) note(request extent) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i := slices.IndexFunc(rs.last[:], func(r run) bool {
		return r.read > 0 && r.at-nearby <= request.first && request.first <= r.at+nearby
	})
	var r run
	if i < 0 {
		i = len(rs.last) - 1
	} else {
		r = rs.last[i]
	}
	r = run{request.end(), r.read + request.count}
	copy(rs.last[1:], rs.last[:i])
	rs.last[0] = r
	return !rs.slow && r.read > spanChunks
}

// forget ends all runs.
func (rs *runs) forget() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.last = [len(rs.last)]run{}
}

// took notes how long it took to load an extent.
func (rs *runs) took(loaded extent, elapsed time.Duration) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.round == 0 || elapsed < rs.round {
		rs.round = elapsed
	}
	// A distant source is slow only if its bytes are: a whole span takes no more round trips than a chunk. Of a single
	// chunk that took long, the reason is unknown.
	bytes, most := elapsed-rs.round, wholeSpanTime*time.Duration(loaded.count)/spanChunks
	if loaded.count > 1 || elapsed <= most {
		rs.slow = bytes > most
	}
}
