package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"culvert/export"
	"culvert/internal/ui"
)

// report is what a command has to say when it has ended: as text if it succeeded, as JSON in any case. With --json it
// is one object on one line, on standard output, or on standard error if the data goes to standard output. Fields are
// only ever added.
type report interface {
	// text is what people read.
	text() string
	base() *outcome
}

// outcome is what is the same in the object of every command.
type outcome struct {
	Command string   `json:"command,omitempty"`
	Code    int      `json:"code"`            // the exit code
	Error   string   `json:"error,omitempty"` // only on a failure
	Hints   []string `json:"hints,omitempty"`
}

func (o *outcome) base() *outcome { return o }

// set notes how a command has ended.
func (o *outcome) set(err error, secrets *secrets) {
	o.Code = exitCode(err)
	if err == nil {
		return
	}
	o.Error = secrets.redact(plain(err))
	for _, hint := range hintsOf(err) {
		o.Hints = append(o.Hints, secrets.redact(hint))
	}
}

// usageReport is the report of a command that has not begun, since the command line makes no sense.
type usageReport struct{ outcome }

func (r *usageReport) text() string { return "" }

// givesData reports whether the data of a command goes to standard output, as far as its flags say.
func givesData(cmd *cobra.Command) bool {
	output := ""
	if flag := cmd.Flags().Lookup("output"); flag != nil {
		output = flag.Value.String()
	}
	filters := []string{"cat", "encrypt", "decrypt"}
	return output == "-" || output == "" && slices.Contains(filters, cmd.Name())
}

// deliver writes a report.
func (a *app) deliver(cmd *cobra.Command, r report, to io.Writer, asJSON bool, err error) error {
	if !asJSON {
		if err != nil && !is[*export.PartialError](err) {
			return err
		}
		_, writeErr := io.WriteString(to, ui.Printable(r.text()))
		return cmp.Or(writeErr, err)
	}
	base := r.base()
	base.Command = cmd.Name()
	base.set(err, &a.secrets)
	if writeErr := ui.WriteJSON(to, r); writeErr != nil {
		return writeErr
	}
	if err != nil {
		return &reportedError{err}
	}
	return nil
}

// reporting returns a command that only prints a report, which do fills in.
func (a *app) reporting(name string, r report, do func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := command(name)
	json := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := do(cmd.Context(), args)
		return a.deliver(cmd, r, a.stdout, *json, interruption(cmd.Context(), err))
	}
	return cmd
}

// workFlags are those of every command that may take long.
type workFlags struct {
	json, verbose, quiet bool
	jobs                 int
}

func (f *workFlags) add(cmd *cobra.Command, jobsLetter string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "end with a line of JSON")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "without a terminal, show progress every 10 s")
	flags.BoolVar(&f.quiet, "quiet", false, "show neither progress nor figures")
	flags.IntVarP(&f.jobs, "jobs", jobsLetter, 0, "use `N` cores (default: all)")
	cmd.MarkFlagsMutuallyExclusive("verbose", "quiet")
}

func (f *workFlags) check() error {
	const most = 1024 // each takes memory
	if f.jobs < 0 || f.jobs > most {
		return usagef("--jobs is %d, and must be from 0 to %d", f.jobs, most)
	}
	return nil
}

// command returns the command of work on the file that is its only argument, or on standard input.
func (f *workFlags) command(
	a *app, name string, r workReporter, do func(ctx context.Context, w *work, args []string) error,
) *cobra.Command {
	cmd := command(name)
	cmd.Args = oneFile
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.perform(cmd, f, r, func(ctx context.Context, w *work) error { return do(ctx, w, args) })
	}
	f.add(cmd, "")
	return cmd
}

// work is a command at work.
type work struct {
	app   *app
	flags *workFlags

	name     string            // what is made or read, at the beginning of the last line
	total    int64             // of bytes to read, if it is known
	figures  func() ui.Figures // safe for concurrent use
	status   func() ui.Status  // safe for concurrent use; if it is nil, it follows from the figures
	summary  string            // what the last line says before the figures
	toStdout bool              // the data goes to standard output

	start time.Time
	stop  func()
}

// begin starts the clock and the progress, once all questions have been asked.
func (w *work) begin() {
	w.start = time.Now()
	silent := w.flags.quiet || w.toStdout && (w.flags.json || ui.IsTerminal(w.app.stdout))
	style := w.app.console.Style(silent, w.flags.verbose)
	if w.status == nil {
		w.status = w.ofFigures
	}
	w.stop = ui.Progress{Console: w.app.console, Style: style, Read: w.status}.Start()
}

// ofFigures is the status of work that moves bytes.
func (w *work) ofFigures() ui.Status {
	figures := w.figures()
	return ui.Status{Task: ui.Moving(w.name, figures.In, w.total)}
}

// beginMoving begins the work of a command that reads in, and counts what it writes to out.
func (w *work) beginMoving(in *input, out io.Writer) *countingWriter {
	counted := &countingWriter{w: out}
	w.total = in.size
	w.figures = func() ui.Figures {
		return ui.Figures{Rows: ui.NoRows, In: in.read.Load(), Out: counted.n.Load()}
	}
	w.begin()
	return counted
}

// workReport is the report of such commands.
type workReport struct {
	outcome
	Output     string  `json:"output,omitempty"` // "-" is standard output
	Rows       *int64  `json:"rows,omitempty"`
	BytesIn    int64   `json:"bytes_in"`
	BytesOut   int64   `json:"bytes_out"`
	Seconds    float64 `json:"seconds"`
	PeakMemory int64   `json:"peak_memory_bytes"`
}

func (r *workReport) text() string { return "" }

func (r *workReport) work() *workReport { return r }

// workReporter is a workReport, or has one.
type workReporter interface {
	report
	work() *workReport
}

// perform runs a long command: do sets up the work, begins it, and ends when it is done. Then follow the last line, or
// the object.
func (a *app) perform(
	cmd *cobra.Command, flags *workFlags, r workReporter, do func(ctx context.Context, w *work) error,
) error {
	w := &work{app: a, flags: flags, figures: func() ui.Figures { return ui.Figures{Rows: ui.NoRows} }}
	err := flags.check()
	if err == nil {
		err = interruption(cmd.Context(), do(cmd.Context(), w))
	}
	var elapsed time.Duration
	if w.stop != nil {
		w.stop()
		elapsed = time.Since(w.start)
	}
	figures, peak := w.figures(), ui.PeakMemory()
	result := r.work()
	result.BytesIn, result.BytesOut = figures.In, figures.Out
	result.Seconds, result.PeakMemory = elapsed.Seconds(), peak
	if figures.Rows >= 0 {
		result.Rows = &figures.Rows
	}
	to := a.stdout
	if w.toStdout {
		to = a.stderr
	}
	err = a.deliver(cmd, r, to, flags.json, err)
	if (err == nil || is[*export.PartialError](err)) && w.wantsSummary() {
		a.console.Print(w.name + ": " + w.summary + figures.Summary(elapsed, peak))
	}
	return err
}

// wantsSummary is true for who made a file, and for who watches; a filter in a pipe is silent.
func (w *work) wantsSummary() bool {
	switch {
	case w.flags.quiet || w.flags.json:
		return false
	case w.flags.verbose || !w.toStdout:
		return true
	}
	return w.app.console.Terminal() && !ui.IsTerminal(w.app.stdout)
}
