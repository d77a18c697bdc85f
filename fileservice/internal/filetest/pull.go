package filetest

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// OpenRoot opens a directory until the end of the test.
func OpenRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

// SeeSame compares two trees: names, contents, and the times of files.
func SeeSame(t testing.TB, want, got string) {
	t.Helper()
	if a, b := Contents(t, want), Contents(t, got); !slices.Equal(a, b) {
		t.Errorf("the trees differ:\n%.2000q\n%.2000q", a, b)
	}
}

// contentSeed is that of the hashes of Contents. They are compared only with each other, so the fastest hash will do.
var contentSeed = maphash.MakeSeed()

// Contents returns a line for each file of a tree: name, type or size, time and hash.
func Contents(t testing.TB, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() {
			lines = append(lines, fmt.Sprintf("%s %v", name, entry.Type()))
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		var hash maphash.Hash
		hash.SetSeed(contentSeed)
		size, err := io.Copy(&hash, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s %d %v %x", name, size, info.ModTime(), hash.Sum64()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
