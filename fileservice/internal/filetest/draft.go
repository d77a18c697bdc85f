package filetest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"culvert/fileservice/client"
)

// OpenDraft opens a file for writing.
func OpenDraft(t testing.TB, remote *client.Client, name string, flag int) *client.WritableFile {
	t.Helper()
	file, err := remote.OpenFile(name, flag, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return file.(*client.WritableFile)
}

// Publish publishes a file under name and closes it.
func Publish(file *client.WritableFile, name string) error {
	return errors.Join(file.Publish(name, true), file.Close())
}

// Discard closes a draft that was not published. It fails the test if Close does not return client.ErrDiscarded.
func Discard(t testing.TB, file *client.WritableFile) {
	t.Helper()
	if err := file.Close(); !errors.Is(err, client.ErrDiscarded) {
		t.Errorf("closing without Publish: %v", err)
	}
}

// SeeFiles fails the test if dir does not contain exactly the files in want.
func SeeFiles(t testing.TB, dir string, want map[string][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, there := want[entry.Name()]; !there && !entry.IsDir() {
			t.Errorf("%s is there", entry.Name())
		}
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(content), err)
		}
	}
}

// ContentOf reads a file.
func ContentOf(t testing.TB, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
