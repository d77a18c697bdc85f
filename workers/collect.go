package workers

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
	"sync"
	"time"

	"culvert/source"
	"culvert/workers/internal/queue"
)

// missing returns the tasks of the parts of a table that are not written.
func (o *operation) missing(table int) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := &o.tables[table]
		for number := range t.cuts {
			if t.failed != nil || t.files[number].File != "" {
				continue
			}
			if !yield(taskID{t.note.Plan, table, number}.String()) {
				return
			}
		}
	}
}

// readRecords reads what the workers have done.
func (o *operation) readRecords(ctx context.Context) error {
	for _, prefix := range []string{recordKeys, deadKeys} {
		if err := o.job.List(ctx, prefix, o.learn); err != nil {
			return err
		}
	}
	return nil
}

// learn takes over a note of a worker about a part.
func (o *operation) learn(v queue.Value) error {
	kind, rest, _ := strings.Cut(v.Key, ".")
	id, err := parseTaskID(rest)
	if err != nil {
		return err
	}
	if !o.has(id) {
		return nil // of a plan that was replaced
	}
	t := &o.tables[id.table]
	switch kind {
	case recordKeys:
		var record recordNote
		if err := decode(v, &record); err != nil {
			return err
		}
		var written source.Range
		if record.File.Range != nil {
			written = *record.File.Range
		}
		if written != t.cuts[id.number].Range {
			return fmt.Errorf("workers: worker %s has written another range of table %q than it was given",
				record.Worker, o.note.Tables[id.table])
		}
		if path.Dir(record.File.File) != o.directories[id.table] {
			return fmt.Errorf("workers: worker %s has written a part of table %q to %s", record.Worker,
				o.note.Tables[id.table], record.File.File)
		}
		if t.files[id.number].File == "" {
			if record.File.Range != nil {
				record.File.Range = &t.cuts[id.number].Range // which is there anyway
			}
			t.files[id.number] = record.File
			t.done++
			t.bytesDone += t.cuts[id.number].Bytes
			t.rows, t.text, t.out = t.rows+record.File.Rows, t.text+record.File.TextBytes, t.out+record.File.FileBytes
			if o.journal != nil {
				o.journal.add(v.Key, v.Data)
			}
		}
	case deadKeys:
		var failure failureNote
		if err := decode(v, &failure); err != nil {
			return err
		}
		if t.failed == nil && t.files[id.number].File == "" { // or a worker that was slow has written it
			o.fail(id.table, fmt.Errorf("part %d: %s", id.number+1, failure.Error))
		}
	}
	return nil
}

// has reports whether a part belongs to the plans that are valid.
func (o *operation) has(id taskID) bool {
	if id.table >= len(o.tables) {
		return false
	}
	t := &o.tables[id.table]
	return t.note.Plan == id.plan && id.number < len(t.cuts)
}

// left counts the parts that are still to be written.
func (o *operation) left() (n int) {
	for i := range o.tables {
		if t := &o.tables[i]; t.failed == nil {
			n += len(t.cuts) - t.done
		}
	}
	return n
}

// collect waits until all parts are written, or their tables have failed.
func (o *operation) collect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	notes, ended := make(chan queue.Value), make(chan error, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		ended <- o.job.Watch(ctx, []string{recordKeys, deadKeys, failureKeys, workerKeys, sharedKeys},
			func(v queue.Value) error {
				select {
				case notes <- v:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
	})
	defer watching.Wait()
	defer cancel()
	ticks := time.NewTicker(heartbeatsOfWorkers * o.c.Queue.Heartbeat())
	defer ticks.Stop()
	w := watch{operation: o, workers: map[string]queue.Value{}, silent: map[string]bool{}}
	for {
		if err := o.failFast(); err != nil || o.left() == 0 {
			return err
		}
		var err error
		select {
		case v := <-notes:
			err = w.note(v)
		case <-ticks.C:
			err = w.look(ctx)
		case <-o.journal.due:
			err = o.flushJournal(ctx)
		case err = <-ended:
		}
		if err != nil {
			return err
		}
		if o.c.Progress != nil {
			o.c.Progress(w.status())
		}
	}
}

// failFast returns why a table has failed, if that is to end the export. Then the queue forgets the job, so that the
// workers end. The journal has no failures: with Resume, the part is tried again.
func (o *operation) failFast() error {
	if !o.c.Output.Plan.FailFast {
		return nil
	}
	for i := range o.tables {
		if err := o.tables[i].failed; err != nil {
			return &fastFailure{fmt.Errorf("workers: table %q: %w", o.note.Tables[i], err)}
		}
	}
	return nil
}

// fastFailure is the failure of a table that ends the export.
type fastFailure struct{ error }

func (f *fastFailure) Unwrap() error { return f.error }
