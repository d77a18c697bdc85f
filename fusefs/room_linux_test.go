package fusefs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestManyOpenFiles keeps more files open than the file system allows, and writes to all of them in turn.
func TestManyOpenFiles(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.must(os.WriteFile(filepath.Join(filepath.Dir(w.root), "few"), nil, 0o600))
	var files []*os.File
	want := map[string]string{}
	for i := range 3 * fewFiles {
		old, fresh := fmt.Sprint("old", i), fmt.Sprint("fresh", i)
		w.put(old, "there")
		file := w.open(old, os.O_RDWR|os.O_APPEND)
		w.write(file, " and here")
		made := w.open(fresh, os.O_RDWR|os.O_CREATE|os.O_APPEND)
		w.write(made, "new")
		w.must(made.Sync())
		files = append(files, file, made)
		want[old], want[fresh] = "there and here, again", "new, again"
	}
	for _, file := range files {
		w.write(file, ", again")
	}
	for _, file := range files {
		w.must(file.Sync())
	}
	for name, content := range want {
		w.wantHere(name, content)
		w.wantThere(name, content)
	}
	// New content without a name must stay open.
	for i := range fewFiles {
		w.create(fmt.Sprint("draft", i), "new")
	}
	_, err := os.Create(w.path("one more"))
	w.wantErrno(err, syscall.ENFILE)
}

// TestPermissionsTakenAway writes through a descriptor to a file that could not be opened any more.
func TestPermissionsTakenAway(t *testing.T) {
	w := newWritable(t, mountConfig{})
	file := w.create("file", "one")
	w.must(file.Sync())
	w.must(file.Chmod(0o400))
	setFault(t, w.root, "OpenFile", syscall.EACCES)
	for _, text := range []string{" two", " three"} {
		w.write(file, text)
		w.must(file.Sync())
	}
	w.wantThere("file", "one two three")
	info, err := file.Stat()
	w.must(err)
	if info.Mode().Perm() != 0o400 {
		t.Errorf("its permissions are %v", info.Mode())
	}
}
