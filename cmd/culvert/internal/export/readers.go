package export

import (
	"context"
	"fmt"

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
