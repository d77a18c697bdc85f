package jobs

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"culvert/workers"
)

// tally adds up what a worker does for one job after the other.
type tally struct {
	mu   sync.Mutex
	jobs int64
	now  workers.WorkerStatus // of the job that it works on; figures only grow
	past workers.WorkerStatus // of those before
}

func (t *tally) note(s workers.WorkerStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The rows of a part that has failed are taken back, which counters must not do.
	s.Rows, s.Text, s.Out = max(s.Rows, t.now.Rows), max(s.Text, t.now.Text), max(s.Out, t.now.Out)
	t.now = s
}

// end notes that the work on a job has ended, and whether the job has.
func (t *tally) end(complete bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.past, t.now = t.sum(), workers.WorkerStatus{}
	if complete {
		t.jobs++
	}
}

// sum returns the figures of all jobs. The caller holds the lock.
func (t *tally) sum() workers.WorkerStatus {
	s := t.now
	s.Parts, s.Rows = s.Parts+t.past.Parts, s.Rows+t.past.Rows
	s.Text, s.Out = s.Text+t.past.Text, s.Out+t.past.Out
	return s
}

func (t *tally) total() workers.WorkerStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum()
}

func (t *tally) figures() (all []prometheus.Collector) {
	type status = workers.WorkerStatus
	for name, one := range map[string]struct {
		help  string
		value func(status) int64
	}{
		"parts_total":      {"Parts that were written.", func(s status) int64 { return s.Parts }},
		"rows_total":       {"Rows that were read.", func(s status) int64 { return s.Rows }},
		"text_bytes_total": {"Bytes of their text.", func(s status) int64 { return s.Text }},
		"file_bytes_total": {"Bytes that were written.", func(s status) int64 { return s.Out }},
	} {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "culvert", Subsystem: "worker", Name: name, Help: one.help,
		}, func() float64 { return float64(one.value(t.total())) }))
	}
	for name, one := range map[string]struct {
		help  string
		value func(status) float64
	}{
		"sessions":      {"Connections to the database.", func(s status) float64 { return float64(s.Sessions) }},
		"writing":       {"Parts that are being written.", func(s status) float64 { return float64(len(s.Writing)) }},
		"still_seconds": {"For how long no row has moved.", func(s status) float64 { return s.Still }},
	} {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "culvert", Subsystem: "worker", Name: name, Help: one.help,
		}, func() float64 { return one.value(t.total()) }))
	}
	return all
}
