package workers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"culvert/manifest"
	"culvert/source"
)

// begin takes a snapshot, makes room for the files, and notes the job.
func (o *operation) begin(ctx context.Context) (err error) {
	if err = o.open(ctx); err != nil {
		return err
	}
	c := o.c
	o.note = jobNote{
		Settings: c.Settings, PartSize: c.Output.Plan.PartSize, Sessions: c.MaxSessions,
		Held: c.Held.Token, Begun: time.Now().UTC().Truncate(time.Millisecond),
	}
	o.note.Run = fmt.Sprintf("%012x%04x", o.note.Begun.UnixMilli(), rand.N(1<<16))
	plan := *c.Output.Plan
	if c.Schema != nil {
		if plan.Schema, err = c.Schema(ctx, o.src); err != nil {
			return err
		}
	}
	if plan.Schema != nil && plan.Schema.OwnRows {
		source.Separate(o.src)
	}
	if o.note.Tables, err = c.Tables(ctx, o.src); err != nil {
		return err
	}
	if len(o.note.Tables) == 0 {
		return errors.New("workers: no tables")
	}
	if c.Omitted != nil {
		if o.note.Omitted, err = c.Omitted(ctx, o.src); err != nil {
			return err
		}
	}
	if o.note.Description, o.note.Snapshot, err = o.share(ctx); err != nil {
		return err
	}
	if err := o.lookUp(ctx); err != nil {
		return err
	}
	if err := o.clear(ctx); err != nil {
		return err
	}
	if !plan.Masks.IsZero() {
		tables, err := plan.MaskTables(ctx, o.src, o.note.Tables)
		if err != nil {
			return err
		}
		plan.Schema = plan.Masks.Schema(plan.Schema, tables)
	}
	var m manifest.Manifest
	if err := plan.WriteSchema(ctx, c.Output.Place, &m); err != nil {
		return err
	}
	o.note.Schema = m.Schema
	return o.job.Create(ctx, jobKey, encode(o.note))
}

// open takes a snapshot.
func (o *operation) open(ctx context.Context) (err error) {
	if o.c.Held.Token != "" {
		o.src, err = o.c.Join(ctx, o.c.Held)
	} else {
		o.src, err = o.c.Open(ctx)
	}
	return err
}

// share passes the snapshot of the own session on, and describes it.
func (o *operation) share(ctx context.Context) (d source.Description, s source.Snapshot, err error) {
	if d, err = source.Describe(ctx, o.src); err != nil {
		return d, s, err
	}
	s, err = passOn(ctx, o.job, o.src, "coordinator")
	return d, s, err
}

// lookUp fails if there is no such table or column, before an earlier export is removed for it. Other errors are those
// of one table, and recur when it is cut.
func (o *operation) lookUp(ctx context.Context) error {
	plan := *o.c.Output.Plan
	if !plan.Overwrite {
		return nil
	}
	plan.PartSize = 0 // tables are cut later, while workers write the parts of others
	for _, name := range o.note.Tables {
		_, err := plan.Outline(ctx, o.src, name)
		unknown, _ := errors.AsType[*source.UnknownError](err)
		if unknown != nil || errors.Is(err, source.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// clear removes the journal, the manifest and the parts of an earlier export, with Overwrite. Otherwise the place must
// be empty.
func (o *operation) clear(ctx context.Context) error {
	plan := o.c.Output.Plan
	if !plan.Overwrite {
		if root, err := o.readRoot(ctx); err != nil || len(root) == 0 {
			return err
		}
	}
	if err := plan.MakeRoom(ctx, o.c.Output.Place); err != nil {
		return err
	}
	if plan.Overwrite {
		return o.clean(ctx, o.note.Tables, nil, o.remove)
	}
	return o.refuseFiles(ctx)
}
