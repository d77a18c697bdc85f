package command

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
)

// report is what a command has to say when it has ended: as text if it succeeded, as JSON in any case. With --json it
// is one object on one line, on standard output, or on standard error if the data goes to standard output. Fields are
// only ever added.
type report interface {
	// text is what people read.
	Text() string
	Base() *Outcome
}

// Outcome is what is the same in the object of every command.
type Outcome struct {
	Command string   `json:"command,omitempty"`
	Code    int      `json:"code"`            // the exit code
	Error   string   `json:"error,omitempty"` // only on a failure
	Hints   []string `json:"hints,omitempty"`
}

// Base implements [Report].
func (o *Outcome) Base() *Outcome { return o }

// set notes how a command has ended.
func (o *Outcome) set(err error, secrets *Secrets) {
	o.Code, o.Hints = ExitCode(err), nil
	if err == nil {
		return
	}
	o.Error = secrets.Redact(Plain(err))
	for _, hint := range HintsOf(err) {
		o.Hints = append(o.Hints, secrets.Redact(hint))
	}
}

// UsageReport is the report of a command that has not begun, since the command line makes no sense.
type UsageReport struct{ Outcome }

// Text implements [Report].
func (r *UsageReport) Text() string { return "" }

// GivesData reports whether the data of a command goes to standard output, as far as its flags say.
func GivesData(cmd *cobra.Command) bool {
	output := ""
	if flag := cmd.Flags().Lookup("output"); flag != nil {
		output = flag.Value.String()
	}
	filters := []string{"cat", "encrypt", "decrypt"}
	return output == "-" || output == "" && slices.Contains(filters, cmd.Name())
}

// Deliver writes a report.
func (a *App) Deliver(cmd *cobra.Command, r report, to io.Writer, asJSON bool, err error) error {
	if !asJSON {
		if err != nil && !isReported(err) {
			return err
		}
		_, writeErr := io.WriteString(to, ui.Symbols(ui.Printable(r.Text())))
		return cmp.Or(writeErr, err)
	}
	base := r.Base()
	base.Command = cmd.Name()
	base.set(err, &a.Secrets)
	if writeErr := ui.WriteJSON(to, r); writeErr != nil {
		return writeErr
	}
	if err != nil {
		return &ReportedError{err}
	}
	return nil
}

// Reporting returns a command that only prints a report, which do fills in.
func (a *App) Reporting(name string, r report, do func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := help.Command(name)
	json := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := do(cmd.Context(), args)
		return a.Deliver(cmd, r, a.Stdout, *json, Interruption(cmd.Context(), err))
	}
	return cmd
}

// Tells reports whether people are told what is neither a warning nor an error.
func (f *WorkFlags) Tells() bool { return !f.quiet && !f.JSON }

// WorkFlags are those of every command that may take long.
type WorkFlags struct {
	JSON, verbose, quiet bool
	Jobs                 int

	notify      string // a URL or a command, or ""
	metricsFile string
}

// Add adds the flags to a command; jobsLetter is the short form of --jobs, if it has one.
func (f *WorkFlags) Add(cmd *cobra.Command, jobsLetter string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.JSON, "json", false, "end with a line of JSON")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "without a terminal, show progress every 10 s")
	flags.BoolVar(&f.quiet, "quiet", false, "show neither progress nor figures")
	flags.IntVarP(&f.Jobs, "jobs", jobsLetter, 0, "use `N` cores (default: all)")
	cmd.MarkFlagsMutuallyExclusive("verbose", "quiet")
}

// Check refuses flags that make no sense.
func (f *WorkFlags) Check() error {
	const most = 1024 // each takes memory
	if f.Jobs < 0 || f.Jobs > most {
		return Usagef("--jobs is %d, and must be from 0 to %d", f.Jobs, most)
	}
	if f.metricsFile != "" {
		return refuseOther(f.metricsFile)
	}
	return nil
}

// Command returns the command of work on the file that is its only argument, or on standard input.
func (f *WorkFlags) Command(
	a *App, name string, r workReporter, do func(ctx context.Context, w *Work, args []string) error,
) *cobra.Command {
	cmd := help.Command(name)
	cmd.Args = OneFile
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.Perform(cmd, f, r, func(ctx context.Context, w *Work) error { return do(ctx, w, args) })
	}
	f.Add(cmd, "")
	return cmd
}

// Work is a command at work.
type Work struct {
	App   *App
	Flags *WorkFlags

	Name     string            // what is made or read, at the beginning of the last line
	Total    int64             // of bytes to read, if it is known
	Figures  func() ui.Figures // safe for concurrent use
	Status   func() ui.Status  // safe for concurrent use; if it is nil, it follows from the figures
	Summary  string            // what the last line says before the figures
	ToStdout bool              // the data goes to standard output

	start time.Time
	Stop  func()
}

// Begin starts the clock and the progress, once all questions have been asked. Work may begin again.
func (w *Work) Begin() {
	if w.start.IsZero() {
		w.start = time.Now()
	}
	silent := w.Flags.quiet || w.ToStdout && (w.Flags.JSON || ui.IsTerminal(w.App.Stdout))
	style := w.App.Console.Style(silent, w.Flags.verbose)
	if w.Status == nil {
		w.Status = w.ofFigures
	}
	w.Stop = ui.Progress{Console: w.App.Console, Style: style, Read: w.Status}.Start()
}

// ofFigures is the status of work that moves bytes.
func (w *Work) ofFigures() ui.Status {
	figures := w.Figures()
	return ui.Status{Task: ui.Moving(w.Name, figures.In, w.Total)}
}

// WorkReport is the report of such commands.
type WorkReport struct {
	Outcome
	Output     string  `json:"output,omitempty"` // "-" is standard output
	Rows       *int64  `json:"rows,omitempty"`
	BytesIn    int64   `json:"bytes_in"`
	BytesOut   int64   `json:"bytes_out"`
	Seconds    float64 `json:"seconds"`
	PeakMemory int64   `json:"peak_memory_bytes"`
}

// Text implements [Report].
func (r *WorkReport) Text() string { return "" }

// Work implements [WorkReporter].
func (r *WorkReport) Work() *WorkReport { return r }

// workReporter is a workReport, or has one.
type workReporter interface {
	report
	Work() *WorkReport
}

// Perform runs a long command: do sets up the work, begins it, and ends when it is done. Then follow the last line, or
// the object.
func (a *App) Perform(
	cmd *cobra.Command, flags *WorkFlags, r workReporter, do func(ctx context.Context, w *Work) error,
) error {
	w := &Work{App: a, Flags: flags, Figures: func() ui.Figures { return ui.Figures{Rows: ui.NoRows} }}
	if flags.notify != "" {
		a.WaitFor(notifyPatience)
	}
	err := flags.Check()
	if err == nil {
		err = Interruption(cmd.Context(), do(cmd.Context(), w))
	}
	var elapsed time.Duration
	if w.Stop != nil {
		w.Stop()
		elapsed = time.Since(w.start)
	}
	figures, peak := w.Figures(), ui.PeakMemory()
	result := r.Work()
	result.BytesIn, result.BytesOut = figures.In, figures.Out
	result.Seconds, result.PeakMemory = elapsed.Seconds(), peak
	if figures.Rows >= 0 {
		result.Rows = &figures.Rows
	}
	to := a.Stdout
	if w.ToStdout {
		to = a.Stderr
	}
	ended := err
	err = a.Deliver(cmd, r, to, flags.JSON, err)
	defer a.tell(cmd.Context(), cmd, flags, r, ended)
	if (err == nil || isReported(err)) && w.WantsSummary() {
		a.Console.Print(w.Name + ": " + w.Summary + figures.Summary(elapsed, peak))
	}
	return err
}

// WantsSummary is true for who made a file, and for who watches; a filter in a pipe is silent.
func (w *Work) WantsSummary() bool {
	switch {
	case w.Flags.quiet || w.Flags.JSON:
		return false
	case w.Flags.verbose || !w.ToStdout:
		return true
	}
	return w.App.Console.Terminal() && !ui.IsTerminal(w.App.Stdout)
}
