package receive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"culvert/fileservice"
)

// unfinished are the names that a file has before it is complete.
type names struct{ part, journal string }

func UnfinishedNames(local string) (names, error) {
	dir, base := filepath.Split(local)
	if fileservice.IsReserved(base) {
		return names{}, fileservice.ErrReserved
	}
	if len(base) > fileservice.MaxElement-len(fileservice.JournalSuffix) {
		// What is cut off must still tell two names apart.
		const kept = 150
		base = strings.ToValidUTF8(base[:kept], "") + "." + fileservice.SumFile([]byte(base)).String()
	}
	return names{part: dir + base + fileservice.PartSuffix, journal: dir + base + fileservice.JournalSuffix}, nil
}

// RemoveOrphans removes what a kill has left after the file had got its name: the journal, and before that the first of
// two names, under which the next transfer would write into the file.
func RemoveOrphans(root *os.Root, local string, names names) error {
	file, err := root.Lstat(local)
	if err != nil {
		return nil // there is none; whatever else it is, others will find out
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
