package draft

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/publish"
)

// lateTree is an empty directory, and what publishes files in it.
func lateTree(t *testing.T) (*os.Root, *publish.Publisher) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	publisher, err := publish.NewPublisher(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := publisher.Close(); err != nil {
			t.Error(err)
		}
	})
	return root, publisher
}

// TestPublishThatWasGivenUp has a draft synced for longer than its client waits, which has published something else
// under the name meanwhile.
func TestPublishThatWasGivenUp(t *testing.T) {
	root, publisher := lateTree(t)
	d, err := Open(root, publisher, "file", Options{Create: true, Permissions: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteAt([]byte("late"), 0); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("file", []byte("meanwhile"), 0o644); err != nil {
		t.Fatal(err)
	}
	givenUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := d.Publish(givenUp, "file", true); !errors.Is(err, context.Canceled) {
		t.Errorf("it gives %v", err)
	}
	if content, err := root.ReadFile("file"); string(content) != "meanwhile" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if names, err := fs.Glob(root.FS(), "*"); err != nil || len(names) != 1 {
		t.Errorf("%s has %v, %v", filepath.Base(root.Name()), names, err)
	}
}

// withoutSticky is a file of a file system that refuses the sticky bit, such as FAT.
type withoutSticky struct{ publish.File }

func (f withoutSticky) Chmod(mode fs.FileMode) error {
	if mode&fs.ModeSticky != 0 {
		return fs.ErrPermission
	}
	return f.File.Chmod(mode)
}

// TestPublishWithoutMark publishes a draft where it cannot be marked.
func TestPublishWithoutMark(t *testing.T) {
	root, publisher := lateTree(t)
	d, err := Open(root, publisher, "file", Options{Create: true, Permissions: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	d.file = withoutSticky{d.file}
	if err := errors.Join(d.WriteAt([]byte("text"), 0), d.Publish(t.Context(), "file", true), d.Close()); err != nil {
		t.Error(err)
	}
	if content, err := root.ReadFile("file"); string(content) != "text" {
		t.Errorf("the file has %q, %v", content, err)
	}
}

// TestRemoveLeftBesideDrafts looks for drafts that were left while others come and go. It leaves none itself.
func TestRemoveLeftBesideDrafts(t *testing.T) {
	root, publisher := lateTree(t)
	var name atomic.Pointer[string]
	var removing sync.WaitGroup
	done := make(chan struct{})
	removing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if name := name.Load(); name != nil {
				_ = RemoveLeft(root, *name)
			}
		}
	})
	for range 3000 {
		d, err := Open(root, publisher, "file", Options{Create: true, Permissions: 0o644})
		if err != nil {
			t.Fatal(err)
		}
		name.Store(&d.name)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	removing.Wait()
	if names, err := fs.Glob(root.FS(), "*"); err != nil || len(names) != 0 {
		t.Errorf("left are %v, %v", names, err)
	}
}
