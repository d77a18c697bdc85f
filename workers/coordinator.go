package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"culvert/manifest"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// MostSessions is the largest [Coordinator.MaxSessions].
const MostSessions = 4096

// Coordinator cuts the tables of an export into parts, waits until workers have written them, and writes the manifest.
// If it dies, the workers go on, and another Coordinator of the same job takes its place.
type Coordinator struct {
	Queue  *Queue
	Secret []byte

	// Job is the name of the job: lower-case letters, digits and hyphens, at most 64.
	Job string

	// Settings are for the Open of the workers.
	Settings json.RawMessage

	// Output is how the tables are cut, and how and where the manifest is written. The plan has a PartSize. With
	// Overwrite, an earlier export is removed first.
	Output *Output

	// Open connects to the database, for a new snapshot, and Join for one that others hold.
	Open func(ctx context.Context) (source.Source, error)
	Join Join

	// Held is a snapshot that a [Holder] or another program holds, which is used instead of a new one. Zero means a new
	// one. To go on with a job, it must be the one that the job was begun in, or zero, unless Mixed is set.
	Held source.Snapshot

	// Tables returns the names of the tables. It is called after Schema.
	Tables func(ctx context.Context, src source.Source) ([]string, error)

	// Omitted returns what the tables leave out, for the manifest. It is called after Tables. It may be nil.
	Omitted func(ctx context.Context, src source.Source) ([]string, error)

	// Schema returns what makes the whole database again, for a file of its own, or nil. It is called in the
	// snapshot of the job. If the schema has OwnRows, the source is separated ([source.Separate]). It may be nil.
	Schema func(ctx context.Context, src source.Source) (*source.Schema, error)

	// MaxSessions is how many connections to the database all workers together may have. Zero means any number. The
	// coordinator has one more. It is at most [MostSessions], since each of these connections has a key in the queue.
	MaxSessions int

	// Resume goes on from the journal in the place if the queue does not know the job. Settings and PartSize must be as
	// they were. Without a journal, the job begins, in an empty place unless Overwrite is set. If the queue knows the
	// job, Run goes on with it whatever Resume is, and MaxSessions must be as it was too. Otherwise the error is
	// [ErrOtherJob].
	Resume bool

	// Mixed permits exporting unfinished tables in a new snapshot if the old one is lost, before Run or meanwhile.
	Mixed bool

	// Progress is called with the state of the job after each change, by one goroutine. It may be nil.
	Progress func(Status)

	// Event is called with what happens to the job, by the goroutine of Progress. It may be nil.
	Event func(Event)

	// Notice is called with a message about each failure that will be retried. It may be nil.
	Notice func(message string)
}

// ErrCompleted means that another coordinator has completed the job, while this one waited.
var ErrCompleted = errors.New("workers: another coordinator has completed the export")

// Run carries out the job, from its beginning or from where another coordinator has left it. If another one lives, Run
// waits; if that one completes the job, the error is [ErrCompleted]. If that one has other settings, tables or limits,
// the error is [ErrOtherJob] at once. If the queue loses the job meanwhile, Run puts it there again, from the journal.
//
// If tables fail, the error is a [*export.PartialError], and the manifest says why. With FailFast of the plan, the
// first failure ends the export, and Resume tries its part again. If there is a manifest already, the error wraps
// [fs.ErrExist]; if there is a journal, and neither Resume nor Overwrite, it wraps [ErrUnfinished]; if the place has
// other files, or another export since the job began, it wraps [ErrOccupied]. If the snapshot is lost, it is a
// [*LostError].
func (c *Coordinator) Run(ctx context.Context) (m *manifest.Manifest, err error) {
	if c.MaxSessions < 0 || c.MaxSessions > MostSessions {
		return nil, fmt.Errorf("workers: MaxSessions is %d, and must be from 0 to %d", c.MaxSessions, MostSessions)
	}
	if c.Output.Plan.PartSize <= 0 {
		return nil, errors.New("workers: the plan of the output has no PartSize")
	}
	var holding source.Source // of the attempt before
	defer func() {
		if holding != nil {
			err = errors.Join(err, holding.Close())
		}
	}()
	again := *c
	for {
		o := &operation{c: &again}
		m, err = again.attempt(ctx, o)
		if holding != nil {
			err = errors.Join(err, holding.Close())
		}
		holding = o.src
		if _, lost := errors.AsType[*LostError](err); lost && c.Mixed && ctx.Err() == nil {
			c.report("%v: going on in a new snapshot", err)
			continue
		}
		if ctx.Err() != nil || !errors.Is(err, queue.ErrNoJob) || o.journal == nil {
			return m, err
		}
		if going, listErr := o.isInJournal(ctx); !going {
			return m, errors.Join(err, listErr)
		}
		c.report("the queue has lost the job")
		again.Resume = true
	}
}

// attempt carries out the job in the queue. The source of the operation stays open.
func (c *Coordinator) attempt(ctx context.Context, o *operation) (m *manifest.Manifest, err error) {
	if o.job, err = c.Queue.Create(ctx, c.Job, c.Secret); err != nil {
		return nil, err
	}
	waited := false
	lease, err := o.job.Acquire(ctx, []string{leaseKey}, func() error {
		first := !waited
		waited = true
		if err := o.refuseOtherRunning(ctx); err != nil || !first {
			return err
		}
		c.report("another coordinator holds the job, or has just died: waiting")
		return nil
	})
	if waited && errors.Is(err, queue.ErrNoJob) {
		if name, findErr := o.manifestName(ctx); name != "" && findErr == nil {
			err = ErrCompleted
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if cause := context.Cause(lease.Context()); err != nil && cause != nil && ctx.Err() == nil && !o.removed {
			err = cause
		}
		if o.gone {
			lease.Drop()
			return
		}
		if releaseErr := lease.Release(ctx); err == nil {
			err = releaseErr
		}
	}()
	return o.run(lease.Context(), ctx)
}

func (c *Coordinator) report(format string, args ...any) {
	if c.Notice != nil {
		c.Notice(fmt.Sprintf(format, args...))
	}
}
