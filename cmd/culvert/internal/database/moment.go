package database

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/source"
)

// A grouper is an engine whose sessions can read one state only if they are opened together.
type grouper interface {
	openTogether(ctx context.Context, address string, sessions int, wait time.Duration) (source.Source, error)
}

// MomentFlags say how several sessions begin at one moment.
type MomentFlags struct{ wait time.Duration }

// Add adds the flags to a command.
func (f *MomentFlags) Add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.wait, "lock-wait", DefaultLockWait,
		"MySQL: lock the server for at most `TIME` while connections begin; 0: one connection")
}

// DefaultLockWait is how long sessions that begin at one moment wait for the lock, and hold it, at most.
const DefaultLockWait = 5 * time.Second

// Check refuses flags that make no sense.
func (f *MomentFlags) Check() error {
	if f.wait < 0 {
		return command.Usagef("--lock-wait is %v, and must not be negative", f.wait)
	}
	return nil
}

// OpenTogether is Open, with up to so many sessions of one moment if others cannot join the snapshot later.
func (d Database) OpenTogether(ctx context.Context, sessions int, wait time.Duration) (source.Source, error) {
	e, is := d.engine().(grouper)
	if !is || sessions < 2 || wait == 0 {
		return d.Open(ctx)
	}
	return connect(ctx, d, func(address string) (source.Source, error) {
		return e.openTogether(ctx, address, sessions, wait)
	})
}

// Open opens a database with up to so many sessions of one moment.
func (f *MomentFlags) Open(ctx context.Context, d Database, sessions int) (source.Source, error) {
	return d.OpenTogether(ctx, sessions, f.wait)
}

// MomentReport says how several sessions have begun.
type MomentReport struct {
	Connections int     `json:"connections,omitempty"` // that show one state
	Locked      float64 `json:"lock_seconds,omitempty"`
}

// MomentOf returns how the sessions of a source have begun: the zero value if it has only one, or if others join it.
func MomentOf(src source.Source) MomentReport {
	grouped, is := src.(source.Grouped)
	if !is || grouped.Moment().Held == 0 {
		return MomentReport{}
	}
	moment := grouped.Moment()
	return MomentReport{Connections: moment.Connections, Locked: moment.Held.Seconds()}
}

// Tell prints how many connections began at one moment, and for how long others could not commit meanwhile.
func (m MomentReport) Tell(w *command.Work, name string) {
	if m.Connections > 0 && w.WantsSummary() {
		w.App.Console.Print(m.text(name))
	}
}

func (m MomentReport) text(name string) string {
	return fmt.Sprintf("%s: %d connections began at one moment; others could not commit for %.1f ms", name,
		m.Connections, m.Locked*1000)
}
