package export

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
	"culvert/cmd/culvert/internal/jobs"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/grace"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
	"culvert/workers"
)

// workerFlags are the flags of an export by several workers.
type workerFlags struct {
	jobs.QueueFlags
	workers        int
	resume         resume
	maxConnections int
	replicas       int
	metrics        command.MetricsFlag
}

// Add adds the flags to a command.
func (f *workerFlags) Add(cmd *cobra.Command) {
	f.QueueFlags.Add(cmd)
	f.metrics.Add(cmd)
	flags := cmd.Flags()
	flags.Var(command.Positive(&f.workers), "workers", "read parts with `N` sessions of this process")
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

// given reports whether the export is one by several workers.
func (f *workerFlags) given() bool { return f.workers != 0 || f.Elsewhere() || f.resume != "" }

// resumes reports whether the export goes on with an earlier one.
func (f *workerFlags) resumes() bool { return f.resume != "" }

// mostWorkers bounds the sessions of one process: each takes memory.
const mostWorkers = 256

// defaultPartSize is the size of the parts that several workers write.
const defaultPartSize = 256 << 20

// sizeOfParts returns the size of parts, or 0 if tables are not written in parts.
func (o *options) sizeOfParts() int64 {
	if o.partSize == 0 && o.shared.given() {
		return defaultPartSize
	}
	return int64(o.partSize)
}

// checkShared refuses flags of an export by several workers that do not fit together.
func (o *options) checkShared() error {
	f := &o.shared
	switch {
	case o.ordered && f.given():
		return command.WithHint(command.Usagef("--ordered is for one connection, not for several workers"),
			"leave out --workers, --queue and --resume")
	case o.Jobs != 0 && (f.workers != 0 || f.Elsewhere()):
		return command.WithHint(command.Usagef("--jobs says nothing of an export with --workers or --queue"),
			"use N sessions of this process: --workers N", "or N of another one: culvert worker -j N")
	case f.workers > mostWorkers:
		return command.Usagef("--workers is %d, and must be from 1 to %d", f.workers, mostWorkers)
	case f.maxConnections > workers.MostSessions:
		return command.WithHint(command.Usagef("--max-connections is %d, and must be from 1 to %d", f.maxConnections,
			workers.MostSessions), "leave it out for any number of connections")
	case !f.given() && (f.maxConnections > 0 || f.JobKey != "" || f.metrics != ""):
		return command.Usagef("--max-connections, --job-key and --metrics are for an export with --workers or --queue")
	case !f.Elsewhere() && f.replicas != 1:
		return command.Usagef("--replicas is for --queue")
	}
	return nil
}

// coordination is an export by several workers, which this process coordinates.
type coordination struct {
	*request
	app *command.App
	to  *argument.Location // a directory

	job      string   // its name, once the export runs
	meant    []string // the tables, if they are known before
	hash     string   // of what patterns have chosen, if there are any
	secret   []byte
	random   bool // nobody has the secret once this process has ended
	config   json.RawMessage
	place    place.Place
	status   atomic.Pointer[workers.Status]
	reporter jobs.Reporter
	events   events

	attended time.Time // when there was a worker, or people were told that there is none; see attend
}

// share exports tables by several workers.
func (e *request) share(
	ctx context.Context, a *command.App, w *command.Work, r *Report, l *argument.Location,
) (err error) {
	if err := e.checkFiles(l); err != nil {
		return err
	}
	if !e.options.shared.Elsewhere() { // otherwise several processes may write one export
		release, err := e.options.occupy(l)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	if flags := &e.options.shared; flags.workers == 0 && !flags.Elsewhere() {
		flags.workers = e.plan.MaxReaders()
	}
	r.Output, w.Name = l.Text, l.Text
	one := &coordination{request: e, app: a, to: l, reporter: jobs.Reporter{App: a}}
	m, err := one.coordinate(ctx, w)
	r.Job = one.job
	if m != nil {
		if r.Consistent, r.Omitted = &m.Consistent, m.LeftOut(); m.Schema != nil {
			r.Schema = &schemaReport{By: m.Schema.By, Statements: m.Schema.Before + m.Schema.After}
		}
		if !w.Flags.JSON {
			a.WarnOmitted(r.Omitted)
		}
		r.tell(w, reportsOf(a, m), len(m.Tables))
		if !m.Consistent && !w.Flags.JSON {
			a.Console.Warn("the tables are not of one snapshot; culvert verify says which are")
		}
	}
	if errors.Is(err, fs.ErrExist) {
		err = l.Explain(err) // a manifest
	}
	return err
}

// coordinate exports the tables. The manifest is nil if the export has failed.
func (e *coordination) coordinate(ctx context.Context, w *command.Work) (m *manifest.Manifest, err error) {
	e.app.WaitFor(jobs.WorkerPatience)
	choice := jobs.Choice{Names: e.names, All: e.options.all, Schemas: e.options.schemas}
	if err := e.lookAhead(ctx, &choice); err != nil {
		return nil, err
	}
	settings, err := jobs.NewSettings(e.plan, e.options.Layout, choice, e.to)
	if err != nil {
		return nil, err
	}
	e.job, e.config = settings.Name(), settings.Encode()
	if w.Flags.JSON {
		e.events.job, e.reporter.Instead = e.job, e.events.notice
		e.events.begin(e.app)
		defer func() { err = errors.Join(err, e.events.end()) }()
	}
	if e.secret, err = e.flags().Secret(ctx, e.app); errors.Is(err, command.ErrNoIdentity) && e.isAlone() {
		e.secret, e.random = make([]byte, sha256.Size), true
		_, err = rand.Read(e.secret)
	}
	if err != nil {
		return nil, err
	}
	if e.place, err = e.to.Directory(); err != nil {
		return nil, err
	}
	q, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if err := e.begin(ctx, q); err != nil {
		return nil, err
	}
	url, stop, err := e.flags().metrics.Serve(e.figures()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	e.reporter.Metrics(url)
	w.Figures, w.Status = e.total, e.progress
	w.Begin()
	e.events.happened(workers.Event{Event: eventBegun})
	m, err = e.export(ctx, q)
	w.Stop() // what follows is no progress
	if m != nil {
		w.Figures = func() ui.Figures { return totalOf(m) }
	}
	return m, e.explain(err)
}

func (e *coordination) flags() *workerFlags { return &e.options.shared }

// happened tells of an event: programs of all, people of those that the progress does not show.
func (e *coordination) happened(one workers.Event) {
	e.events.happened(one)
	if e.events.app != nil {
		return
	}
	switch one.Event {
	case workers.EventPartFailed:
		if e.flags().Elsewhere() { // otherwise the worker of this process has said it
			e.reporter.Report(fmt.Sprintf("table %q, part %d, attempt %d of worker %s: %s",
				one.Table, one.Part, one.Attempt, one.Worker, one.Reason))
		}
	case workers.EventTableFailed:
		e.reporter.Report(fmt.Sprintf("table %q has failed, and the others go on: %s", one.Table,
			strings.TrimPrefix(one.Reason, fmt.Sprintf("table %q: ", one.Table))))
	}
}

// isAlone reports whether nobody but this process has to know the secret.
func (e *coordination) isAlone() bool { return !e.flags().Elsewhere() && !e.flags().resumes() }

// open opens the queue: elsewhere, or within this process.
func (e *coordination) open(ctx context.Context) (*workers.Queue, error) {
	if !e.flags().Elsewhere() {
		// Nobody else can take the parts that this process fails to write. The place has a journal, so the data of the
		// queue may be lost.
		const attempts = 3
		return jobs.Open(ctx, workers.QueueConfig{MaxDeliver: attempts, Notice: e.reporter.Report})
	}
	config, err := e.flags().Config(e.app)
	if err != nil {
		return nil, err
	}
	config.Notice, config.Replicas = e.reporter.Report, e.flags().replicas
	return jobs.Open(ctx, config)
}

// begin finds out whether the job exists already, and whether that is right.
func (e *coordination) begin(ctx context.Context, q *workers.Queue) error {
	if e.flags().resumes() {
		return nil
	}
	all, err := q.Jobs(ctx)
	if err != nil || !slices.Contains(all, e.job) {
		return err
	}
	if e.plan.Overwrite {
		return q.Remove(ctx, e.job)
	}
	return command.WithHint(fmt.Errorf("there is an export to %s already: job %s", e.to.Text, e.job),
		"what it does: culvert jobs "+e.flags().Shell(),
		"go on with it, if nobody coordinates it: --resume", "begin again: --force")
}

// export coordinates the job, and works on it.
func (e *coordination) export(ctx context.Context, q *workers.Queue) (*manifest.Manifest, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &workers.Coordinator{
		Queue: q, Secret: e.secret, Job: e.job, Settings: e.config,
		Output: &workers.Output{Plan: e.plan, Place: e.place},
		Open:   e.db.Open, Join: e.db.Join, Held: e.options.held(),
		Tables: e.maskedTables,
		Schema: e.schema,
		Omitted: func(ctx context.Context, src source.Source) ([]string, error) {
			omitted, err := e.omitted(ctx, src)
			return append(e.plan.Schema.WithoutMade(omitted), e.plan.Omitted...), err
		},
		MaxSessions: e.flags().maxConnections, Resume: e.flags().resumes(),
		Mixed: e.flags().resume == mixed,
		Event: e.happened, Notice: e.reporter.Report,
		Progress: func(s workers.Status) {
			e.status.Store(&s)
			e.attend(&s)
			e.events.progress(&s)
		},
	}
	var working sync.WaitGroup
	if e.flags().workers > 0 {
		working.Go(func() {
			if err := e.work(inner, q); inner.Err() == nil {
				cancel(err)
			}
		})
	} else {
		e.reporter.Report(fmt.Sprintf("job %s waits for workers: culvert worker %s SOURCE", e.job,
			e.flags().Shell()))
	}
	m, err := c.Run(inner)
	if cause := context.Cause(inner); err != nil && cause != nil && ctx.Err() == nil {
		err = cause // the workers of this process have failed
	}
	if err == nil || command.Is[*export.PartialError](err) {
		// The job is removed. A worker that did not know would tell the queue that it ends, which takes half a second:
		// for so long, the library for NATS asks again for a stream that nobody answers for.
		cancel(workers.ErrNoJob)
	}
	cancel(nil)
	working.Wait()
	return m, err
}

// unattended is for how long a job may have no worker before people are told how to start one, and reminder how often
// they are told again.
const (
	unattended = time.Minute
	reminder   = 10 * time.Minute
)

// attend tells people now and then that nobody works on the job. It is called with each state of the job.
func (e *coordination) attend(s *workers.Status) {
	if !e.flags().Elsewhere() {
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
	e.reporter.Report(fmt.Sprintf("no worker has worked on job %s for a minute: culvert worker %s SOURCE starts one; "+
		"if one runs, it says why it leaves the job out", e.job, e.flags().Shell()))
}

// work writes parts in this process until ctx ends, or it fails.
func (e *coordination) work(ctx context.Context, q *workers.Queue) error {
	plan := *e.plan
	plan.Jobs, plan.Progress = 1, nil
	w := &workers.Worker{
		Queue: q, Secret: e.secret, Name: jobs.WorkerName(), Sessions: e.flags().workers,
		Open: func(context.Context, json.RawMessage) (*workers.Output, error) {
			return &workers.Output{Plan: &plan, Place: e.place}, nil
		},
		Join: e.db.Join, Notice: e.reporter.Report,
	}
	return stay(ctx, func() error { return w.Run(ctx, e.job) })
}

// stay works on a job until ctx ends, or the work fails. The job may be about to begin, and if the queue loses it, its
// coordinator puts it there again.
func stay(ctx context.Context, work func() error) error {
	const soon, later = 50 * time.Millisecond, time.Second
	for {
		wait := soon
		switch err := work(); {
		case errors.Is(err, workers.ErrNoCoordinator):
			wait = later // the one of this process is about to take over
		case err != nil && !errors.Is(err, workers.ErrNoJob):
			return err
		}
		if err := grace.Wait(ctx, wait); err != nil {
			return err
		}
	}
}

// later says how the export can go on once this process has ended.
func (e *coordination) later() string {
	switch {
	case e.random:
		return "nobody can go on with it, since you have no identity; begun with --job-key FILE, it could go on"
	case !e.flags().Elsewhere():
		return "--resume goes on where it was, if the database has not changed"
	}
	return "the job remains, and its workers go on; --resume coordinates it again"
}

// explain says what to try if an export has failed.
func (e *coordination) explain(err error) error {
	if lost, is := errors.AsType[*workers.LostError](err); is {
		return command.WithHint(command.Rephrase(err, fmt.Sprintf("the snapshot is lost, with %d of %s complete "+
			"(%s, %s): %s", lost.Parts, ui.Several(int64(lost.Of), "part"), ui.Several(lost.Rows, "row"),
			ui.Bytes(lost.Bytes), command.Plain(lost.Err))),
			"export unfinished tables in a new snapshot: --resume=mixed",
			fmt.Sprintf("or begin again, and read about %s: --force", ui.Bytes(lost.All)))
	}
	switch {
	case errors.Is(err, command.ErrInterrupted), errors.Is(err, context.Canceled):
		e.reporter.Report(e.later())
	case errors.Is(err, workers.ErrUnfinished):
		goOn := "go on with it: --resume"
		if e.random {
			goOn = "go on with it, if it was begun with an identity: --resume --job-key FILE"
		}
		return command.WithHint(fmt.Errorf("%s has an export that was not finished", e.to.Text), goOn,
			"or begin again: --force")
	case errors.Is(err, fs.ErrExist) && e.flags().resumes():
		// Whoever was killed after its last step tries this.
		return command.WithHint(fmt.Errorf("%s has the manifest of a complete export: there is nothing to go on with",
			e.to.Text), "verify it: culvert verify "+command.ForShell(jobs.Shown(e.to.Text)),
			"or begin again, and overwrite files: --force")
	case errors.Is(err, workers.ErrDisk):
		return command.WithHint(err, "make room there, or set TMPDIR to another directory, and go on: --resume")
	case errors.Is(err, workers.ErrOccupied):
		return command.WithHint(err, "choose another directory: -o DIR", "or begin again, and overwrite files: --force")
	case errors.Is(err, workers.ErrOtherJob):
		return command.WithHint(e.differing(err), "give the settings, tables, limits and --snapshot that it was begun "+
			"with", "or begin again: --force")
	case errors.Is(err, workers.ErrCompleted):
		return command.WithHint(err, "verify it: culvert verify "+command.ForShell(jobs.Shown(e.to.Text)))
	case errors.Is(err, workers.ErrNoJob):
		return command.Rephrase(err, "the job "+e.job+" was removed")
	}
	if e.options.snapshot != "" {
		err = explainHeld(err)
	}
	return e.db.Explain(jobs.OtherKey(err, e.job))
}

// explainHeld says what to try if the snapshot of a token cannot be joined.
func explainHeld(err error) error {
	if errors.Is(err, source.ErrSnapshotLost) || errors.Is(err, source.ErrOtherServer) {
		return command.WithHint(err, "hold a snapshot of this database: culvert snapshot hold SOURCE")
	}
	return err
}
