package workers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"culvert/internal/lazyregexp"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// finish writes the manifest, after it has removed files that no record names: those of workers that were killed
// between the end of a part and its record, and those of tables that have failed.
func (o *operation) finish(ctx context.Context) (*manifest.Manifest, error) {
	plan := o.c.Output.Plan
	m := plan.NewManifest(o.note.Description)
	m.Run, m.Begun, m.Omitted, m.Schema = o.note.Run, o.note.Begun, o.note.Omitted, o.note.Schema
	keep := map[string]int64{}
	var first source.Snapshot
	for i := range o.tables {
		t := &o.tables[i]
		if t.failed != nil {
			m.Add(manifest.FailedTable(o.note.Tables[i], t.failed))
			continue
		}
		for _, file := range t.files {
			keep[file.File] = file.FileBytes
		}
		entry, err := plan.Entry(t.note.outline(), t.files)
		if err != nil {
			return nil, err
		}
		switch now := t.note.Part.Snapshot; {
		case entry.Snapshot != "", entry.IsDefined():
		case first == (source.Snapshot{}):
			first = now
			m.Snapshot = t.note.Snapshot
		case now != first && !now.Same(first):
			entry.Snapshot = t.note.Snapshot
		}
		m.Add(entry)
	}
	if m.Snapshot != o.note.Description.Snapshot {
		m.Position = "" // that of the snapshot is not known any more
	}
	if ended, err := o.standsAlone(ctx); ended || err != nil {
		return m, err
	}
	if err := o.clean(ctx, o.note.Tables, keep, o.tidy); err != nil {
		return nil, err
	}
	if len(keep) > 0 {
		return nil, o.writeAgain(ctx, keep)
	}
	if ended, err := o.standsAlone(ctx); ended || err != nil {
		return m, err
	}
	if err := o.cleanManifest(ctx); err != nil {
		return nil, err
	}
	return m, o.writeManifest(ctx, m)
}

// unfinishedManifest is what a directory has of a manifest whose writer was killed (see place/dir).
var unfinishedManifest = lazyregexp.New(`^` + regexp.QuoteMeta(manifest.Name) + `(\.age)?\.[a-z2-7]{8}\.part$`)

// cleanManifest removes what a coordinator that was killed has left of the manifest.
func (o *operation) cleanManifest(ctx context.Context) error {
	entries, err := o.readRoot(ctx)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !unfinishedManifest.MatchString(entry.Name()) {
			continue
		}
		if err := o.tidy(ctx, entry.Name()); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes a file that is not needed any more. If the place permits no removal, the file is left.
func (o *operation) tidy(ctx context.Context, name string) error {
	err := o.remove(ctx, name)
	if isForbidden(err) {
		o.c.report("%s is left, and is not needed any more: %v", name, err)
		return nil
	}
	return err
}

func (o *operation) remove(ctx context.Context, name string) error {
	err := o.c.Output.Place.Remove(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isForbidden reports whether a place permits no removal, as buckets may that can only be written to.
func isForbidden(err error) bool {
	return errors.Is(err, place.ErrRefused) || errors.Is(err, fs.ErrPermission)
}

// standsAlone fails if another coordinator has taken over, since one must not remove the files of the other. It reports
// whether the manifest is written: the coordinator before this one may have died before it could say so.
func (o *operation) standsAlone(ctx context.Context) (ended bool, err error) {
	exists, ended, err := o.findManifest(ctx)
	switch {
	case err == nil && exists && !ended:
		err = fmt.Errorf("%w, and has written the manifest: %w", errTakenOver, fs.ErrExist)
	case err == nil && !ended:
		err = o.journal.check(ctx)
	}
	if errors.Is(err, errTakenOver) {
		err = errors.Join(err, o.journal.withdraw(ctx))
	}
	return ended, err
}

// clean removes files of parts of these tables that are not to be kept, and what killed processes have left of such
// files in a directory (see place/dir). Files that are to be kept, and have their size, are taken out of keep.
func (o *operation) clean(
	ctx context.Context, tables []string, keep map[string]int64, remove func(context.Context, string) error,
) error {
	return o.eachPart(ctx, tables, func(name string, entry fs.DirEntry) error {
		if size, kept := keep[name]; kept {
			info, err := entry.Info()
			if err == nil && info.Size() == size {
				delete(keep, name)
			}
			return err
		}
		return remove(ctx, name)
	})
}

// eachPart calls f for each file that a worker may have written for these tables, completely or not.
func (o *operation) eachPart(ctx context.Context, tables []string, f func(string, fs.DirEntry) error) error {
	in := place.WithContext(ctx, o.c.Output.Place)
	parts := regexp.MustCompile(`^[0-9]{6,}(-[0-9]+)?` + regexp.QuoteMeta(o.c.Output.Plan.Extension()) +
		`(\.[a-z2-7]{8}\.part)?$`)
	for _, directory := range manifest.FileNames(tables, "") {
		entries, err := fs.ReadDir(in, directory)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			if !parts.MatchString(entry.Name()) {
				continue
			}
			if err := f(directory+"/"+entry.Name(), entry); err != nil {
				return err
			}
		}
	}
	return nil
}
