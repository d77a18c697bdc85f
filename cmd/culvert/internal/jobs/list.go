package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/workers"
)

// Report is the report of culvert jobs.
type Report struct {
	command.Outcome
	Queue   string `json:"queue,omitempty"`
	Removed string `json:"removed,omitempty"`
	Jobs    []job  `json:"jobs"`
}

// job is a job of the queue.
type job struct {
	workers.Status
	Error string `json:"error,omitempty"` // why there are no figures
}

// New returns culvert jobs.
func New(a *command.App) *cobra.Command {
	f, r, remove := &QueueFlags{}, &Report{}, ""
	cmd := a.Reporting("jobs", r, func(ctx context.Context, _ []string) error {
		return list(ctx, a, r, f, remove)
	})
	cmd.Args = command.Exactly(0)
	f.Add(cmd)
	cmd.Flags().Var((*command.NotEmpty)(&remove), "remove", "give up the `JOB`")
	return cmd
}

func list(ctx context.Context, a *command.App, r *Report, f *QueueFlags, remove string) error {
	r.Jobs = []job{}
	config, err := f.Config(a)
	if err != nil {
		return err
	}
	r.Queue = Shown(config.URL)
	q, err := Open(ctx, config)
	if err != nil {
		return err
	}
	defer q.Close()
	all, err := q.Jobs(ctx)
	if err != nil {
		return err
	}
	if remove != "" {
		if !slices.Contains(all, remove) {
			return command.WithHint(fmt.Errorf("there is no job %q", remove), "list them: culvert jobs")
		}
		r.Removed = remove
		return q.Remove(ctx, remove)
	}
	if len(all) == 0 {
		return nil
	}
	secret, err := f.Secret(ctx, a)
	if err != nil {
		return err
	}
	for _, name := range all {
		status, err := workers.Inspect(ctx, q, name, secret)
		switch {
		case errors.Is(err, workers.ErrNoJob):
			continue // it has ended, or is about to begin
		case errors.Is(err, workers.ErrSealed):
			r.Jobs = append(r.Jobs, job{workers.Status{Job: name}, "it has another key: --job-key FILE"})
			continue
		case err != nil:
			return err
		}
		r.Jobs = append(r.Jobs, job{Status: status})
	}
	return nil
}

// stuck is how long rows may stand still, or a worker may be silent, before people should look after it.
const stuck = 30 * time.Second

// Text implements [command.Report].
func (r *Report) Text() string {
	switch {
	case r.Removed != "":
		return "removed " + r.Removed + "\n"
	case len(r.Jobs) == 0:
		return "no jobs\n"
	}
	var b strings.Builder
	for i := range r.Jobs {
		if i > 0 {
			b.WriteByte('\n')
		}
		r.Jobs[i].write(&b)
	}
	return b.String()
}

func (j *job) write(b *strings.Builder) {
	if j.Error != "" {
		fmt.Fprintf(b, "%s: %s\n", j.Job, j.Error)
		return
	}
	fmt.Fprintf(b, "%s  %s  %d of %s  %.0f %%", j.Job, bar(j.share()), j.Done, ui.Several(int64(j.Parts), "part"),
		100*j.share())
	if left := j.left(); left > 0 {
		fmt.Fprintf(b, "  about %s left", ui.Duration(left))
	}
	fmt.Fprintf(b, "\n  %s, %s, %s of text, %s written; begun %s\n", ui.Several(int64(j.Tables), "table"),
		ui.Several(j.Rows, "row"), ui.Bytes(j.Text), ui.Bytes(j.Out), j.Begun.Local().Format(time.DateTime))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		_, _ = io.WriteString(w, "  "+ui.Line(strings.Join(cells, "\t"))+"\n") // into memory
	}
	if len(j.Workers) > 0 {
		line("WORKER", "PARTS", "ROWS", "SPEED", "STATE")
	}
	for i := range j.Workers {
		one := &j.Workers[i]
		speed := ui.Rate(int64(one.Rate), time.Second)
		line(one.Name, ui.Count(one.Parts), ui.Count(one.Rows), speed, stateOf(one))
	}
	_ = w.Flush()
	switch goOn := "the same export with --resume goes on"; {
	case j.SnapshotLost:
		b.WriteString("  snapshot lost, no coordinator: " + goOn + " if nothing has changed, or with --resume=mixed\n")
	case j.NoCoordinator:
		b.WriteString("  no coordinator: " + goOn + "\n")
	case len(j.Workers) == 0:
		b.WriteString("  no worker: nothing goes on\n")
	}
	for _, failure := range j.Failed {
		fmt.Fprintf(b, "  failed: %s\n", ui.Line(plain(failure)))
	}
	const most = 5
	for _, failure := range j.Failures[:min(most, len(j.Failures))] {
		fmt.Fprintf(b, "  failed, and tried again: part %s\n", ui.Line(plain(failure)))
	}
	if more := len(j.Failures) - most; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

func plain(text string) string { return command.PackageNames.ReplaceAllString(text, "$1") }

// share is the part of the job that is done.
func (j *job) share() float64 {
	switch {
	case j.Bytes > 0:
		return float64(j.BytesIn) / float64(j.Bytes)
	case j.Parts > 0:
		return float64(j.Done) / float64(j.Parts)
	}
	return 0
}

// left estimates how long the rest takes, from how fast the workers are now.
func (j *job) left() time.Duration {
	rate := 0.0
	for i := range j.Workers {
		rate += j.Workers[i].Rate
	}
	if share := j.share(); rate > 0 && share > 0 && j.Text > 0 {
		return time.Duration(float64(j.Text) * (1 - share) / share / rate * float64(time.Second))
	}
	return 0
}

// bar draws how much is done.
func bar(share float64) string {
	const width = 20
	full := min(width, int64(share*width))
	return strings.Repeat("█", int(full)) + strings.Repeat("░", int(width-full))
}

// stateOf says in a few words what a worker does, or what is wrong with it.
func stateOf(s *workers.WorkerStatus) string {
	tables := slices.Clone(s.Writing)
	slices.Sort(tables)
	tables = slices.Compact(tables)
	silent, still := seconds(s.Silent), seconds(s.Still)
	switch {
	case silent > stuck:
		return "silent for " + ui.Duration(silent) + ": dead, or cut off"
	case still > stuck:
		return "stuck for " + ui.Duration(still) + " in " + strings.Join(tables, ", ")
	case s.Sessions == 0 && s.Failure != "":
		return "not connected: " + plain(s.Failure)
	case s.Sessions == 0:
		return "waits for a session"
	case len(tables) == 0:
		return "waits for parts"
	}
	return "writes " + strings.Join(tables, ", ")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
