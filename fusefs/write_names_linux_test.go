package fusefs_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRenameWhileOpen(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("final", "old")
	fresh := w.create("temporary", "new ")
	w.must(os.Rename(w.path("temporary"), w.path("final")))
	w.wantNamesHere("final")
	w.wantHere("final", "new ")
	w.wantNamesThere("final")
	w.wantThere("final", "old")
	w.write(fresh, "content")
	w.must(fresh.Close())
	w.wantNamesThere("final")
	w.wantThere("final", "new content")

	again := w.open("final", os.O_WRONLY|os.O_APPEND)
	w.write(again, ", more")
	w.must(os.Mkdir(w.path("dir"), 0o755))
	w.must(os.Rename(w.path("final"), w.path("dir/moved")))
	below := w.create("dir/below", "below")
	reader := w.open("dir/moved", os.O_RDONLY)
	w.must(os.Rename(w.path("dir"), w.path("other")))
	w.must(again.Close())
	w.must(below.Close())
	w.wantNamesThere("other")
	w.wantThere("other/moved", "new content, more")
	w.wantThere("other/below", "below")
	content := make([]byte, 100)
	if n, _ := reader.ReadAt(content, 0); string(content[:n]) != "new content, more" {
		t.Errorf("a descriptor from before reads %q", content[:n])
	}
}

// TestRenameOverAndOn has a new file replace others on its way to the name that it keeps.
func TestRenameOverAndOn(t *testing.T) {
	w := newWritable(t, mountConfig{})
	for _, name := range []string{"first", "second", "third"} {
		w.put(name, "old")
	}
	file := w.create("temporary", "new")
	for _, move := range [][2]string{{"temporary", "first"}, {"first", "second"}, {"second", "free"}} {
		w.must(os.Rename(w.path(move[0]), w.path(move[1])))
		_, err := os.Stat(w.path(move[0]))
		w.wantErrno(err, unix.ENOENT)
	}
	w.wantNamesHere("free", "third")
	w.wantNamesThere("third")
	w.wantErrno(unix.Renameat2(unix.AT_FDCWD, w.path("free"), unix.AT_FDCWD, w.path("third"), unix.RENAME_NOREPLACE),
		unix.EEXIST)
	w.must(file.Close())
	w.wantNamesThere("free", "third")
	w.wantThere("free", "new")
	w.wantThere("third", "old")
}

func TestRemoveWhileOpen(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("old", "old")
	fresh, old := w.create("fresh", "one"), w.create("old", "one")
	replaced := w.create("replaced", "one")
	w.must(os.Remove(w.path("fresh")))
	w.must(os.Remove(w.path("old")))
	w.must(os.WriteFile(w.path("replacing"), []byte("two"), 0o644))
	w.must(os.Rename(w.path("replacing"), w.path("replaced")))
	w.wantNamesHere("replaced")
	w.wantNamesThere("replaced")
	for _, file := range []*os.File{fresh, old, replaced} {
		w.write(file, " two")
		content := make([]byte, 100)
		if n, _ := file.ReadAt(content, 0); string(content[:n]) != "one two" {
			t.Errorf("what was removed reads as %q", content[:n])
		}
		var stat unix.Stat_t
		w.must(unix.Fstat(int(file.Fd()), &stat))
		if stat.Nlink != 0 || stat.Size != 7 {
			t.Errorf("what was removed has %d links and %d bytes", stat.Nlink, stat.Size)
		}
		w.must(file.Sync())
		w.must(file.Close())
	}
	w.wantNamesThere("replaced")
	w.wantThere("replaced", "two")
	w.eventually("what was removed is gone", func() bool {
		drafts, err := filepath.Glob(filepath.Join(filepath.Dir(w.root), "drafts*", "*"))
		w.must(err)
		return len(drafts) == 0
	})
}

// TestNamesThatCannotBeShown creates files with names that would not be listed.
func TestNamesThatCannotBeShown(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.put("file", "content")
	for _, name := range []string{"line\nbreak", "escape\x1b[31m", "\xff\xfe"} {
		_, err := os.Create(w.path(name))
		w.wantErrno(err, unix.EINVAL)
		w.wantErrno(os.Mkdir(w.path(name), 0o755), unix.EINVAL)
		w.wantErrno(os.Rename(w.path("file"), w.path(name)), unix.EINVAL)
		_, err = os.Stat(w.path(name))
		w.wantErrno(err, unix.ENOENT)
		w.wantErrno(os.Remove(w.path(name)), unix.ENOENT)
	}
	w.wantNamesThere("file")
}

// TestRenameOfOthers renames others while a file is open that could not be opened again.
func TestRenameOfOthers(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.must(os.Mkdir(w.path("here"), 0o755))
	w.must(os.Mkdir(w.path("dir"), 0o755))
	w.put("here/file", "content")
	file, err := os.Open(w.path("here/file"))
	w.must(err)
	defer file.Close()
	w.must(os.Rename(filepath.Join(w.root, "here"), filepath.Join(w.root, "elsewhere")))
	w.must(os.Rename(w.path("dir"), w.path("moved")))
	content := make([]byte, 100)
	if n, err := file.ReadAt(content, 0); string(content[:n]) != "content" {
		t.Errorf("a file reads as %q, %v", content[:n], err)
	}
}

func TestRemoveDirectoryWithUnfinished(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.must(os.Mkdir(w.path("dir"), 0o755))
	w.must(os.Mkdir(w.path("empty"), 0o755))
	file := w.create("dir/file", "content")
	w.wantErrno(os.Remove(w.path("dir")), unix.ENOTEMPTY)
	w.wantErrno(unix.Rename(w.path("empty"), w.path("dir")), unix.ENOTEMPTY)
	w.must(file.Close())
	w.wantThere("dir/file", "content")
}
