package jobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
	"culvert/workers"
)

// ExportFlags are the flags of an export by several workers.
type ExportFlags struct {
	QueueFlags
	Workers        int
	resume         resume
	maxConnections int
	replicas       int
	metrics        command.MetricsFlag
}

// Add adds the flags to a command.
func (f *ExportFlags) Add(cmd *cobra.Command) {
	f.QueueFlags.Add(cmd)
	f.metrics.Add(cmd)
	flags := cmd.Flags()
	flags.Var(command.Positive(&f.Workers), "workers", "read parts with `N` sessions of this process")
	flags.Var(&f.resume, "resume",
		"go on with an export that has stopped; with =mixed, in a new snapshot if the old one is lost")
	flags.Lookup("resume").NoOptDefVal = string(consistent)
	flags.Var(command.Positive(&f.maxConnections), "max-connections",
		"open at most `N` sessions of the database, up to 4096, in all workers together (default: any number)")
	f.replicas = 1
	flags.Var(command.Positive(&f.replicas), "replicas",
		"keep the queue of this export on `N` servers of the NATS cluster")
}

// resume is the value of --resume.
type resume string

const (
	consistent resume = "consistent"
	mixed      resume = "mixed"
)

func (r *resume) Set(value string) error {
	if *r = resume(value); *r != consistent && *r != mixed {
		return errors.New("it is consistent, which is the default, or mixed")
	}
	return nil
}

func (r *resume) String() string { return string(*r) }

// Type implements [pflag.Value].
func (r *resume) Type() string { return "MODE" }

// Given reports whether the export is one by several workers.
func (f *ExportFlags) Given() bool { return f.Workers != 0 || f.Elsewhere() || f.resume != "" }

// Resumes reports whether the export goes on with an earlier one.
func (f *ExportFlags) Resumes() bool { return f.resume != "" }

// mostWorkers bounds the sessions of one process: each takes memory.
const mostWorkers = 256

// Check refuses what does not fit together.
func (f *ExportFlags) Check() error {
	switch {
	case f.Workers > mostWorkers:
		return command.Usagef("--workers is %d, and must be from 1 to %d", f.Workers, mostWorkers)
	case f.maxConnections > workers.MostSessions:
		return command.WithHint(command.Usagef("--max-connections is %d, and must be from 1 to %d", f.maxConnections,
			workers.MostSessions), "leave it out for any number of connections")
	case !f.Given() && (f.maxConnections > 0 || f.jobKey != "" || f.metrics != ""):
		return command.Usagef("--max-connections, --job-key and --metrics are for an export with --workers or --queue")
	case !f.Elsewhere() && f.replicas != 1:
		return command.Usagef("--replicas is for --queue")
	}
	return nil
}

// Export is an export by several workers.
type Export struct {
	Flags    *ExportFlags
	Plan     *export.Plan // with the recipients, and a PartSize
	Layout   Layout
	Database database.Database
	Held     source.Snapshot // zero: a new one
	Choice   Choice
	Tables   func(ctx context.Context, src source.Source) ([]string, error)
	Omitted  func(ctx context.Context, src source.Source) ([]string, error) // by Tables
	To       *argument.Location                                             // a directory

	app    *command.App
	name   string // of the job
	secret []byte
	random bool // nobody has the secret once this process has ended
	config json.RawMessage
	place  place.Place
	status atomic.Pointer[workers.Status]
	teller teller
	events events

	attended time.Time // when there was a worker, or people were told that there is none; see attend
}

// Name returns the name of the job, once the export runs.
func (e *Export) Name() string { return e.name }

// Run exports the tables. The manifest is nil if the export has failed.
func (e *Export) Run(ctx context.Context, a *command.App, w *command.Work) (m *manifest.Manifest, err error) {
	e.app, e.teller.app = a, a
	if err := e.Database.NotShared(); err != nil {
		return nil, err
	}
	a.WaitFor(workerPatience)
	settings, err := newSettings(e.Plan, e.Layout, e.Choice, e.To)
	if err != nil {
		return nil, err
	}
	e.name, e.config = settings.name(), settings.encode()
	if w.Flags.JSON {
		e.events.job, e.teller.instead = e.name, e.events.notice
		e.events.begin(a)
		defer func() { err = errors.Join(err, e.events.end()) }()
	}
	if e.secret, err = e.Flags.secret(ctx, a); errors.Is(err, command.ErrNoIdentity) && e.isAlone() {
		e.secret, e.random = make([]byte, sha256.Size), true
		_, err = rand.Read(e.secret)
	}
	if err != nil {
		return nil, err
	}
	if e.place, err = e.To.Directory(); err != nil {
		return nil, err
	}
	q, done, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = done(err) }()
	if err := e.begin(ctx, q); err != nil {
		return nil, err
	}
	url, stop, err := e.Flags.metrics.Serve(e.figures()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	e.teller.metrics(url)
	w.Figures, w.Status = e.total, e.progress
	w.Begin()
	e.events.happened(workers.Event{Event: eventBegun})
	m, err = e.run(ctx, q)
	w.Stop() // what follows is no progress
	if m != nil {
		w.Figures = func() ui.Figures { return totalOf(m) }
	}
	return m, e.explain(err)
}

// happened tells of an event: programs of all, people of those that the progress does not show.
func (e *Export) happened(one workers.Event) {
	e.events.happened(one)
	if e.events.app != nil {
		return
	}
	switch one.Event {
	case workers.EventPartFailed:
		if e.Flags.Elsewhere() { // otherwise the worker of this process has said it
			e.teller.tell(fmt.Sprintf("table %q, part %d, attempt %d of worker %s: %s",
				one.Table, one.Part, one.Attempt, one.Worker, one.Reason))
		}
	case workers.EventTableFailed:
		e.teller.tell(fmt.Sprintf("table %q has failed, and the others go on: %s", one.Table,
			strings.TrimPrefix(one.Reason, fmt.Sprintf("table %q: ", one.Table))))
	}
}

// isAlone reports whether nobody but this process has to know the secret.
func (e *Export) isAlone() bool { return !e.Flags.Elsewhere() && !e.Flags.Resumes() }

// open opens the queue: elsewhere, or within this process.
func (e *Export) open(ctx context.Context) (q *workers.Queue, done func(error) error, err error) {
	if e.Flags.Elsewhere() {
		config, err := e.Flags.config(e.app)
		if err != nil {
			return nil, nil, err
		}
		config.Notice, config.Replicas = e.teller.tell, e.Flags.replicas
		q, err = open(ctx, config)
		return q, func(err error) error { q.Close(); return err }, err
	}
	// Nobody else can take the parts that this process fails to write. The place has a journal, so the data of the
	// queue may be lost.
	const attempts = 3
	q, err = open(ctx, workers.QueueConfig{MaxDeliver: attempts, Notice: e.teller.tell})
	return q, func(err error) error { q.Close(); return err }, err
}

// begin finds out whether the job exists already, and whether that is right.
func (e *Export) begin(ctx context.Context, q *workers.Queue) error {
	if e.Flags.Resumes() {
		return nil
	}
	all, err := q.Jobs(ctx)
	if err != nil || !slices.Contains(all, e.name) {
		return err
	}
	if e.Plan.Overwrite {
		return q.Remove(ctx, e.name)
	}
	return command.WithHint(fmt.Errorf("there is an export to %s already: job %s", e.To.Text, e.name),
		"what it does: culvert jobs "+e.Flags.flags(),
		"go on with it, if nobody coordinates it: --resume", "begin again: --force")
}

// run coordinates the job, and works on it.
func (e *Export) run(ctx context.Context, q *workers.Queue) (*manifest.Manifest, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &workers.Coordinator{
		Queue: q, Secret: e.secret, Job: e.name, Settings: e.config,
		Output: &workers.Output{Plan: e.Plan, Place: e.place},
		Open:   e.Database.Open, Join: e.Database.Join, Held: e.Held, Tables: e.Tables, Omitted: e.Omitted,
		MaxSessions: e.Flags.maxConnections, Resume: e.Flags.Resumes(),
		Mixed: e.Flags.resume == mixed,
		Event: e.happened, Notice: e.teller.tell,
		Progress: func(s workers.Status) {
			e.status.Store(&s)
			e.attend(&s)
			e.events.progress(&s)
		},
	}
	var working sync.WaitGroup
	if e.Flags.Workers > 0 {
		working.Go(func() {
			if err := e.work(inner, q); inner.Err() == nil {
				cancel(err)
			}
		})
	} else {
		e.teller.tell(fmt.Sprintf("job %s waits for workers: culvert worker %s SOURCE", e.name,
			e.Flags.flags()))
	}
	m, err := c.Run(inner)
	if cause := context.Cause(inner); err != nil && cause != nil && ctx.Err() == nil {
		err = cause // the workers of this process have failed
	}
	cancel(nil)
	working.Wait()
	return m, err
}

// unattended is for how long a job may have no worker before people are told how to start one.
const unattended = time.Minute

// attend tells people now and then that nobody works on the job. It is called with each state of the job.
func (e *Export) attend(s *workers.Status) {
	if !e.Flags.Elsewhere() {
		return
	}
	now := time.Now()
	if len(s.Workers) > 0 || e.attended.IsZero() {
		e.attended = now
	}
	if now.Sub(e.attended) < unattended {
		return
	}
	e.attended = now.Add(reminder - unattended)
	e.teller.tell(fmt.Sprintf("no worker has worked on job %s for a minute: culvert worker %s SOURCE starts one; "+
		"if one runs, it says why it leaves the job out", e.name, e.Flags.flags()))
}

// work writes parts in this process until ctx ends, or it fails.
func (e *Export) work(ctx context.Context, q *workers.Queue) error {
	plan := *e.Plan
	plan.Jobs, plan.Progress = 1, nil
	w := &workers.Worker{
		Queue: q, Secret: e.secret, Name: workerName(), Sessions: e.Flags.Workers,
		Open: func(context.Context, json.RawMessage) (*workers.Output, error) {
			return &workers.Output{Plan: &plan, Place: e.place}, nil
		},
		Join: e.Database.Join, Notice: e.teller.tell,
	}
	return stay(ctx, func() error { return w.Run(ctx, e.name) })
}

// stay works on a job until ctx ends, or the work fails. The job may be about to begin, and if the queue loses it, its
// coordinator puts it there again.
func stay(ctx context.Context, work func() error) error {
	for {
		wait := soon
		switch err := work(); {
		case errors.Is(err, workers.ErrNoCoordinator):
			wait = look // the one of this process is about to take over
		case err != nil && !errors.Is(err, workers.ErrNoJob):
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// later says how the export can go on once this process has ended.
func (e *Export) later() string {
	switch {
	case e.random:
		return "nobody can go on with it, since you have no identity; begun with --job-key FILE, it could go on"
	case !e.Flags.Elsewhere():
		return "--resume goes on where it was, if the database has not changed"
	}
	return "the job remains, and its workers go on; --resume coordinates it again"
}

// explain says what to try if an export has failed.
func (e *Export) explain(err error) error {
	if lost, is := errors.AsType[*workers.LostError](err); is {
		return command.WithHint(command.Rephrase(err, fmt.Sprintf("the snapshot is lost, with %d of %s complete "+
			"(%s, %s): %s", lost.Parts, ui.Several(int64(lost.Of), "part"), ui.Several(lost.Rows, "row"),
			ui.Bytes(lost.Bytes), command.Plain(lost.Err))),
			"export unfinished tables in a new snapshot: --resume=mixed",
			fmt.Sprintf("or begin again, and read about %s: --force", ui.Bytes(lost.All)))
	}
	switch {
	case errors.Is(err, command.ErrInterrupted), errors.Is(err, context.Canceled):
		e.teller.tell(e.later())
	case errors.Is(err, workers.ErrUnfinished):
		goOn := "go on with it: --resume"
		if e.random {
			goOn = "go on with it, if it was begun with an identity: --resume --job-key FILE"
		}
		return command.WithHint(fmt.Errorf("%s has an export that was not finished", e.To.Text), goOn,
			"or begin again: --force")
	case errors.Is(err, fs.ErrExist) && e.Flags.Resumes():
		// Whoever was killed after its last step tries this.
		return command.WithHint(fmt.Errorf("%s has the manifest of a complete export: there is nothing to go on with",
			e.To.Text), "verify it: culvert verify "+command.ForShell(shown(e.To.Text)),
			"or begin again, and overwrite files: --force")
	case errors.Is(err, workers.ErrDisk):
		return command.WithHint(err, "make room there, or set TMPDIR to another directory, and go on: --resume")
	case errors.Is(err, workers.ErrOccupied):
		return command.WithHint(err, "choose another directory: -o DIR", "or begin again, and overwrite files: --force")
	case errors.Is(err, workers.ErrOtherJob):
		return command.WithHint(err, "give the settings, tables, limits and --snapshot that it was begun with",
			"or begin again: --force")
	case errors.Is(err, workers.ErrCompleted):
		return command.WithHint(err, "verify it: culvert verify "+command.ForShell(shown(e.To.Text)))
	case errors.Is(err, workers.ErrNoJob):
		return command.Rephrase(err, "the job "+e.name+" was removed")
	}
	if e.Held.Token != "" {
		err = ExplainHeld(err)
	}
	return e.Database.Explain(otherKey(err, e.name))
}

// ExplainHeld says what to try if the snapshot of a token cannot be joined.
func ExplainHeld(err error) error {
	if errors.Is(err, source.ErrSnapshotLost) || errors.Is(err, source.ErrOtherServer) {
		return command.WithHint(err, "hold a snapshot of this database: culvert snapshot hold SOURCE")
	}
	return err
}

// total returns the figures of the job so far.
func (e *Export) total() ui.Figures {
	s := e.status.Load()
	if s == nil {
		return ui.Figures{}
	}
	// Those of the workers have the parts under way, and those of the job the parts of workers that have ended.
	var f ui.Figures
	for _, w := range s.Workers {
		f.Rows, f.In, f.Out = f.Rows+w.Rows, f.In+w.Text, f.Out+w.Out
	}
	return ui.Figures{Rows: max(f.Rows, s.Rows), In: max(f.In, s.Text), Out: max(f.Out, s.Out)}
}

func totalOf(m *manifest.Manifest) (f ui.Figures) {
	for i := range m.Tables {
		t := &m.Tables[i]
		f.Rows, f.In, f.Out = f.Rows+t.Rows, f.In+t.TextBytes, f.Out+t.FileBytes
	}
	return f
}

// progress returns how far the job is.
func (e *Export) progress() ui.Status {
	s := e.status.Load()
	if s == nil {
		return ui.Status{Task: ui.Task{Name: e.name}}
	}
	f := e.total()
	all := ui.Task{
		Name: fmt.Sprintf("%d/%d parts", s.Done, s.Parts), Amount: ui.Several(f.Rows, "row"), Bytes: f.In,
		Done: float64(s.BytesIn) / float64(max(1, s.Bytes)),
	}
	if len(s.Workers) == 0 {
		all.Name += ", no worker"
	}
	var active []ui.Task
	for _, w := range s.Workers {
		active = append(active, ui.Task{Name: w.Name, Amount: ui.Several(w.Rows, "row"), Bytes: w.Text})
	}
	return ui.Status{Task: all, Active: active}
}
