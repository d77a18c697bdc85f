package receive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"culvert/fileservice"
	"culvert/internal/publish"
	"culvert/wal"
)

// isThere reports whether the file has this version under its name, so that nothing can go on with an unfinished one.
func (r *File) isThere() bool {
	info, err := r.dir.Lstat(r.base)
	return err == nil && fileservice.IsSame(info, r.version)
}

// RemoveLeft removes what is left of the transfer of a file that is present. It leaves what another transfer holds.
func RemoveLeft(root *os.Root, local string) error {
	names, err := UnfinishedNames(local)
	if err != nil {
		return err
	}
	if err := RemoveOrphans(root, local, names); err != nil {
		return err
	}
	info, err := root.Lstat(names.part)
	if err == nil && info.Mode().IsRegular() {
		_ = removeUnlocked(root, names, func() bool { return true }) // the file is present all the same
	}
	return nil
}

// removeUnlocked removes .part and the journal if no transfer holds them, and unless useless reports otherwise then.
func removeUnlocked(root *os.Root, names names, useless func() bool) error {
	part, err := publish.OpenLocked(root, names.part)
	switch {
	case errors.Is(err, publish.ErrLocked):
		return nil
	case err != nil:
		return err
	case !useless():
		return part.Close()
	}
	return errors.Join(root.Remove(names.part), removeJournal(root, names), part.Close())
}

// RemoveAged removes what a transfer has left behind a name that ends with fileservice.JournalSuffix, if nothing in it
// has changed since before, no transfer holds it, and it is sound. Anything else may belong to somebody else.
func RemoveAged(root *os.Root, journal string, before time.Time) error {
	base, is := strings.CutSuffix(journal, fileservice.JournalSuffix)
	if !is || filepath.Base(journal) == originName {
		return nil
	}
	names := names{part: base + fileservice.PartSuffix, journal: journal}
	info, err := root.Lstat(names.part)
	if err == nil && (!info.Mode().IsRegular() || !info.ModTime().Before(before)) ||
		err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !isAgedJournal(root, journal, before) || !isJournal(root, journal) {
		return nil
	}
	return removeUnlocked(root, names, func() bool { return isAgedJournal(root, journal, before) })
}

func isAgedJournal(root *os.Root, journal string, before time.Time) bool {
	segments, err := publish.List(root, journal)
	if err != nil {
		return false
	}
	for _, name := range append(segments, ".") {
		info, err := root.Lstat(filepath.Join(journal, name))
		if err != nil || !info.ModTime().Before(before) {
			return false
		}
	}
	return true
}

// isJournal reports whether a directory is a journal of this package, whatever its format.
func isJournal(root *os.Root, name string) bool {
	reader, _, err := wal.OpenReaderInRoot(root, name, nil)
	if err != nil {
		return false
	}
	for record, err := range reader.Records(context.Background(), 0) {
		return err == nil && bytes.HasPrefix(record.Data, []byte(journalFormat[:len(journalFormat)-1]))
	}
	return false
}
