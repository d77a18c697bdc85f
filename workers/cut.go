package workers

import (
	"context"
	"errors"
	"fmt"

	"culvert/manifest"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// readTables reads the plans that were made.
func (o *operation) readTables(ctx context.Context) error {
	o.tables, o.directories = make([]tableState, len(o.note.Tables)), manifest.FileNames(o.note.Tables, "")
	for i := range o.tables {
		value, err := o.job.Get(ctx, tableKey(i))
		if errors.Is(err, queue.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		t := &o.tables[i]
		t.revision = value.Revision
		if err := decode(value, &t.note); err != nil {
			return err
		}
		if t.note.Run != o.note.Run {
			return fmt.Errorf("workers: the plan of table %q is that of another job", o.note.Tables[i])
		}
		if err := o.use(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// use takes over the plan of a table.
func (o *operation) use(ctx context.Context, table int) (err error) {
	t := &o.tables[table]
	*t = tableState{note: t.note, revision: t.revision}
	if t.note.Error != "" {
		o.fail(table, errors.New(t.note.Error))
	}
	if t.cuts, err = readCuts(ctx, o.job, table, t.note); err != nil {
		return err
	}
	t.files = make([]manifest.Part, len(t.cuts))
	for _, c := range t.cuts {
		t.bytes += c.Bytes
	}
	return nil
}

// plan cuts the tables that are not cut yet, and puts the parts that are not written into the queue.
func (o *operation) plan(ctx context.Context) error {
	if o.again {
		if err := o.readWritten(ctx); err != nil {
			return err
		}
	} else if err := o.readTables(ctx); err != nil {
		return err
	}
	if err := o.startJournal(ctx); err != nil {
		return err
	}
	parts := 0
	for i := range o.tables {
		if err := o.renew(ctx, i); err != nil {
			return err
		}
		if parts += len(o.tables[i].cuts); parts > maxParts {
			return errTooManyParts
		}
		if err := o.journalTable(ctx, i); err != nil {
			return err
		}
		if err := o.job.Put(ctx, o.missing(i)); err != nil {
			return err
		}
	}
	if err := o.journal.flush(ctx); err != nil {
		return err
	}
	if err := o.journal.supersede(ctx); !isForbidden(err) {
		return err
	}
	return nil // what this coordinator has written counts
}

// maxParts is the most parts of an export: of more, the manifest would be too large. Only tests change it.
var maxParts = 200_000

var errTooManyParts = errors.New("workers: the tables have more parts than a manifest can list: use a larger part size")

// renew makes the plan of a table valid in the snapshot of the job, which may have replaced a lost one. A table that is
// complete stays as it is.
func (o *operation) renew(ctx context.Context, table int) (err error) {
	t := &o.tables[table]
	before := t.note.Part.Snapshot
	isOther := before != (source.Snapshot{}) && !before.Same(o.note.Snapshot)
	switch {
	case t.note.Plan == "", t.isUnfinished() && isOther:
		return o.planTable(ctx, table)
	case t.failed != nil && isOther:
		// Sessions of the new snapshot would be refused the parts that are left.
		note := tableNote{Run: o.note.Run, Part: source.Part{Table: o.note.Tables[table]}, Error: t.failed.Error()}
		note, err = writePlan(ctx, o.job, table, nil, note, t.revision)
		*t = tableState{note: note, revision: t.revision, failed: t.failed}
	}
	return err
}

// planTable cuts a table.
func (o *operation) planTable(ctx context.Context, table int) error {
	t := &o.tables[table]
	name := o.note.Tables[table]
	if o.note.Schema != nil && o.note.Schema.OwnRows {
		source.Separate(o.src) // which may be a new one
	}
	outline, err := o.c.Output.Plan.Outline(ctx, o.src, name)
	note := tableNote{
		Run: o.note.Run, Snapshot: o.note.Description.Snapshot,
		Part:       source.Part{Table: name, Columns: outline.Columns},
		Definition: outline.Definition,
	}
	if outline.Outside {
		note.Snapshot = manifest.NoSnapshot
	}
	unknown, _ := errors.AsType[*source.UnknownError](err)
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, source.ErrUnavailable), unknown != nil, o.c.Output.Plan.FailFast:
		return err
	default:
		outline.Parts, note.Error = nil, bounded(err)
	}
	if t.note, err = writePlan(ctx, o.job, table, outline.Parts, note, t.revision); err != nil {
		return err
	}
	return o.use(ctx, table)
}
