package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"culvert/manifest"
	"culvert/workers/internal/queue"
)

// errWriteAgain means that files of parts were lost, whose tasks are in the queue again.
var errWriteAgain = errors.New("workers: parts are written again")

// noNote is what the journal has in place of a note that does not count any more.
var noNote = []byte("null")

// readWritten reads which parts are written. Those whose files are gone are to be written again.
func (o *operation) readWritten(ctx context.Context) error {
	if o.tables == nil {
		if err := o.readTables(ctx); err != nil {
			return err
		}
	}
	if err := o.readRecords(ctx); err != nil {
		return err
	}
	if o.ended || o.restored { // then that was looked after
		return nil
	}
	sizes, err := o.sizes(ctx)
	if err != nil {
		return err
	}
	return o.dropLost(ctx, func(file manifest.Part) bool {
		size, is := sizes[file.File]
		return !is || size != file.FileBytes
	})
}

// dropLost forgets that parts are written whose files are lost. It fails if a part is lost once more: somebody removes
// the files.
func (o *operation) dropLost(ctx context.Context, isLost func(manifest.Part) bool) error {
	for table := range o.tables {
		t := &o.tables[table]
		for number := range t.files {
			file := t.files[number]
			if t.failed != nil || file.File == "" || !isLost(file) {
				continue
			}
			id := taskID{t.note.Plan, table, number}
			if o.lost[id] {
				return fmt.Errorf("workers: %s was written with %d bytes, and is missing or has another size, "+
					"once more: does somebody else write to this place?", file.File, file.FileBytes)
			}
			if err := o.dropRecord(ctx, id, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropRecord removes the record of a part from the queue and the journal.
func (o *operation) dropRecord(ctx context.Context, id taskID, file manifest.Part) error {
	o.c.report("%s is missing, or has another size: it is written again", file.File)
	key := recordKeys + "." + id.String()
	if err := o.dropNote(ctx, key); err != nil {
		return err
	}
	if o.journal != nil {
		o.journal.add(key, noNote)
	}
	if o.lost == nil {
		o.lost = map[taskID]bool{}
	}
	o.lost[id] = true
	t := &o.tables[id.table]
	t.files[id.number] = manifest.Part{}
	t.done--
	t.bytesDone -= t.cuts[id.number].Bytes
	t.rows, t.text, t.out = t.rows-file.Rows, t.text-file.TextBytes, t.out-file.FileBytes
	return nil
}

// dropNote removes a note from the queue, if it is there.
func (o *operation) dropNote(ctx context.Context, key string) error {
	note, err := o.job.Get(ctx, key)
	if errors.Is(err, queue.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.job.Delete(ctx, key, note.Revision)
}

// writeAgain puts the tasks of parts into the queue again whose files are lost. The journal says so first: a file that
// is written again may have the name and the size of the one that was lost.
func (o *operation) writeAgain(ctx context.Context, lost map[string]int64) error {
	err := o.dropLost(ctx, func(file manifest.Part) bool {
		_, is := lost[file.File]
		return is
	})
	if err == nil {
		err = o.journal.flush(ctx)
	}
	if err != nil {
		return err
	}
	for i := range o.tables {
		if err := o.job.Put(ctx, o.missing(i)); err != nil {
			return err
		}
	}
	return errWriteAgain
}

// isNoNote reports whether a note does not count any more.
func isNoNote(note []byte) bool { return bytes.Equal(note, noNote) }
