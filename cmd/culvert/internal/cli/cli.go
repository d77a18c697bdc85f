// Package cli is the command line of Culvert: the root, and the verbs on files, each in a file of its own. The other
// verbs are in the packages serve, remote, jobs, load, logs and demo below this one. What verbs share is in command,
// argument, database and help.
//
// [Main] is all that the program needs. It builds the verbs, runs the one that is asked for, and turns what comes of it
// into messages and an exit code.
package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

// graceful is the time that a command has to end by itself after a signal. It is enough to tell a database to stop, and
// short enough for somebody who waits.
const graceful = time.Second

// Main runs the command line with the given arguments, which do not include the name of the program, and returns the
// exit code. It is to be called once in a process, since it handles signals.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &command.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Console: ui.NewConsole(stderr)}
	a.Console.Redact = a.Secrets.Redact
	command.CollectEarly()
	ctx, forced, stop := interruptible(context.Background(), a)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- execute(ctx, a, args) }()

	var err error
	select {
	case err = <-done:
	case <-forced:
		// The command is stuck, perhaps in a read of standard input. Its unfinished files went with its context.
		err = command.ErrInterrupted
	}
	return a.Fail(err, wantsJSON(args))
}

// sameRequest is how long further signals are taken for the first one: timeout(1) sends it to the process and then to
// its group.
const sameRequest = 100 * time.Millisecond

// interruptible returns a context that ends at the first signal to stop, and a channel that is closed at the second
// one, or when the time to end gracefully has passed. When it stops, further signals have no effect: what is left is to
// exit, with the code of what was done. Signals that the process was told to ignore, as by nohup, stay ignored.
func interruptible(parent context.Context, a *command.App) (ctx context.Context, forced <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	force := make(chan struct{})
	onTerminal := ui.IsTerminal(a.Stderr)
	ends := func(s os.Signal) bool {
		return s != syscall.SIGHUP || !a.Reloads.Load() || onTerminal && !ui.IsTerminal(a.Stderr)
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
		cancel(command.ErrInterrupted)
		over := time.After(graceful + a.Patience())
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
func execute(ctx context.Context, a *command.App, args []string) error {
	root := rootFor(a, args)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	// for help: cobra drops the errors of writing it
	out := &command.CountingWriter{Writer: ui.SymbolWriter{Writer: command.Stream{Writer: a.Stdout}}}
	root.SetOut(out)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = cmp.Or(a.HelpError, out.Err)
	}
	err = command.Interruption(ctx, err)
	if command.Is[*command.UsageError](err) && !command.Is[*command.ReportedError](err) && wantsJSON(args) {
		to := a.Stdout
		if command.GivesData(cmd) {
			to = a.Stderr
		}
		return a.Deliver(cmd, &command.UsageReport{}, to, true, err)
	}
	return err
}

// wantsJSON looks for --json in arguments that are perhaps not sound.
func wantsJSON(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "--json" || arg == "--json=true" })
}
