// Package cli is the command line of Culvert: one file for each verb, and what the verbs share.
//
// [Main] is all that the program needs. It builds the verbs, runs the one that is asked for, and turns what comes of it
// into messages and an exit code. The steps of a run are
//
//	arguments ──▶ verb ──▶ perform ──▶ report ──▶ exit code
//	 (cobra)    its flags   progress    text or    (exit.go)
//	                        and work    JSON
//
// Files are in places: see location.go.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"culvert/internal/ui"
)

// app is one run of the program.
type app struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	console *ui.Console
	secrets secrets

	stdinUse string // what standard input is read as, once something reads it

	reloads  atomic.Bool  // SIGHUP is a request to the command, unless its terminal was closed
	patience atomic.Int64 // how much more than graceful the command may take to end, in nanoseconds
}

// graceful is the time that a command has to end by itself after a signal. It is enough to tell a database to stop, and
// short enough for somebody who waits.
const graceful = time.Second

// errInterrupted is why a command ends when a signal asks for it.
var errInterrupted = errors.New("interrupted")

// Main runs the command line with the given arguments, which do not include the name of the program, and gives the exit
// code. It is to be called once in a process, since it handles signals.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, console: ui.NewConsole(stderr)}
	a.console.Redact = a.secrets.redact
	if os.Getenv("GOGC") == "" {
		// The buffers of a command are made once and used again, and little else is allocated. To collect that early
		// costs nothing, and keeps the peak of memory close to what is in use.
		debug.SetGCPercent(25)
	}

	ctx, forced, stop := interruptible(context.Background(), a)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- a.execute(ctx, args) }()

	var err error
	select {
	case err = <-done:
	case <-forced:
		// The command is stuck, perhaps in a read of standard input. Its unfinished files went with its context.
		err = errInterrupted
	}
	return a.fail(err, wantsJSON(args))
}

// sameRequest is how long further signals are taken for the first one: timeout(1) sends it to the process and then to
// its group.
const sameRequest = 100 * time.Millisecond

// interruptible returns a context that ends at the first signal to stop, and a channel that is closed at the second
// one, or when the time to end gracefully has passed. When it stops, further signals have no effect: what is left is to
// exit, with the code of what was done. Signals that the process was told to ignore, as by nohup, stay ignored.
func interruptible(parent context.Context, a *app) (ctx context.Context, forced <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	force := make(chan struct{})
	onTerminal := ui.IsTerminal(a.stderr)
	ends := func(s os.Signal) bool {
		return s != syscall.SIGHUP || !a.reloads.Load() || onTerminal && !ui.IsTerminal(a.stderr)
	}
	go func() {
		for ended := false; !ended; {
			select {
			case s := <-signals:
				ended = ends(s)
			case <-ctx.Done():
				return
			}
		}
		first := time.Now()
		cancel(errInterrupted)
		over := time.After(graceful + time.Duration(a.patience.Load()))
		for again := false; !again; {
			select {
			case s := <-signals:
				again = ends(s) && time.Since(first) > sameRequest
			case <-over:
				again = true
			}
		}
		close(force)
	}()
	return ctx, force, func() { cancel(nil) }
}

// execute runs the verb.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.newRoot()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	out := &countingWriter{w: stream{a.stdout}} // for help: cobra drops the errors of writing it
	root.SetOut(out)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	err = interruption(ctx, err)
	if is[*usageError](err) && !is[*reportedError](err) && wantsJSON(args) {
		to := a.stdout
		if givesData(cmd) {
			to = a.stderr
		}
		return a.deliver(cmd, &usageReport{}, to, true, err)
	}
	return err
}

// wantsJSON looks for --json in arguments that are perhaps not sound.
func wantsJSON(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "--json" || arg == "--json=true" })
}

// interruption tells an error that follows from a signal, in whatever words, from others.
func interruption(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errInterrupted) || is[*interruptedError](err) {
		return err
	}
	return &interruptedError{err}
}

// interruptedError hides how the parts of a command have said that they were interrupted.
type interruptedError struct{ cause error }

func (e *interruptedError) Error() string { return errInterrupted.Error() }

func (e *interruptedError) Unwrap() []error { return []error{errInterrupted, e.cause} }
