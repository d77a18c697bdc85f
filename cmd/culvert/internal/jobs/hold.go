package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/grace"
	"culvert/source"
	"culvert/workers"
)

// HoldReport is the report of culvert snapshot hold, at its beginning and at its end.
type HoldReport struct {
	command.Outcome
	Snapshot string  `json:"snapshot,omitempty"`
	Queue    string  `json:"queue,omitempty"`
	Jobs     int64   `json:"jobs"`
	Seconds  float64 `json:"seconds"`
}

// Text implements [command.Report].
func (r *HoldReport) Text() string { return "" }

// holdOptions are the flags of culvert snapshot hold.
type holdOptions struct {
	QueueFlags
	from        database.Flags
	json, quiet bool
}

// NewSnapshot returns culvert snapshot, with its verb.
func NewSnapshot(a *command.App) *cobra.Command {
	cmd := help.Command("snapshot")
	cmd.Args = command.UnknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(newHold(a))
	return cmd
}

func newHold(a *command.App) *cobra.Command {
	o, r := &holdOptions{}, &HoldReport{}
	cmd := help.Command("snapshot hold")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Command = cmd.Name()
		h := &holding{app: a, options: o, report: r, begun: time.Now()}
		h.reporter = Reporter{App: a, Silent: o.json || o.quiet}
		err := h.run(cmd.Context(), args)
		r.Seconds = time.Since(h.begun).Seconds()
		return a.Deliver(cmd, r, a.Stdout, o.json, command.Interruption(cmd.Context(), err))
	}
	o.QueueFlags.Add(cmd)
	o.from.Add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.quiet, "quiet", false, "show nothing but the token")
	return cmd
}

// holding is one run of culvert snapshot hold.
type holding struct {
	app      *command.App
	options  *holdOptions
	report   *HoldReport
	reporter Reporter
	db       database.Database
	begun    time.Time
	held     atomic.Int64 // snapshots
	jobs     atomic.Int64
}

func (h *holding) run(ctx context.Context, args []string) error {
	db, rest, err := h.options.from.Parse(h.app, args)
	if err == nil && len(rest) > 0 {
		err = command.Usagef("a snapshot is of the whole database, not of %q", rest[0])
	}
	if err == nil && !h.options.Elsewhere() && h.options.JobKey != "" {
		err = command.Usagef("--job-key is for --queue")
	}
	if err == nil {
		err = db.NotShared()
	}
	if err != nil {
		return err
	}
	h.db = db
	stop := h.remind()
	defer stop()
	if !h.options.Elsewhere() {
		err = h.alone(ctx)
	} else {
		err = h.forJobs(ctx)
	}
	h.report.Jobs = h.jobs.Load()
	if ctx.Err() != nil && !errors.Is(err, workers.ErrNotHeld) {
		return nil
	}
	return db.Explain(err)
}

// reminder is how often people are told what holding a snapshot costs.
const reminder = 10 * time.Minute

// cost is what holding a snapshot costs.
const cost = "meanwhile, the database cannot remove rows that were deleted or replaced (vacuum), in any table"

// remind reports now and then for how long the snapshots are held.
func (h *holding) remind() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var reminding sync.WaitGroup
	reminding.Go(func() {
		for grace.Wait(ctx, reminder) == nil {
			if n := h.held.Load(); n > 0 {
				h.reporter.Report(fmt.Sprintf("holding %s, for up to %s; %s", ui.Several(n, "snapshot"),
					ui.Duration(time.Since(h.begun)), cost))
			}
		}
	})
	return func() {
		cancel()
		reminding.Wait()
	}
}

// alone holds a new snapshot, and prints its token.
func (h *holding) alone(ctx context.Context) error {
	var printing error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &workers.Holder{
		Name: WorkerName(), Open: h.db.Open, Join: h.db.Join, Notice: h.reporter.Report,
		Held: func(s source.Snapshot) {
			h.held.Add(1)
			h.report.Snapshot = s.Token
			if printing = h.announce(); printing != nil {
				cancel()
			}
		},
	}
	err := one.Run(ctx)
	if printing != nil {
		return printing
	}
	return err
}

// announce says that a snapshot is held.
func (h *holding) announce() error {
	h.reporter.Report("holding a snapshot; Ctrl-C ends it")
	h.reporter.Report(cost)
	if h.options.json {
		return ui.WriteJSON(h.app.Stdout, h.report)
	}
	if h.report.Snapshot == "" {
		return nil
	}
	_, err := fmt.Fprintln(h.app.Stdout, h.report.Snapshot)
	return err
}

// forJobs holds the snapshots of all jobs of the queue.
func (h *holding) forJobs(ctx context.Context) error {
	config, err := h.options.Config(h.app)
	if err != nil {
		return err
	}
	secret, err := h.options.Secret(ctx, h.app)
	if err != nil {
		return err
	}
	config.Notice = h.reporter.Report
	h.report.Queue = Shown(config.URL)
	q, err := Open(ctx, config)
	if err != nil {
		return err
	}
	defer q.Close()
	h.reporter.Report("holding the snapshots of all jobs of " + h.report.Queue + "; Ctrl-C ends it")
	h.reporter.Report(cost)

	name := WorkerName()
	var mu sync.Mutex
	holders := map[string]bool{} // by the job
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // if the queue fails, no holder goes on
	return each(ctx, q.Jobs, 0, h.reporter.Report, func(job string) error {
		mu.Lock()
		defer mu.Unlock()
		if holders[job] {
			return workers.ErrNoJob // look again later
		}
		holders[job] = true
		all.Go(func() {
			err := h.join(ctx, &workers.Holder{
				Name: name, Queue: q, Secret: secret, Job: job, Join: h.db.Join, Notice: h.reporter.Report,
			})
			if err != nil && ctx.Err() == nil {
				h.reporter.Report("job " + job + ": " + command.Plain(OtherKey(err, job)))
				_ = grace.Wait(ctx, refused) // it makes no difference whether it has ended
			}
			mu.Lock()
			defer mu.Unlock()
			delete(holders, job)
		})
		return workers.ErrNoJob
	})
}

// join holds the snapshot of a job until the job has ended.
func (h *holding) join(ctx context.Context, one *workers.Holder) error {
	held := false
	one.Held = func(source.Snapshot) {
		held = true
		h.held.Add(1)
		h.jobs.Add(1)
		h.reporter.Report("holding the snapshot of job " + one.Job)
	}
	err := one.Run(ctx)
	if held {
		h.held.Add(-1)
	}
	if err == nil {
		h.reporter.Report("job " + one.Job + " has ended")
	}
	return err
}
