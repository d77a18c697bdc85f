package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"culvert/workers/internal/queue"
)

// watch is what a coordinator sees of the workers.
type watch struct {
	*operation
	workers   map[string]queue.Value
	states    map[string]WorkerStatus
	failures  map[string]failureNote
	snapshots map[string]queue.Value // by key
	silent    map[string]bool        // workers that were not heard of again; true if their shared snapshots may be left
	pulse     queue.Pulse
	backlog   queue.Backlog
	idle      int // looks at which nothing was waiting or running
	unjoined  int // looks at which no worker had a session
}

func (w *watch) note(v queue.Value) error {
	kind, rest, _ := strings.Cut(v.Key, ".")
	switch kind {
	case workerKeys:
		var status WorkerStatus
		if err := decode(v, &status); err != nil {
			return err
		}
		_, known := w.states[rest]
		_, silent := w.silent[rest]
		delete(w.silent, rest)
		if status.Ended {
			if known || silent {
				w.joined(rest, status)
				w.c.happened(Event{Event: EventWorkerEnded, Worker: rest})
			}
			delete(w.workers, rest)
			delete(w.states, rest)
			return nil
		}
		if w.states == nil {
			w.states = map[string]WorkerStatus{}
		}
		w.joined(rest, status)
		w.workers[rest], w.states[rest] = v, status
		return nil
	case failureKeys:
		var failure failureNote
		if err := decode(v, &failure); err != nil {
			return err
		}
		w.partFailed(rest, failure)
		if w.failures == nil {
			w.failures = map[string]failureNote{}
		}
		if len(w.failures) < maxFailures && w.isOpen(rest) {
			w.failures[rest] = failure
		}
		return nil
	case recordKeys:
		delete(w.failures, rest) // the part is not tried again
	case sharedKeys:
		if w.snapshots == nil {
			w.snapshots = map[string]queue.Value{}
		}
		w.snapshots[v.Key] = v
		w.journal.add(v.Key, v.Data)
		return nil
	}
	return w.learn(v)
}

// isOpen reports whether a part belongs to a plan that is valid, and is not recorded.
func (w *watch) isOpen(task string) bool {
	id, err := parseTaskID(task)
	return err == nil && w.has(id) && w.tables[id.table].files[id.number].File == ""
}

// isWritten reports whether a part is recorded.
func (w *watch) isWritten(task string) bool {
	id, err := parseTaskID(task)
	return err == nil && w.has(id) && w.tables[id.table].files[id.number].File != ""
}

// maxFailures bounds the failures that are shown.
const maxFailures = 1000

// look forgets workers that are dead, and finds out whether the job can go on.
func (w *watch) look(ctx context.Context) (err error) {
	sessions := 0
	for name, v := range w.workers {
		if w.pulse.Look(v) {
			w.c.report("worker %s has not been heard of for a while", name)
			w.c.happened(Event{Event: EventWorkerSilent, Worker: name})
			delete(w.workers, name)
			delete(w.states, name)
			w.silent[name] = true
			continue
		}
		sessions += w.states[name].Sessions
	}
	if err := w.dropSnapshots(ctx); err != nil {
		return err
	}
	if err := w.dropFailed(ctx); err != nil {
		return err
	}
	if w.backlog, err = w.job.Backlog(ctx); err != nil {
		return err
	}
	if sessions > 0 {
		w.unjoined = 0
	} else if w.unjoined++; w.unjoined%3 == 0 {
		if err := w.checkSnapshot(ctx); err != nil {
			return err
		}
	}
	if w.backlog.Waiting+w.backlog.Running > 0 {
		w.idle = 0
		return nil
	}
	// Parts that are recorded leave the queue before their records arrive here.
	if w.idle++; w.idle < 2 {
		return nil
	}
	w.idle = 0
	return w.revive(ctx)
}

// dropFailed takes the parts of tables that have failed out of the queue. Otherwise, workers would try each of them in
// vain, which takes long if each attempt waits for a lock.
func (w *watch) dropFailed(ctx context.Context) error {
	for i := range w.tables {
		t := &w.tables[i]
		if t.failed == nil || t.note.Plan == "" || t.dropped {
			continue
		}
		if err := w.job.Drop(ctx, fmt.Sprintf("%s.%d", t.note.Plan, i)); err != nil {
			return err
		}
		t.dropped = true
	}
	return nil
}

// checkSnapshot finds out whether workers can join the snapshot, since none has.
func (w *watch) checkSnapshot(ctx context.Context) error {
	src, err := joinAny(ctx, w.job, w.c.Join, w.operation.note.Snapshot, tryMost)
	if err == nil {
		return src.Close()
	}
	if isLost(err) {
		return w.lostError(err)
	}
	w.c.report("%v", err)
	return nil
}

// revive deals with parts that are neither written nor waiting: the queue has given them to as many workers as may have
// them, or has lost them.
func (w *watch) revive(ctx context.Context) error {
	queued, err := w.job.Queued(ctx)
	if err != nil {
		return err
	}
	for _, text := range queued {
		id, err := parseTaskID(text)
		if err != nil || !w.has(id) || w.isWritten(text) || w.isRead(id.table) {
			continue
		}
		failure, known := w.failures[text]
		if !known {
			failure.Error = "several workers were given the part, and none has finished it"
		}
		err = w.job.Create(ctx, deadKeys+"."+text, encode(failure))
		if err != nil && !errors.Is(err, queue.ErrExists) {
			return err
		}
	}
	for i := range w.tables {
		if err := w.job.Put(ctx, w.operation.missing(i)); err != nil {
			return err
		}
	}
	return nil
}

// isRead reports whether a worker that lives reads a part of a table. The first row may take longer than the queue
// waits.
func (w *watch) isRead(table int) bool {
	for _, status := range w.states {
		if slices.Contains(status.Writing, w.operation.note.Tables[table]) {
			return true
		}
	}
	return false
}

// Status is the state of a job.
type Status struct {
	Job      string         `json:"job"`
	Begun    time.Time      `json:"begun"`
	Tables   int            `json:"tables"`
	Parts    int            `json:"parts"`
	Done     int            `json:"parts_done"`
	Failed   []string       `json:"failed,omitempty"` // why tables have failed
	Rows     int64          `json:"rows"`             // in the parts that are done
	Text     int64          `json:"text_bytes"`       // bytes of their text
	Out      int64          `json:"file_bytes"`       // bytes of their files
	Bytes    int64          `json:"bytes"`            // of all parts, about, as stored by the database
	BytesIn  int64          `json:"bytes_done"`       // of the parts that are done
	Waiting  int            `json:"waiting"`          // parts
	Running  int            `json:"running"`
	Workers  []WorkerStatus `json:"workers"`
	Failures []string       `json:"failures,omitempty"` // of parts that are tried again

	// As [Inspect] sees it: nobody coordinates the job, and a worker could not join its snapshot since.
	NoCoordinator bool `json:"no_coordinator,omitempty"`
	SnapshotLost  bool `json:"snapshot_lost,omitempty"`
}

func (w *watch) status() Status {
	s := Status{
		Job: w.job.Name, Begun: w.operation.note.Begun, Tables: len(w.tables), Waiting: w.backlog.Waiting,
		Running: w.backlog.Running,
	}
	for i := range w.tables {
		t := &w.tables[i]
		s.Parts, s.Done = s.Parts+len(t.cuts), s.Done+t.done
		s.Bytes, s.BytesIn = s.Bytes+t.bytes, s.BytesIn+t.bytesDone
		s.Rows, s.Text, s.Out = s.Rows+t.rows, s.Text+t.text, s.Out+t.out
		if t.failed != nil {
			s.Failed = append(s.Failed, fmt.Sprintf("table %q: %v", w.operation.note.Tables[i], t.failed))
		}
	}
	for _, status := range w.states {
		s.Workers = append(s.Workers, status)
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	for id, failure := range w.failures {
		s.Failures = append(s.Failures, fmt.Sprintf("%s: worker %s, attempt %d: %s", id, failure.Worker,
			failure.Delivery, failure.Error))
	}
	slices.Sort(s.Failures)
	return s
}
