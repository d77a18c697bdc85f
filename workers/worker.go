package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"culvert/export"
	"culvert/internal/grace"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// Output says how and where a worker writes the parts of a job.
type Output struct {
	// Plan says how files are written. Its Jobs are for each part. Overwrite and Progress are ignored.
	Plan *export.Plan

	// Place holds the files. All workers of a job, and its coordinator, must see the same files there.
	Place place.Place

	// Close ends the connections of the place. It may be nil.
	Close func() error
}

// Worker writes parts of jobs. Any number of workers may run, on any machines, and they may come and go.
type Worker struct {
	Queue  *Queue
	Secret []byte

	// Name tells this worker from all others. It has letters, digits and hyphens.
	Name string

	// Sessions is the number of parts that are written at the same time, each with a connection to the database. Zero
	// means 1.
	Sessions int

	// Open returns the output of a job, from the settings that its coordinator has noted.
	Open func(ctx context.Context, settings json.RawMessage) (*Output, error)

	// Join connects to the database.
	Join Join

	// Patience is how long the worker stays in a job that nobody coordinates, and holds its snapshot, when it has
	// nothing to write. Zero means an hour.
	Patience time.Duration

	// Progress is called with the work on the job, every few heartbeats, by one goroutine. It may be nil.
	Progress func(WorkerStatus)

	// Notice is called with a message about each failure that will be retried. It may be nil.
	Notice func(message string)
}

// Run works on a job until the job is removed, or the context ends. Then it gives its tasks back. The error is nil if
// the job is removed, which is when its manifest is written, or if the queue has lost it: then it may come back. The
// error is [ErrNoJob] if there is none that has begun, and wraps [ErrNoCoordinator] if nothing goes on in it. A caller
// who knows that the job is removed ends the context with the cause [ErrNoJob], so that the queue is not asked for it.
func (w *Worker) Run(ctx context.Context, name string) error {
	job, err := w.Queue.Job(ctx, name, w.Secret)
	if err != nil {
		return err
	}
	var note jobNote
	if err := read(ctx, job, jobKey, &note); err != nil {
		if errors.Is(err, queue.ErrNotFound) {
			err = queue.ErrNoJob // its coordinator is about to begin
		}
		return err
	}
	if err := w.refuseIdle(ctx, job); err != nil {
		return err
	}
	output, err := w.Open(ctx, note.Settings)
	if err != nil {
		return err
	}
	r := &run{worker: w, job: job, note: note, output: output, plans: plans{job: job, run: note.Run}}
	r.directories = manifest.FileNames(note.Tables, "")
	r.status.Name, r.status.Begun = w.Name, time.Now().UTC()
	err = r.work(ctx)
	if output.Close != nil {
		err = errors.Join(err, output.Close())
	}
	return err
}

func (w *Worker) report(format string, args ...any) {
	if w.Notice != nil {
		w.Notice(fmt.Sprintf(format, args...))
	}
}

// run is the work on one job.
type run struct {
	worker *Worker
	job    *queue.Job
	note   jobNote
	output *Output
	plans  plans

	directories []string // of the tables

	rows, text, out, parts atomic.Int64 // of complete parts

	mu      sync.Mutex
	status  WorkerStatus
	current map[*export.Progress]string // the parts under way

	sharing   sync.Mutex                 // none is noted in the queue after its session has let it go
	snapshots map[string]source.Snapshot // by the sessions that hold them
}

// WorkerStatus is what a worker tells of itself.
type WorkerStatus struct {
	Name     string    `json:"name"`
	Begun    time.Time `json:"begun"`
	Sessions int       `json:"sessions"`                 // connections to the database
	Writing  []string  `json:"writing,omitempty"`        // the tables of the parts under way
	Parts    int64     `json:"parts"`                    // that it has written
	Rows     int64     `json:"rows"`                     // of them, and of the parts under way
	Text     int64     `json:"text_bytes"`               // bytes of their text
	Out      int64     `json:"file_bytes"`               // bytes of their files
	Rate     float64   `json:"bytes_per_second"`         // of text, lately
	Still    float64   `json:"still_seconds,omitempty"`  // for how long no row has moved, while it writes
	Silent   float64   `json:"silent_seconds,omitempty"` // for how long it has told nothing, as [Inspect] sees it
	Failure  string    `json:"failure,omitempty"`        // the last one
	Ended    bool      `json:"ended,omitempty"`
}

func (r *run) work(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	group.Go(func() { r.heartbeat(ctx, cancel) })
	errs := make([]error, max(1, r.worker.Sessions))
	var sessions sync.WaitGroup
	for i := range errs {
		sessions.Go(func() {
			errs[i] = r.session(ctx, fmt.Sprintf("%s-%d", r.worker.Name, i+1))
			// If one cannot go on, neither can the others.
			if errors.Is(errs[i], queue.ErrNoJob) {
				cancel(queue.ErrNoJob)
			}
			cancel(nil)
		})
	}
	sessions.Wait()
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, queue.ErrNoJob) && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	for _, err := range errs {
		if errors.Is(err, queue.ErrNoJob) {
			return nil
		}
	}
	if errors.Is(context.Cause(ctx), ErrNoCoordinator) {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// heartbeat tells again and again that the worker lives, and what it does. It ends the work if nothing goes on in the
// job.
func (r *run) heartbeat(ctx context.Context, end context.CancelCauseFunc) {
	ticks := time.NewTicker(heartbeatsOfWorkers * r.worker.Queue.Heartbeat())
	defer ticks.Stop()
	var p pace
	var v vigil
	for {
		status := r.state()
		p.measure(&status, time.Now())
		if r.worker.Progress != nil {
			r.worker.Progress(status)
		}
		// The sessions meet the same errors. But one that writes a part goes on, and the job may come back meanwhile.
		if r.job.Set(ctx, workerKeys+"."+r.worker.Name, encode(status)) == nil {
			r.passOnAgain(ctx)
			if over, err := v.look(ctx, r, status); over && err == nil {
				end(ErrNoCoordinator)
			}
		}
		select {
		case <-ctx.Done():
			r.leave(context.WithoutCancel(ctx), errors.Is(context.Cause(ctx), queue.ErrNoJob))
			return
		case <-ticks.C:
		}
	}
}

// passOnAgain notes the shared snapshots again if the queue has lost them, and the job was put there again. What fails
// is tried again at the next heartbeat.
func (r *run) passOnAgain(ctx context.Context) {
	r.sharing.Lock()
	defer r.sharing.Unlock()
	checked := false
	for name, snapshot := range r.snapshots {
		key := sharedKeys + "." + name
		if _, err := r.job.Get(ctx, key); !errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if !checked {
			if note, err := readRun(ctx, r.job); err != nil || note.Run != r.note.Run {
				return // it would mean another snapshot there
			}
			checked = true
		}
		_ = r.job.Set(ctx, key, encode(snapshot))
	}
}

// hold remembers the shared snapshot of a session, until it is let go.
func (r *run) hold(name string, snapshot source.Snapshot) (letGo func()) {
	r.sharing.Lock()
	defer r.sharing.Unlock()
	if r.snapshots == nil {
		r.snapshots = map[string]source.Snapshot{}
	}
	r.snapshots[name] = snapshot
	return func() {
		r.sharing.Lock()
		defer r.sharing.Unlock()
		delete(r.snapshots, name)
	}
}

// leave tells that the worker has ended, unless that takes long: others find out by themselves.
func (r *run) leave(ctx context.Context, removed bool) {
	ctx, cancel := context.WithTimeout(ctx, r.worker.Queue.Heartbeat())
	defer cancel()
	status := r.state()
	if r.worker.Progress != nil {
		r.worker.Progress(status)
	}
	if removed { // the queue would be asked for half a second who has the job
		return
	}
	status.Ended = true
	_ = r.job.Set(ctx, workerKeys+"."+r.worker.Name, encode(status))
}

// pace measures how fast a worker is.
type pace struct {
	at, moved  time.Time // of the last measurement, and of the last one at which rows had moved
	text, rows int64
}

func (p *pace) measure(s *WorkerStatus, now time.Time) {
	if passed := now.Sub(p.at).Seconds(); !p.at.IsZero() && passed > 0 {
		s.Rate = max(0, float64(s.Text-p.text)) / passed // the text of a part that has failed is taken back
	}
	if p.moved.IsZero() || s.Rows != p.rows || s.Text != p.text || len(s.Writing) == 0 {
		p.moved = now
	}
	s.Still = now.Sub(p.moved).Seconds()
	p.at, p.text, p.rows = now, s.Text, s.Rows
}

// heartbeatsOfWorkers is how many heartbeats pass between two notes of a worker's status. There may be a thousand
// workers.
const heartbeatsOfWorkers = 5

func (r *run) state() WorkerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Parts, s.Rows, s.Text, s.Out = r.parts.Load(), r.rows.Load(), r.text.Load(), r.out.Load()
	s.Writing = nil
	for progress, table := range r.current {
		s.Writing = append(s.Writing, table)
		s.Rows, s.Text, s.Out = s.Rows+progress.Rows.Load(), s.Text+progress.Text.Load(), s.Out+progress.Out.Load()
	}
	return s
}

func (r *run) begin(progress *export.Progress, table string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		r.current = map[*export.Progress]string{}
	}
	r.current[progress] = table
}

// end notes the end of a part. It is no failure if the worker was told to end.
func (r *run) end(ctx context.Context, progress *export.Progress, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.current, progress)
	if err != nil {
		if ctx.Err() == nil {
			r.status.Failure = bounded(err)
		}
		return
	}
	r.parts.Add(1)
	r.rows.Add(progress.Rows.Load())
	r.text.Add(progress.Text.Load())
	r.out.Add(progress.Out.Load())
}

func (r *run) count(sessions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Sessions += sessions
}

// session is one connection to the database after the other, until the job is removed.
func (r *run) session(ctx context.Context, name string) error {
	wait := r.worker.Queue.Heartbeat()
	for {
		worked, err := r.admitted(ctx, name)
		if worked {
			wait = r.worker.Queue.Heartbeat()
		}
		switch {
		case errors.Is(err, queue.ErrLost):
			r.worker.report("%s was silent for too long, and its connection was given to another worker", name)
		case errors.Is(err, source.ErrSnapshotLost), errors.Is(err, source.ErrUnavailable),
			errors.Is(err, source.ErrOtherSnapshot):
			// The database may come back, and the coordinator knows whether the snapshot does, or is about to replace
			// what is left of the job by parts of another one.
			r.worker.report("%s: %v", name, err)
			if isLost(err) {
				if err := r.forsake(ctx, err); err != nil {
					return err
				}
			}
		default:
			return err
		}
		if grace.Wait(ctx, wait) != nil {
			return ctx.Err()
		}
		wait = min(2*wait, 10*time.Second)
	}
}

// admitted waits for a place among the sessions of all workers, if their number is limited.
func (r *run) admitted(ctx context.Context, name string) (worked bool, err error) {
	if r.note.Sessions == 0 {
		return r.connected(ctx, name)
	}
	keys := make([]string, min(r.note.Sessions, MostSessions))
	for i := range keys {
		keys[i] = fmt.Sprintf("%s.%d", sessionKeys, i)
	}
	lease, err := r.job.Acquire(ctx, keys, nil)
	if err != nil {
		return false, err
	}
	worked, err = r.connected(lease.Context(), name)
	if cause := context.Cause(lease.Context()); cause != nil && ctx.Err() == nil {
		err = cause // what the session says of it does not matter
	}
	if releaseErr := lease.Release(ctx); err == nil {
		err = releaseErr
	}
	return worked, err
}

// connected joins the snapshot, and takes tasks until the session cannot go on. It reports whether one was done.
func (r *run) connected(ctx context.Context, name string) (worked bool, err error) {
	note, err := readRun(ctx, r.job) // the snapshot may have been replaced
	switch {
	case errors.Is(err, queue.ErrNotFound), err == nil && note.Run != r.note.Run:
		return false, queue.ErrNoJob
	case err != nil:
		return false, err
	}
	src, err := joinAny(ctx, r.job, r.worker.Join, note.Snapshot, 1, note.held()...)
	if err != nil {
		return false, err
	}
	r.count(1)
	defer func() {
		r.count(-1)
		if closeErr := src.Close(); err == nil {
			err = closeErr
		}
		r.dropSnapshot(ctx, name) // until then, others can join by it
	}()
	snapshot, err := passOn(ctx, r.job, src, name)
	if err != nil {
		return false, err
	}
	defer r.hold(name, snapshot)()
	return r.take(ctx, src)
}

// maxRefusals is how often in a row a session tries to write to a place that refuses files.
const maxRefusals = 3

// take takes tasks until the session cannot go on. One error of the place may be a disturbance. If it lasts, other
// workers may do better.
func (r *run) take(ctx context.Context, src source.Source) (worked bool, err error) {
	done, refused := 0, 0
	for {
		task, err := r.job.Next(ctx)
		if err != nil {
			return done > 0, err
		}
		err = r.do(ctx, src, task, task.Last && done > 0 && refused == 0)
		switch {
		case err == nil:
			done, refused = done+1, 0
		case ctx.Err() != nil, !isOfPlace(err), isFull(err), refused+1 == maxRefusals:
			return done > 0, err
		default:
			refused++
			r.worker.report("%v", err)
		}
	}
}
