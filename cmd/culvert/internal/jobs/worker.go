package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/grace"
	"culvert/source"
	"culvert/workers"
)

// WorkerReport is the report of culvert worker.
type WorkerReport struct {
	command.WorkReport
	Worker  string `json:"worker,omitempty"`
	Queue   string `json:"queue,omitempty"`
	Metrics string `json:"metrics,omitempty"`
	Jobs    int64  `json:"jobs"` // that were done while it worked on them
	Parts   int64  `json:"parts"`
}

// workerOptions are the flags of culvert worker.
type workerOptions struct {
	command.WorkFlags
	QueueFlags
	argument.PlaceFlags
	only    command.NamedRecipients
	from    database.Flags
	masks   masking.Flags
	metrics command.MetricsFlag
	idle    time.Duration
	hold    time.Duration
}

// NewWorker returns culvert worker.
func NewWorker(a *command.App) *cobra.Command {
	o, r := &workerOptions{}, &WorkerReport{}
	cmd := help.Command("worker")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.Perform(cmd, &o.WorkFlags, r, func(ctx context.Context, w *command.Work) error {
			return o.run(ctx, a, w, r, args)
		})
	}
	o.WorkFlags.Add(cmd, "j")
	o.QueueFlags.Add(cmd)
	o.PlaceFlags.Add(cmd)
	o.only.Add(cmd, "work only on exports to")
	o.from.Add(cmd)
	o.masks.AddKey(cmd)
	o.metrics.Add(cmd)
	flags := cmd.Flags()
	flags.Lookup("jobs").Usage = "write `N` parts at once, each with a session (default: one for each core)"
	flags.DurationVar(&o.idle, "idle-timeout", 0, "end after `TIME` without a job (default: never)")
	flags.Var((*longTime)(&o.hold), "hold-timeout",
		"leave an export without a coordinator `TIME` after its last part (default: 1h)")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "source-from" {
			name = "dsn-file"
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

// longTime is the value of a flag that is a time above zero.
type longTime time.Duration

func (l *longTime) Set(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return errors.New("it is a time such as 90s, 10m or 12h")
	}
	*l = longTime(d)
	return nil
}

func (l *longTime) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements [pflag.Value].
func (l *longTime) Type() string { return "duration" }

// mostParts bounds the parts that a worker writes at once unless it is told how many.
const mostParts = 16

// WorkerPatience is how much longer than others a worker or a coordinator may take to end: they note what is written.
const WorkerPatience = 15 * time.Second

func (o *workerOptions) run(
	ctx context.Context, a *command.App, w *command.Work, r *WorkerReport, args []string,
) (err error) {
	db, rest, err := o.from.Parse(a, args)
	if err == nil && len(rest) > 0 {
		err = command.WithHint(command.Usagef("a worker takes the tables of the jobs, not %q", rest[0]),
			"usage: culvert worker --queue URL SOURCE")
	}
	if err == nil {
		err = db.NotShared()
	}
	if err != nil {
		return err
	}
	config, err := o.Config(a)
	if err != nil {
		return err
	}
	secret, err := o.Secret(ctx, a)
	if err != nil {
		return err
	}
	only, err := o.recipients(ctx, a)
	if err != nil {
		return err
	}
	t := &Reporter{App: a, Silent: o.JSON}
	config.Notice = t.Report
	q, err := Open(ctx, config)
	if err != nil {
		return err
	}
	defer q.Close()
	var done tally
	url, stop, err := o.metrics.Serve(done.figures()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	r.Worker, r.Queue, r.Metrics = WorkerName(), Shown(config.URL), url
	w.Name = r.Worker
	w.Figures = func() ui.Figures {
		s := done.total()
		return ui.Figures{Rows: s.Rows, In: s.Text, Out: s.Out}
	}
	w.Status = func() ui.Status { return progressOf(done.total(), r.Worker) }
	sessions := o.Jobs
	if sessions == 0 {
		sessions = min(mostParts, runtime.GOMAXPROCS(0))
	}
	one := &workers.Worker{
		Queue: q, Secret: secret, Name: r.Worker, Sessions: sessions, Join: db.Join,
		Patience: o.hold, Progress: done.note, Notice: t.Report,
		Open: func(ctx context.Context, settings json.RawMessage) (*workers.Output, error) {
			return output(ctx, a, settings, &o.PlaceFlags, only, &o.masks)
		},
	}
	a.WaitFor(WorkerPatience)
	t.Report(fmt.Sprintf("worker %s takes parts from %s; Ctrl-C ends it", r.Worker, r.Queue))
	t.Metrics(url)
	w.Begin()
	err = each(ctx, q.Jobs, o.idle, t.Report, func(job string) error {
		err := one.Run(ctx, job)
		done.end(err == nil)
		return err
	})
	s := done.total()
	r.Parts, r.Jobs = s.Parts, done.jobs
	w.Summary = ui.Several(s.Parts, "part") + ", "
	return err
}

// recipients returns the only ones that jobs may have, or nil for any.
func (o *workerOptions) recipients(ctx context.Context, a *command.App) ([]string, error) {
	if !o.only.Named() {
		return nil, nil
	}
	all, err := o.only.Read(a, a.KeyReader(ctx, &command.PassphraseFlags{}))
	if err != nil {
		return nil, err
	}
	return textsOf(all)
}

// progressOf is how far a worker is. It does not know how much there is.
func progressOf(s workers.WorkerStatus, name string) ui.Status {
	text := name + ", waiting"
	if s.Sessions > 0 {
		text = name + ", " + ui.Several(s.Parts, "part")
	}
	return ui.Status{Task: ui.Task{Name: text, Amount: ui.Several(s.Rows, "row"), Bytes: s.Text}}
}

// Waits between two looks into the queue: for a job that is about to begin, for any, for one that nobody coordinates,
// and for one that was refused.
const (
	soon     = 50 * time.Millisecond
	look     = time.Second
	forsaken = 5 * time.Second
	refused  = 30 * time.Second
)

// each works on the jobs that list returns, one after the other, until ctx ends, or there was none for idle, if that is
// not 0. It begins with any of them, so that several workers share several jobs. A job that it cannot work on is tried
// again later, after the others. The error is nil if ctx has ended.
func each(
	ctx context.Context, list func(context.Context) ([]string, error), idle time.Duration, report func(string),
	work func(job string) error,
) error {
	last := time.Now()            // since when it is idle; work on jobs that fail is not counted
	not := map[string]time.Time{} // until then
	for {
		all, err := list(ctx)
		if ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		slices.SortStableFunc(all, func(a, b string) int { return not[a].Compare(not[b]) })
		for _, job := range all {
			if time.Now().Before(not[job]) {
				continue
			}
			begun := time.Now()
			err := work(job)
			last = last.Add(time.Since(begun))
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil:
				last = time.Now()
			case errors.Is(err, workers.ErrNoCoordinator):
				not[job] = time.Now().Add(forsaken)
				report("leaving out job " + job + ", which nobody coordinates: " + shownReason(err))
			case !errors.Is(err, workers.ErrNoJob): // it is about to begin, or has ended
				not[job] = time.Now().Add(refused)
				report("leaving out job " + job + ": " + command.Plain(OtherKey(err, job)))
			}
		}
		if idle > 0 && time.Since(last) > idle {
			return nil
		}
		if err := grace.Wait(ctx, look/2+rand.N(look)); err != nil {
			return nil
		}
	}
}

// shownReason says why nothing goes on in a job that nobody coordinates.
func shownReason(err error) string {
	if errors.Is(err, source.ErrSnapshotLost) {
		return "its snapshot is lost"
	}
	return "there is nothing to write"
}
