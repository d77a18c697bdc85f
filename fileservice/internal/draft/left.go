package draft

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"culvert/fileservice"
	"culvert/internal/publish"
)

// A draft has the sticky bit from when it is made until it has its name, which systems ignore for files. By it, by its
// name and by its lock, which is free, a draft is known that a server left behind when it was killed. A file of a user
// that merely has such a name is never removed. Where a file system has no such bit, nothing is.
const draftMark = fs.ModeSticky

func isMarked(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&draftMark != 0 }

// createDraft makes an empty draft of a file. The first that is open of a file always has the same name, so that it
// takes the place of one that was left.
func createDraft(dir *os.Root, base string) (file publish.File, name string, err error) {
	const attempts = 100
	sum := fileservice.SumFile([]byte(base))
	name = draftName(base, base32.StdEncoding.EncodeToString(sum[:]))
	for range attempts {
		file, err = createDraftAs(dir, name)
		if !errors.Is(err, publish.ErrLocked) && !errors.Is(err, fs.ErrExist) {
			break
		}
		name = draftName(base, rand.Text())
	}
	return file, name, err
}

// draftName is a name for a draft of a file, which is not longer than names may be.
func draftName(base, letters string) string {
	const longest = 200
	base = strings.ToValidUTF8(base[:min(len(base), longest)], "")
	return base + "." + strings.ToLower(letters[:12]) + fileservice.DraftSuffix
}

// createDraftAs fails with fs.ErrExist or publish.ErrLocked if the name is taken.
func createDraftAs(dir *os.Root, name string) (publish.File, error) {
	if _, err := dir.Lstat(name); err == nil && !RemoveLeft(dir, name) {
		return nil, fs.ErrExist
	}
	// It has the mark before it can be left behind. If the file system refuses that, it is made without it below.
	if err := publish.CreateSticky(dir, name); errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	file, err := publish.OpenLocked(dir, name)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err == nil && size > 0 {
		err = fs.ErrExist // somebody has made it meanwhile
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	_ = file.Chmod(draftMark | 0o600) // without it, nobody removes what is left of it
	return file, nil
}

// RemoveLeft removes a file of the name of a draft if a server has left it behind, and reports whether it has.
func RemoveLeft(root *os.Root, local string) bool {
	info, err := root.Lstat(local)
	if err != nil || !isMarked(info) {
		return false
	}
	file, err := publish.OpenLocked(root, local)
	if err != nil {
		return false // a server has it open; else it stays, hidden as it is
	}
	opened, err := file.Stat()
	removed := false
	// It is another one if that ended meanwhile, and empty if it was made here just now, or by whoever found it locked.
	if err == nil && (os.SameFile(info, opened) || opened.Size() == 0) {
		removed = root.Remove(local) == nil
	}
	return file.Close() == nil && removed
}

// RemoveLeftIn removes the drafts in a directory that an earlier server has left, and reports whether there were any.
func RemoveLeftIn(root *os.Root, local string) bool {
	names, err := publish.List(root, local)
	if err != nil {
		return false
	}
	removed := false
	for _, name := range names {
		if fileservice.IsDraft(name) {
			removed = RemoveLeft(root, filepath.Join(local, name)) || removed
		}
	}
	return removed
}
