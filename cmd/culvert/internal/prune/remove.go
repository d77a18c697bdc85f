package prune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"culvert/manifest"
	"culvert/place"
)

// mark is the file of an export that is being removed: the first thing that happens to it, and the last that goes. It
// says which export that is, since another one may have been written into the directory in the meantime.
const (
	mark     = ".culvert-prune"
	markText = "culvert prune is removing the export that was begun at "
)

// textOf returns the text of the mark of an export.
func textOf(m *manifest.Manifest) string {
	return markText + m.Begun.UTC().Format(time.RFC3339Nano) + "\n"
}

// readMark returns the text of the mark, or "" if there is none.
func readMark(p place.Place) (_ string, err error) {
	f, err := p.Open(mark)
	if err != nil {
		return "", notExist(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, int64(len(markText)+len(time.RFC3339Nano)+1)))
	if !strings.HasPrefix(string(text), markText) {
		return "", err // it is not ours
	}
	return string(text), err
}

// filesOf returns the files that a manifest lists, and their sizes.
func filesOf(m *manifest.Manifest) map[string]int64 {
	files := map[string]int64{}
	if m.Schema != nil {
		files[m.Schema.File] = m.Schema.FileBytes
	}
	for i := range m.Tables {
		for _, part := range m.Tables[i].Parts {
			files[part.File] = part.FileBytes
		}
	}
	return files
}

// nameOf returns the name of the file of a manifest.
func nameOf(m *manifest.Manifest) string {
	if m.Encrypted {
		return manifest.EncryptedName
	}
	return manifest.Name
}

// missing returns the error of an export of which files are missing, or have another size.
func missing(p place.Place, files map[string]int64) error {
	sizes := map[string]int64{}
	for _, dir := range directoriesOf(files) {
		entries, err := fs.ReadDir(p, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if _, listed := files[name]; !listed || entry.IsDir() {
				continue
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			sizes[name] = info.Size()
		}
	}
	for name, size := range files {
		if found, is := sizes[name]; !is || found != size {
			return fmt.Errorf("%s, which its manifest lists, is missing or has another size", name)
		}
	}
	return nil
}

// directoriesOf returns the directories that files are in, those within others first.
func directoriesOf(files map[string]int64) []string {
	dirs := []string{"."}
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	slices.Reverse(dirs)
	return dirs
}

// remove removes the files that the manifest of an export lists, then the manifest. Without a manifest, an earlier run
// has done so. The place is the one of all exports, and dir is the directory of this one.
func remove(ctx context.Context, all place.Place, dir string, m *manifest.Manifest) error {
	p, err := place.Sub(all, dir)
	if err == nil && m != nil {
		err = removeListed(ctx, p, m)
	}
	if err == nil {
		err = removeFile(ctx, p, mark)
	}
	if err == nil {
		err = removeEmpty(ctx, all, dir)
	}
	return err
}

func removeListed(ctx context.Context, p place.Place, m *manifest.Manifest) error {
	if err := setMark(ctx, p, textOf(m)); err != nil {
		return err
	}
	files := filesOf(m)
	for name := range files {
		if err := removeFile(ctx, p, name); err != nil {
			return err
		}
	}
	for _, dir := range directoriesOf(files) {
		if dir == "." {
			break // it is the last, and has the manifest
		}
		if err := removeEmpty(ctx, p, dir); err != nil {
			return err
		}
	}
	return removeFile(ctx, p, nameOf(m))
}

func setMark(ctx context.Context, p place.Place, text string) error {
	f, err := p.Replace(ctx, mark)
	if err != nil {
		return err
	}
	defer f.Discard() //nolint:errcheck // after Commit, it does nothing
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	return f.Commit()
}

// removeFile removes a file that may be gone already.
func removeFile(ctx context.Context, p place.Place, name string) error {
	if err := p.Remove(ctx, name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeEmpty removes a directory without files. Those of buckets go with their last file, and another object may have
// the name.
func removeEmpty(ctx context.Context, p place.Place, dir string) error {
	info, err := fs.Lstat(p, dir)
	if err != nil || !info.IsDir() {
		return notExist(err)
	}
	entries, err := fs.ReadDir(p, dir)
	if err != nil || len(entries) > 0 {
		return notExist(err)
	}
	return removeFile(ctx, p, dir)
}

// notExist returns an error unless it is that nothing is there.
func notExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
