package receive

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"culvert/fileservice"
)

// complete gives a directory the file of a sample, as another transfer does.
func (s sample) complete(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "file")
	err := os.WriteFile(path, s.content, 0o600)
	if err := errors.Join(err, os.Chtimes(path, time.Time{}, s.version.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// unfinished returns a directory with a file that is being received, of whose three blocks two were written.
func unfinished(t *testing.T) (dir string, root *os.Root, s sample, r *File) {
	t.Helper()
	dir = t.TempDir()
	root = openTestRoot(t, dir)
	s = newSample(3 * fileservice.BlockSize)
	r = mustReceive(t, root, "file", s.version)
	s.write(t, r, 0, 2)
	return dir, root, s, r
}

// TestReceiveAfterAnother ends a transfer when another one has completed the file: nothing is left of it.
func TestReceiveAfterAnother(t *testing.T) {
	dir, _, s, r := unfinished(t)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	s.complete(t, dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	seeOnly(t, dir, "file")
}

// TestRemoveLeft finds a file complete beside what is left of its transfer.
func TestRemoveLeft(t *testing.T) {
	dir, root, s, r := unfinished(t)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s.complete(t, dir)
	newer := s.version
	newer.ModifiedUnixNano++
	r, err := Open(root, publisherIn(t, root), "file", newer, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeft(root, "file"); err != nil {
		t.Fatal(err)
	}
	seeOnly(t, dir, "file", "file.culvert.part") // which another transfer holds
	s.write(t, r, 0)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeft(root, "file"); err != nil {
		t.Fatal(err)
	}
	seeOnly(t, dir, "file")
}

// TestRemoveAged removes only what is old, held by nobody, and a transfer's.
func TestRemoveAged(t *testing.T) {
	dir, root, _, r := unfinished(t)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "other.culvert.journal")
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.WriteFile(filepath.Join(foreign, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	remove := func(age time.Duration, want ...string) {
		t.Helper()
		for _, name := range []string{"file.culvert.journal", "other.culvert.journal"} {
			if err := RemoveAged(root, name, time.Now().Add(-age)); err != nil {
				t.Error(err)
			}
		}
		seeOnly(t, dir, append(want, "other.culvert.journal")...)
	}
	const hence = -time.Hour // so that everything is old
	remove(hence, "file.culvert.part", "file.culvert.journal")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	remove(time.Hour, "file.culvert.part", "file.culvert.journal")
	remove(hence)
}
