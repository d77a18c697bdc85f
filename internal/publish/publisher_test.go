package publish

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// faultyFile is a file whose sync fails.
type faultyFile struct {
	File
	err error
}

func (f faultyFile) SyncAll() error { return f.err }

// testPublisher is one for a new directory.
type testPublisher struct {
	*Publisher
	root *os.Root
}

func newPublisher(t *testing.T) testPublisher {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPublisher(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), root.Close()); err != nil {
			t.Error(err)
		}
	})
	return testPublisher{p, root}
}

// publish writes a file under one name and publishes it under another.
func publish(p testPublisher, name string) error {
	part := name + ".part"
	file, err := OpenLocked(p.root, part)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt([]byte(name), 0); err != nil {
		return err
	}
	err = p.Publish(file, p.root, func() error { return Rename(p.root, part, name) })
	return errors.Join(err, file.Close())
}

// publishTogether publishes files in one round: none of it begins before all wait.
func publishTogether(p testPublisher, n int) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	p.turn.Lock()
	for i := range errs {
		all.Go(func() { errs[i] = publish(p, fmt.Sprint("file", i)) })
	}
	for gathered := 0; gathered < n; {
		p.mu.Lock()
		if p.next != nil {
			gathered = p.next.size
		}
		p.mu.Unlock()
	}
	p.turn.Unlock()
	all.Wait()
	return errs
}

func TestPublish(t *testing.T) {
	const n = 200
	p := newPublisher(t)
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range errs {
		all.Go(func() { errs[i] = publish(p, fmt.Sprint("file", i)) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := fmt.Sprint("file", i)
		if content, err := p.root.ReadFile(name); err != nil || string(content) != name {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	if names, err := List(p.root, "."); err != nil || len(names) != n {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// TestPublishShares counts the shared syncs of files that are published together.
func TestPublishShares(t *testing.T) {
	p := newPublisher(t)
	if !canShare {
		t.Skip("this system syncs files one by one")
	}
	syncs, syncfs := 0, p.syncfs
	p.syncfs = func() error {
		syncs++
		return syncfs()
	}
	const n = 50
	if err := errors.Join(publishTogether(p, n)...); err != nil {
		t.Fatal(err)
	}
	if syncs == 0 || syncs > n/2 {
		t.Errorf("%d shared syncs for %d files", syncs, n)
	}
}

// TestPublishFailedSync has the shared sync fail: no file of its round gets its name, and later ones do not share.
func TestPublishFailedSync(t *testing.T) {
	p := newPublisher(t)
	if !canShare {
		t.Skip("this system syncs files one by one")
	}
	syncs := 0
	p.syncfs = func() error {
		syncs++
		return syscall.EIO
	}
	for _, err := range publishTogether(p, fewestShared) {
		if !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
	}
	names, err := List(p.root, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if filepath.Ext(name) != ".part" {
			t.Errorf("%s has its name", name)
		}
	}
	if err := publish(p, "later"); err != nil || syncs != 1 {
		t.Errorf("%v, after %d shared syncs", err, syncs)
	}
}

// TestPublishUnsupported has a system that refuses the call: each file is synced by itself.
func TestPublishUnsupported(t *testing.T) {
	p := newPublisher(t)
	if !canShare {
		t.Skip("this system syncs files one by one")
	}
	p.syncfs = func() error { return &os.PathError{Op: "syncfs", Err: syscall.ENOSYS} }
	if err := errors.Join(publishTogether(p, 2*fewestShared)...); err != nil {
		t.Error(err)
	}
	if names, err := List(p.root, "."); err != nil || len(names) != 2*fewestShared {
		t.Errorf("%q, %v", names, err)
	}
}

// A file whose own sync fails, or whose rename does, does not get its name, and the error is that of the cause.
func TestPublishFaults(t *testing.T) {
	p := newPublisher(t)
	file, err := OpenLocked(p.root, "part")
	if err != nil {
		t.Fatal(err)
	}
	rename := func() error {
		t.Error("renamed")
		return nil
	}
	if err := p.Publish(faultyFile{file, syscall.EIO}, p.root, rename); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if err := p.Publish(file, p.root, func() error { return syscall.EEXIST }); !errors.Is(err, syscall.EEXIST) {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
