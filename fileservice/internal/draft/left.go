package draft

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"culvert/fileservice"
	"culvert/internal/publish"
)

// A draft has the sticky bit, which systems ignore for files, until it is published. The bit, the name and a free lock
// identify a draft that a killed server has left. A user's file that merely has such a name is never removed, and on a
// file system without the bit no draft is.
const draftMark = fs.ModeSticky

func isMarked(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&draftMark != 0 }

// createDraft creates an empty draft of a file. The first open draft of a file always has the same name, so it replaces
// one that was left.
func createDraft(dir *os.Root, base string) (file publish.File, name string, err error) {
	const attempts = 100
	hash := sha256.Sum256([]byte(base))
	name = draftName(base, base32.StdEncoding.EncodeToString(hash[:]))
	for range attempts {
		file, err = createDraftAs(dir, name)
		if !errors.Is(err, publish.ErrLocked) && !errors.Is(err, fs.ErrExist) {
			break
		}
		name = draftName(base, rand.Text())
	}
	return file, name, err
}

// draftName returns a name for a draft of a file, cut to a valid length.
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
	// The file has the mark from its creation. If the file system refuses that, OpenLocked creates it without.
	if err := publish.CreateSticky(dir, name); errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	file, err := publish.OpenLocked(dir, name)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err == nil && size > 0 {
		err = fs.ErrExist // another program has created it meanwhile
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	_ = file.Chmod(draftMark | 0o600) // without the mark, a left draft is not removed
	return file, nil
}

// RemoveLeft removes a file with the name of a draft if a killed server has left it. It reports whether it did.
func RemoveLeft(root *os.Root, local string) bool {
	info, err := root.Lstat(local)
	if err != nil || !isMarked(info) {
		return false
	}
	file, err := publish.OpenLocked(root, local)
	if err != nil {
		return false // a server has it open, or it stays hidden
	}
	opened, err := file.Stat()
	removed := false
	// The name may lead to another file meanwhile. An empty one was created just now, by OpenLocked or another program.
	if err == nil && (os.SameFile(info, opened) || opened.Size() == 0) {
		removed = root.Remove(local) == nil
	}
	return file.Close() == nil && removed
}

// RemoveLeftIn removes the drafts in a directory that killed servers have left. It reports whether it removed any.
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
