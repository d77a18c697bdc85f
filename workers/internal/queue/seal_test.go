package queue_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

// raw returns a client of the server that knows nothing of jobs.
func raw(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestOtherSecret(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		q := open(t, c)
		job := create(t, q, "job")
		if err := job.Create(t.Context(), "key", []byte("value")); err != nil {
			t.Fatal(err)
		}
		stranger, err := q.Job(t.Context(), "job", bytes.Repeat([]byte("x"), 32))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stranger.Get(t.Context(), "key"); !errors.Is(err, queue.ErrSealed) {
			t.Error(err)
		}
		none := func(queue.Value) error { return nil }
		if err := job.List(t.Context(), "key", none); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingIsReadable looks for the plain text in all files of the server.
func TestNothingIsReadable(t *testing.T) {
	const marker = "customers-of-acme"
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // of Windows
	job := create(t, open(t, queue.Config{}), "job")
	err := errors.Join(
		job.Put(t.Context(), func(yield func(string) bool) { yield("a.1") }),
		job.Create(t.Context(), "record.1", []byte(marker)), job.Set(t.Context(), "shared.1", []byte(marker)))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		size += len(content)
		if bytes.Contains(content, []byte(marker)) {
			t.Errorf("%s has the plain text", path)
		}
		return err
	})
	if err != nil || size < 3*len(marker) {
		t.Errorf("%d bytes, %v", size, err)
	}
}

// TestForged has a server that changes, moves and makes up messages.
func TestForged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := natsserver.New(t)
	job := create(t, open(t, queue.Config{URL: server.URL()}), "job")
	js := raw(t, server.URL())
	values, err := js.KeyValue(ctx, "culvert-job")
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Create(ctx, "record.1", []byte("one")); err != nil {
		t.Fatal(err)
	}
	stored, err := values.Get(ctx, "record.1")
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(stored.Value())
	changed[len(changed)-1] ^= 1
	for name, data := range map[string][]byte{"moved": stored.Value(), "changed": changed, "short": {1}, "empty": nil} {
		if _, err := values.Put(ctx, "record.2", data); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Get(ctx, "record.2"); !errors.Is(err, queue.ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
		if err := job.List(ctx, "record", func(queue.Value) error { return nil }); !errors.Is(err, queue.ErrSealed) {
			t.Errorf("%s in a list: %v", name, err)
		}
	}

	// A task that nobody can open does not stop the others.
	if _, err := js.Publish(ctx, "culvert.job.a.0", stored.Value()); err != nil {
		t.Fatal(err)
	}
	if err := job.Put(ctx, func(yield func(string) bool) { yield("a.1") }); err != nil {
		t.Fatal(err)
	}
	if task := next(t, job); task.ID != "a.1" {
		t.Errorf("got %s", task.ID)
	}
}
