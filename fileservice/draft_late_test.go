package fileservice

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"culvert/internal/disk"
)

// TestPublishThatWasGivenUp has a draft synced for longer than its client waits, which has published something else
// under the name meanwhile.
func TestPublishThatWasGivenUp(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	publisher, err := disk.NewPublisher(root)
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Close()
	d, err := openDraft(root, publisher, "file", draftOptions{create: true, permissions: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.writeAt([]byte("late"), 0); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("file", []byte("meanwhile"), 0o644); err != nil {
		t.Fatal(err)
	}
	givenUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := d.publish(givenUp, "file", true); !errors.Is(err, context.Canceled) {
		t.Errorf("it gives %v", err)
	}
	if content, err := root.ReadFile("file"); string(content) != "meanwhile" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if err := d.end(); err != nil {
		t.Error(err)
	}
	if names, err := fs.Glob(root.FS(), "*"); err != nil || len(names) != 1 {
		t.Errorf("%s has %v, %v", filepath.Base(root.Name()), names, err)
	}
}
