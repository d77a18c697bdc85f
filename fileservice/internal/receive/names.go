package receive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"culvert/fileservice"
)

// names are the names of an unfinished file and its journal.
type names struct{ part, journal string }

// UnfinishedNames returns the names beside the path local.
func UnfinishedNames(local string) (names, error) {
	dir, base := filepath.Split(local)
	if fileservice.IsReserved(base) {
		return names{}, fileservice.ErrReserved
	}
	if len(base) > fileservice.MaxElement-len(fileservice.JournalSuffix) {
		// The hash keeps the results for two long names different.
		const kept = 150
		hash := sha256.Sum256([]byte(base))
		base = strings.ToValidUTF8(base[:kept], "") + "." + hex.EncodeToString(hash[:])
	}
	return names{part: dir + base + fileservice.PartSuffix, journal: dir + base + fileservice.JournalSuffix}, nil
}

// RemoveOrphans removes the remains of a process that was killed after it had named the file: the journal, and the link
// .part, through which the next transfer would write into the file.
func RemoveOrphans(root *os.Root, local string, names names) error {
	file, err := root.Lstat(local)
	if err != nil {
		return nil // it does not exist, or the next operation reports the error
	}
	part, err := root.Lstat(names.part)
	switch {
	case err == nil && os.SameFile(file, part):
		if err := root.Remove(names.part); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := root.Lstat(names.journal); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return removeJournal(root, names)
}
