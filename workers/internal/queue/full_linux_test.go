package queue_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

// mount mounts a small disk on a directory.
func mount(t *testing.T, directory string) {
	t.Helper()
	if err := syscall.Mount("none", directory, "tmpfs", 0, "size=2m"); err != nil {
		testkit.Missing(t, "the right to mount", "run as root")
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(directory, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill takes all room of a disk, and returns what gives it back.
func fill(t *testing.T, directory string) (empty func()) {
	t.Helper()
	name := directory + "/filler"
	if err := os.WriteFile(name, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestDiskIsFull has a server within this process without room. Then its calls fail, also when there is room again: it
// stores nothing any more. With as little room, none is started.
func TestDiskIsFull(t *testing.T) {
	queue.Hasten(t, time.Second)
	directory := t.TempDir()
	mount(t, directory)
	t.Setenv("TMPDIR", directory)
	q := open(t, queue.Config{})
	job := create(t, q, "job")
	empty := fill(t, directory)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const most = 1000 // the room that files have already
	for i := range most {
		err := job.Set(ctx, "key", make([]byte, 4<<10))
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil || i == most-1 {
			t.Fatalf("after %d messages: %v", i, err)
		}
	}
	_, err := q.Create(ctx, "another", secret)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	empty()
	if err := job.Put(ctx, numbered(1)); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := job.Set(ctx, "key", nil); !errors.Is(err, queue.ErrDisk) || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if _, err := job.Get(ctx, "other"); !errors.Is(err, queue.ErrNotFound) {
		t.Error(err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestDiskOfServerIsFull has a server elsewhere without room. The call says so, and succeeds when the server is started
// again with room.
func TestDiskOfServerIsFull(t *testing.T) {
	queue.Hasten(t, time.Second)
	server := natsserver.New(t)
	server.Kill(t)
	server.Forget(t)
	if err := os.Mkdir(server.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	mount(t, server.Data())
	server.Start(t)
	t.Cleanup(func() { server.Kill(t) }) // before the disk is removed
	told := make(chan struct{})
	var once sync.Once
	job := create(t, open(t, queue.Config{URL: server.URL(), Notice: func(message string) {
		t.Log(message)
		if strings.Contains(message, "disk may be full") {
			once.Do(func() { close(told) })
		}
	}}), "job")
	empty := fill(t, server.Data())
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !isClosed(told) { // the files that there are have room
			err = job.Set(t.Context(), "key", make([]byte, 4<<10))
		}
		ended <- err
	}()
	<-told
	empty()
	server.Kill(t)
	server.Start(t)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
