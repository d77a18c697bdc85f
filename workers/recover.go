package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"culvert/source"
	"culvert/workers/internal/queue"
)

// LostError means that the export cannot go on in its snapshot: nobody holds it any more, and the database has changed.
type LostError struct {
	Parts, Of   int   // that are complete
	Rows, Bytes int64 // in the files of these parts
	All         int64 // bytes that a new export would read: of all parts, about, as stored by the database
	Err         error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("workers: the snapshot is lost, with %d of %d parts complete (%d rows, %d bytes in files); "+
		"a new export reads about %d bytes: %v", e.Parts, e.Of, e.Rows, e.Bytes, e.All, e.Err)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// ErrOtherJob means that a job of this name has other settings, or another snapshot than Held.
var ErrOtherJob = errors.New("workers: a job of this name has other settings, tables or limits")

// OtherJobError wraps [ErrOtherJob], and has the settings and the tables of the job that has this name.
type OtherJobError struct {
	Settings json.RawMessage
	Tables   []string
}

func (e *OtherJobError) Error() string { return ErrOtherJob.Error() }

// Unwrap returns ErrOtherJob.
func (e *OtherJobError) Unwrap() error { return ErrOtherJob }

// goOn joins the snapshot of a job that another coordinator has begun.
func (o *operation) goOn(ctx context.Context) error {
	c := o.c
	if c.differs(&o.note) {
		return &OtherJobError{o.note.Settings, o.note.Tables}
	}
	if err := o.refuseOtherHeld(); err != nil {
		return err
	}
	c.report("going on with the job %s, which was begun at %s", o.job.Name, o.note.Begun.Format(time.DateTime))
	known := append(slices.Collect(maps.Values(o.snapshots)), o.note.Snapshot)
	if c.Held.Same(o.note.Snapshot) {
		known = append(known, c.Held)
	}
	src, err := joinAny(ctx, o.job, c.Join, o.note.Snapshot, tryMost, known...)
	if isLost(err) && o.restored {
		if called, callErr := o.call(ctx); !isLost(callErr) {
			src, err = called, callErr
		}
	}
	if err == nil {
		c.happened(Event{Event: EventResumed, Snapshot: snapshotJoined})
		o.src = src
		_, err = passOn(ctx, o.job, src, "coordinator")
		return err
	}
	if !isLost(err) {
		return err
	}
	return o.recover(ctx, err)
}

// differs reports whether a job has other settings, tables or limits.
func (c *Coordinator) differs(note *jobNote) bool {
	return !bytes.Equal(compact(note.Settings), compact(c.Settings)) || note.PartSize != c.Output.Plan.PartSize ||
		note.Sessions != c.MaxSessions
}

// refuseOtherRunning fails if the job that another coordinator holds is known to be another one: to wait for it would
// be in vain.
func (o *operation) refuseOtherRunning(ctx context.Context) error {
	var note jobNote
	switch err := read(ctx, o.job, jobKey, &note); {
	case errors.Is(err, queue.ErrNotFound): // it has only begun
		return nil
	case err != nil:
		return err
	case o.c.differs(&note):
		return fmt.Errorf("%w, and its coordinator is running", ErrOtherJob)
	}
	return nil
}

// refuseOtherHeld fails if a snapshot is given that is not the one of the job. With Mixed, it is for unfinished tables,
// if the one of the job is lost.
func (o *operation) refuseOtherHeld() error {
	given, before := o.c.Held, o.note.Held
	switch {
	case given.Token == "", given.Token == before, given.Same(o.note.Snapshot), o.c.Mixed:
		return nil
	case before == "":
		return fmt.Errorf("%w: it was begun in a snapshot of its own, not in %s", ErrOtherJob, given.Token)
	}
	return fmt.Errorf("%w: it was begun in the snapshot %s, not in %s", ErrOtherJob, before, given.Token)
}

// isLost reports whether no process that can be reached holds a snapshot any more.
func isLost(err error) bool {
	return errors.Is(err, source.ErrSnapshotLost) || errors.Is(err, source.ErrOtherServer)
}

// recover goes on though nobody holds the snapshot: if all is done, or nothing has changed, or with a new snapshot for
// unfinished tables.
func (o *operation) recover(ctx context.Context, lost error) error {
	if err := o.readWritten(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(o.tables, tableState.isUnfinished) {
		o.c.happened(Event{Event: EventResumed, Snapshot: snapshotUnneeded})
		return nil
	}
	if err := o.open(ctx); err != nil {
		return err
	}
	description, snapshot, err := o.share(ctx)
	if err != nil {
		return err
	}
	if snapshot.Same(o.note.Snapshot) {
		if o.c.Held.Token != "" {
			o.c.report("going on in the snapshot that is held")
			o.c.happened(Event{Event: EventResumed, Snapshot: snapshotHeld})
		} else {
			o.c.report("the snapshot was lost, but nothing has changed since: going on")
			o.c.happened(Event{Event: EventResumed, Snapshot: snapshotUnchanged})
		}
		return nil
	}
	if !o.c.Mixed {
		return o.lostError(lost)
	}
	o.c.happened(Event{Event: EventResumed, Snapshot: snapshotNew})
	o.note.Description, o.note.Snapshot, o.note.Held = description, snapshot, o.c.Held.Token
	// Before any table is cut again: the next coordinator goes on with that if this one is killed meanwhile.
	return o.job.Set(ctx, jobKey, encode(o.note))
}

func (o *operation) lostError(cause error) error {
	lost := &LostError{Err: cause}
	for _, t := range o.tables {
		lost.Parts, lost.Of = lost.Parts+t.done, lost.Of+len(t.cuts)
		lost.Rows, lost.Bytes, lost.All = lost.Rows+t.rows, lost.Bytes+t.out, lost.All+t.bytes
	}
	return lost
}

// compact returns JSON without white space.
func compact(text json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
