// Package command is what every verb is made of: the run of the program, flags, keys and passphrases, progress,
// reports, figures for Prometheus, errors with hints, and exit codes.
//
// A verb builds a cobra.Command with the text of package help. The steps of its run are
//
//	arguments ──▶ verb ──▶ perform ──▶ report ──▶ exit code
//	 (cobra)    its flags   progress    text or    (exit.go)
//	                        and work    JSON
package command

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"culvert/cmd/culvert/internal/ui"
)

// App is one run of the program.
type App struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Console *ui.Console
	Secrets Secrets

	// HelpError is why there is no help on what was asked for. Cobra takes no error from what shows help.
	HelpError error

	own      *ownIdentity // once it was read
	stdinUse string       // what standard input is read as, once something reads it

	Reloads  atomic.Bool  // SIGHUP is a request to the command, unless its terminal was closed
	patience atomic.Int64 // how much more than others the command may take to end, in nanoseconds

	// Last prints the object of a command that is forced to end after the lines that it has printed before, and reports
	// whether it could. It is nil if there are no such lines.
	Last atomic.Pointer[func(object any) bool]
}

// WaitFor gives the command at least this much longer than others to end after a signal. It may be called at any time.
func (a *App) WaitFor(end time.Duration) {
	for {
		longest := a.patience.Load()
		if int64(end) <= longest || a.patience.CompareAndSwap(longest, int64(end)) {
			return
		}
	}
}

// Patience returns the longest time that [App.WaitFor] was given.
func (a *App) Patience() time.Duration { return time.Duration(a.patience.Load()) }

// ErrInterrupted is why a command ends when a signal asks for it.
var ErrInterrupted = errors.New("interrupted")

// Interruption tells an error that follows from a signal, in whatever words, from others.
func Interruption(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), ErrInterrupted) || Is[*interruptedError](err) {
		return err
	}
	return &interruptedError{err}
}

// interruptedError hides how the parts of a command have said that they were interrupted.
type interruptedError struct{ cause error }

func (e *interruptedError) Error() string { return ErrInterrupted.Error() }

func (e *interruptedError) Unwrap() []error { return []error{ErrInterrupted, e.cause} }

// ClaimStdin returns standard input to one reader, for one purpose.
func (a *App) ClaimStdin(purpose string) (io.Reader, error) {
	if a.stdinUse != "" {
		return nil, Usagef("standard input cannot be %s: it is %s already", purpose, a.stdinUse)
	}
	a.stdinUse = purpose
	return a.Stdin, nil
}
