package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"culvert/manifest"
	"culvert/place"
	"culvert/workers/internal/queue"
)

// ErrOccupied means that the place has files that this export has not written. It leaves them as they are: what a job
// removes must be its own.
var ErrOccupied = errors.New("workers: the place has files that this export has not written")

// refuseFiles fails if the place is not empty, when a job begins there. What killed processes have left of a journal
// does not count.
func (o *operation) refuseFiles(ctx context.Context) error {
	root, err := place.WithContext(ctx, o.c.Output.Place).Open(".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var entries []fs.DirEntry
	if directory, is := root.(fs.ReadDirFile); is {
		const enough = 3 // one of them is neither the journal nor the schema
		entries, err = directory.ReadDir(enough)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	err = errors.Join(err, root.Close())
	for _, entry := range entries {
		// The schema is replaced: a coordinator that was killed before the journal began has left it.
		if entry.Name() != manifest.JournalDirectory && !manifest.IsSchemaName(entry.Name()) {
			return errors.Join(fmt.Errorf("%w: %s", ErrOccupied, entry.Name()), err)
		}
	}
	return err
}

// refuseOtherExport fails if the place has another export than this job, which other processes have begun.
func (o *operation) refuseOtherExport(ctx context.Context) error {
	exists, ours, err := o.findManifest(ctx)
	o.ended = ours
	switch {
	case err != nil || ours:
		return err
	case exists:
		return fmt.Errorf("%w: a manifest", ErrOccupied)
	}
	segments, _, err := listJournal(ctx, o.c.Output.Place)
	if err != nil || o.isAmong(segments) {
		return err
	}
	if len(segments) > 0 {
		return fmt.Errorf("%w: the journal of another one", ErrOccupied)
	}
	// The journal begins before the first table is planned, and no part is written before that.
	switch _, err := o.job.Get(ctx, tableKey(0)); {
	case err == nil:
		return fmt.Errorf("%w: somebody has removed the journal of the job", ErrOccupied)
	case !errors.Is(err, queue.ErrNotFound):
		return err
	}
	return o.eachPart(ctx, o.note.Tables, func(name string, _ fs.DirEntry) error {
		return fmt.Errorf("%w: %s", ErrOccupied, name)
	})
}

// isInJournal reports whether the place has the journal of this run of the job.
func (o *operation) isInJournal(ctx context.Context) (bool, error) {
	segments, _, err := listJournal(ctx, o.c.Output.Place)
	return o.isAmong(segments), err
}

// isAmong reports whether a journal has segments of this run.
func (o *operation) isAmong(segments []segmentName) bool {
	return slices.ContainsFunc(segments, func(s segmentName) bool { return s.run == o.note.Run })
}

// manifestName returns the name of the manifest in the place, or "" if there is none. To list what is there takes one
// request to a bucket, and to look for two names that are free four.
func (o *operation) manifestName(ctx context.Context) (string, error) {
	entries, err := o.readRoot(ctx)
	return manifestAmong(entries), err
}

// manifestAmong returns the name of the manifest that is among entries, or "".
func manifestAmong(entries []fs.DirEntry) string {
	for _, name := range []string{manifest.Name, manifest.EncryptedName} {
		if has(entries, name) {
			return name
		}
	}
	return ""
}

func has(entries []fs.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// readRoot returns what is in the place, and nothing if that does not exist yet.
func (o *operation) readRoot(ctx context.Context) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(place.WithContext(ctx, o.c.Output.Place), ".")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return entries, err
}

// findManifest reports whether the place has a manifest, and whether a coordinator of this job has written it. It may
// be encrypted to others, so it is recognized by how it begins: with a new key, or with the run.
func (o *operation) findManifest(ctx context.Context) (exists, ours bool, err error) {
	name, err := o.manifestName(ctx)
	if name == "" || err != nil {
		return false, false, err
	}
	head, err := readHead(ctx, o.c.Output.Place, name)
	if err != nil {
		return true, false, err
	}
	err = o.job.List(ctx, headKeys, func(v queue.Value) error {
		ours = ours || bytes.Equal(v.Data, head)
		return nil
	})
	return true, ours, err
}

// writeManifest writes the manifest. Before it gets its name, the queue knows how it begins, so that the next
// coordinator recognizes it if this one is killed then.
func (o *operation) writeManifest(ctx context.Context, m *manifest.Manifest) error {
	key := fmt.Sprintf("%s.%d", headKeys, o.journal.name.term)
	to := &keeper{Place: o.c.Output.Place, before: func(head []byte) error { return o.job.Set(ctx, key, head) }}
	return o.c.Output.Plan.WriteManifest(ctx, to, m)
}
