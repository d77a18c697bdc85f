package workers

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"culvert/manifest"
	"culvert/place"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// ErrUnfinished means that the place has an export that was begun and not finished, of which the queue knows nothing.
// Resume goes on with it, and Overwrite of the plan removes it.
var ErrUnfinished = errors.New("workers: the place has an export that was not finished: resume it, or overwrite it")

// sealer returns the sealer of the journal.
func (c *Coordinator) sealer() (*queue.Sealer, error) {
	return queue.NewSealer(c.Secret, c.Job, "journal")
}

// restore puts the notes of the journal into a queue that knows nothing of the job, except that of the job itself, for
// which workers wait. It reports whether there is a journal.
func (o *operation) restore(ctx context.Context) (restored bool, err error) {
	root, err := o.readRoot(ctx)
	if err != nil || manifestAmong(root) != "" || !has(root, manifest.JournalDirectory) {
		return false, err // beside a manifest, a journal was about to be removed
	}
	segments, _, err := listJournal(ctx, o.c.Output.Place)
	if err != nil || len(segments) == 0 {
		return false, err
	}
	if !o.c.Resume {
		if o.c.Output.Plan.Overwrite {
			return false, nil
		}
		return false, ErrUnfinished
	}
	sealer, err := o.c.sealer()
	if err != nil {
		return false, err
	}
	segments, err = o.newestRun(ctx, sealer, segments)
	if err != nil || len(segments) == 0 {
		return false, err
	}
	files, err := o.sizes(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range segments {
		entries, err := readSegment(ctx, o.c.Output.Place, sealer, name)
		if err != nil {
			return false, err
		}
		if err := o.restoreNotes(ctx, entries, files); err != nil {
			return false, err
		}
	}
	o.c.report("the journal in the place has the job %s", o.job.Name)
	return true, nil
}

// newestRun returns the segments of the run that was begun last, and takes over the note of the job. There are others
// only if a coordinator that was overtaken has written once more.
func (o *operation) newestRun(
	ctx context.Context, sealer *queue.Sealer, segments []segmentName,
) ([]segmentName, error) {
	runs := map[string][]segmentName{}
	for _, name := range segments {
		runs[name.run] = append(runs[name.run], name)
	}
	names := slices.Sorted(maps.Keys(runs))
	for _, run := range slices.Backward(names) {
		for _, name := range runs[run] {
			if name.number != 1 { // the first segment of each term begins with the job
				continue
			}
			entries, err := readSegment(ctx, o.c.Output.Place, sealer, name)
			if err != nil {
				return nil, err
			}
			if len(entries) == 0 || entries[0].Key != jobKey {
				continue
			}
			err = decode(queue.Value{Key: jobKey, Data: entries[0].Note}, &o.note)
			o.note.Sessions = o.c.MaxSessions
			return runs[run], err
		}
	}
	return nil, nil
}

// sizes returns the sizes of the files in the directories of the tables.
func (o *operation) sizes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	from := place.WithContext(ctx, o.c.Output.Place)
	for _, directory := range manifest.FileNames(o.note.Tables, "") {
		entries, err := fs.ReadDir(from, directory)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			sizes[path.Join(directory, entry.Name())] = info.Size()
		}
	}
	return sizes, nil
}

// restoreNotes puts notes of a segment into the queue. Later ones replace earlier ones. Parts whose files are missing
// are left out, and so are shared snapshots: most of them are of sessions that have ended.
func (o *operation) restoreNotes(ctx context.Context, entries []journalEntry, files map[string]int64) error {
	last := map[string]json.RawMessage{}
	for _, entry := range entries {
		if isNoNote(entry.Note) {
			delete(last, entry.Key)
			if err := o.dropNote(ctx, entry.Key); err != nil {
				return err
			}
			continue
		}
		note := queue.Value{Key: entry.Key, Data: entry.Note}
		switch kind, _, _ := strings.Cut(entry.Key, "."); kind {
		case jobKey:
			continue
		case sharedKeys:
			var snapshot source.Snapshot
			if err := decode(note, &snapshot); err != nil {
				return err
			}
			if o.snapshots == nil {
				o.snapshots = map[string]source.Snapshot{}
			}
			o.snapshots[entry.Key] = snapshot
			continue
		case recordKeys:
			var record recordNote
			if err := decode(note, &record); err != nil {
				return err
			}
			if size, is := files[record.File.File]; !is || size != record.File.FileBytes {
				o.c.report("%s is missing, or has another size: it is written again", record.File.File)
				continue
			}
		}
		last[entry.Key] = entry.Note
	}
	keys := slices.Collect(maps.Keys(last))
	return together(len(keys), func(i int) error { return o.job.Set(ctx, keys[i], last[keys[i]]) })
}

// call asks processes that may have outlived the queue and the coordinator for their shared snapshots, and joins the
// snapshot of the first one that answers. The journal does not know the shared snapshots that were noted in its last
// moments.
func (o *operation) call(ctx context.Context) (source.Source, error) {
	if !o.c.Queue.Shared() {
		return nil, source.ErrSnapshotLost // the others were in the process that has ended
	}
	if err := o.job.Set(ctx, callKey, encode(o.note)); err != nil {
		return nil, err
	}
	heartbeat := time.NewTicker(o.c.Queue.Heartbeat())
	defer heartbeat.Stop()
	for range heartbeatsOfWorkers + 2 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-heartbeat.C:
		}
		src, err := joinAny(ctx, o.job, o.c.Join, o.note.Snapshot, tryMost)
		if !isLost(err) {
			return src, err
		}
	}
	return nil, source.ErrSnapshotLost
}

// startJournal begins a term of the journal, with the job as its first note. The shared snapshots of the term before
// follow, since this coordinator may be killed before the participants have noted theirs again.
func (o *operation) startJournal(ctx context.Context) error {
	sealer, err := o.c.sealer()
	if err != nil {
		return err
	}
	term := 0
	if o.again { // or the run is new
		segments, _, err := listJournal(ctx, o.c.Output.Place)
		if err != nil {
			return err
		}
		for _, s := range segments {
			if s.run == o.note.Run {
				term = max(term, s.term)
			}
		}
	}
	o.journal = &journal{
		to: o.c.Output.Place, sealer: sealer, begun: time.Now(), least: o.c.Queue.Heartbeat(),
		only: !o.c.Queue.Shared(), name: segmentName{o.note.Run, term + 1, 1},
	}
	o.journal.add(jobKey, encode(o.note))
	for key, snapshot := range o.snapshots {
		o.journal.add(key, encode(snapshot))
	}
	return o.journal.flush(ctx)
}

// journalTable notes all that is known of a table.
func (o *operation) journalTable(ctx context.Context, table int) error {
	t, j := &o.tables[table], o.journal
	add := func(key string, note any) error {
		j.add(key, encode(note))
		if j.full() {
			return j.flush(ctx)
		}
		return nil
	}
	for chunk := range t.note.Chunks {
		cuts := t.cuts[chunk*chunkParts : min((chunk+1)*chunkParts, len(t.cuts))]
		if err := add(chunkKey(t.note.Plan, table, chunk), cuts); err != nil {
			return err
		}
	}
	if err := add(tableKey(table), t.note); err != nil {
		return err
	}
	for number, file := range t.files {
		if file.File == "" {
			continue
		}
		id := taskID{t.note.Plan, table, number}
		if err := add(recordKeys+"."+id.String(), recordNote{File: file}); err != nil {
			return err
		}
	}
	return nil
}

// flushJournal writes what is due. The job can go on without that, since the queue has it too, unless another export
// has taken over.
func (o *operation) flushJournal(ctx context.Context) error {
	err := o.journal.flush(ctx)
	if errors.Is(err, errTakenOver) {
		return err
	}
	if err != nil && ctx.Err() == nil {
		o.c.report("%v", err)
	}
	return nil
}

// leave writes to the journal what is known, when the coordinator ends before the job.
func (o *operation) leave(ctx context.Context) {
	if o.journal == nil || !o.journal.claimed {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = o.flushJournal(ctx) // the coordinator fails anyway
}
