package export

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/export"
	"culvert/source"
)

// open opens the database, in the snapshot that is given or in a new one.
func (e *request) open(ctx context.Context) (source.Source, error) {
	o := e.options
	if o.snapshot == "" {
		return o.moment.Open(ctx, e.db, e.sessions())
	}
	return o.openOne(ctx, e.db)
}

// attempts is how often an export is begun at most.
const attempts = 3

// attempt exports, and again in a new snapshot if a standby has ended that, which leaves no file. Each attempt finds
// out by itself what it exports.
func (e *request) attempt(a *command.App, r *Report, once func(one *request) error) error {
	for n := 1; ; n++ {
		one, plan := *e, *e.plan
		one.plan = &plan
		err := once(&one)
		if n == attempts || e.options.snapshot != "" || !errors.Is(err, source.ErrConflict) {
			return err
		}
		for _, figure := range []*atomic.Int64{&plan.Progress.Rows, &plan.Progress.Text, &plan.Progress.Out} {
			figure.Store(0)
		}
		r.Attempts = n + 1
		if !e.options.JSON {
			a.Console.Warn(a.Secrets.Redact(command.Plain(err)))
			a.Console.Warn(fmt.Sprintf("the export begins again in a new snapshot: attempt %d of %d", n+1, attempts))
		}
	}
}

// openOne is open with one session.
func (o *options) openOne(ctx context.Context, db database.Database) (source.Source, error) {
	if o.snapshot == "" {
		return db.Open(ctx)
	}
	src, err := db.Join(ctx, o.held())
	return src, explainHeld(err)
}

// sessions returns how many may read at the same time, as far as that is known before the database is.
func (e *request) sessions() int {
	if o := e.options; o.query != "" || o.schemaOnly || o.ordered && !o.several(e.names) {
		return 1
	}
	return e.plan.MaxReaders()
}

// held is the snapshot that is given.
func (o *options) held() source.Snapshot { return source.Snapshot{Token: o.snapshot} }

// tellReaders says why only one connection has read, or warns that there were fewer than wanted.
func tellReaders(w *command.Work, name string, readers int, reason string) {
	switch {
	case reason == "":
	case readers > 1 && !w.Flags.JSON:
		w.App.Console.Warn(fmt.Sprintf("%s: read with only %d connections: %s", name, readers, reason))
	case readers == 1 && w.WantsSummary():
		w.App.Console.Print(name + ": read with one connection: " + reason)
	}
}

// reasonOf returns why no more connections have read, or "" if more were of no use.
func reasonOf(stats export.Stats) string {
	if stats.Indivisible == nil {
		return ""
	}
	return stats.Indivisible.Reason
}
