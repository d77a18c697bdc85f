package queue_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

func TestMain(m *testing.M) {
	if natsserver.Main() {
		return
	}
	testkit.AtOnce(8)
	goleak.VerifyTestMain(m)
}

var secret = []byte("a secret of the tests, of 36 bytes…")

// each runs a test with a server within this process, and with one of its own.
func each(t *testing.T, test func(t *testing.T, c queue.Config)) {
	t.Run("Embedded", func(t *testing.T) {
		t.Parallel()
		test(t, queue.Config{})
	})
	t.Run("Process", func(t *testing.T) {
		t.Parallel()
		test(t, queue.Config{URL: natsserver.New(t).URL()})
	})
}

func open(t *testing.T, c queue.Config) *queue.Queue {
	t.Helper()
	if c.Notice == nil {
		c.Notice = func(message string) { t.Log(message) }
	}
	q, err := queue.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func create(t *testing.T, q *queue.Queue, name string) *queue.Job {
	t.Helper()
	job, err := q.Create(t.Context(), name, secret)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// numbered are n tasks.
func numbered(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("a.%d", i)) {
				return
			}
		}
	}
}

func put(t *testing.T, job *queue.Job, n int) {
	t.Helper()
	if err := job.Put(t.Context(), numbered(n)); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, job *queue.Job) *queue.Task {
	t.Helper()
	task, err := job.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestEachTaskIsDoneOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		const n = 700 // more than a batch
		q := open(t, c)
		job := create(t, q, "job")
		put(t, job, n)
		put(t, job, n) // as a second coordinator does
		again := create(t, q, "job")

		var mu sync.Mutex
		seen := map[string]bool{}
		var workers sync.WaitGroup
		for _, job := range []*queue.Job{job, again} {
			workers.Go(func() {
				for {
					mu.Lock()
					missing := n - len(seen)
					mu.Unlock()
					if missing == 0 {
						return
					}
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					task, err := job.Next(ctx)
					cancel()
					if errors.Is(err, context.DeadlineExceeded) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen[task.ID] = true
					mu.Unlock()
					task.Done()
				}
			})
		}
		workers.Wait()
		for id := range numbered(n) {
			if !seen[id] {
				t.Errorf("nobody was given task %s", id)
			}
		}
		until(t, func() bool {
			backlog, err := job.Backlog(t.Context())
			return err == nil && backlog == queue.Backlog{}
		})
	})
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		job := create(t, open(t, c), "job")
		put(t, job, 3)
		taken := next(t, job)
		backlog, err := job.Backlog(t.Context())
		if err != nil || backlog != (queue.Backlog{Waiting: 2, Running: 1}) {
			t.Errorf("%+v, %v", backlog, err)
		}
		queued, err := job.Queued(t.Context())
		if err != nil || !slices.Equal(queued, []string{"a.0", "a.1", "a.2"}) {
			t.Errorf("%q, %v", queued, err)
		}
		taken.Done()
		until(t, func() bool {
			queued, err := job.Queued(t.Context())
			return err == nil && slices.Equal(queued, []string{"a.1", "a.2"})
		})
	})
}

// TestSilentWorker has a worker that does nothing, as if it were stopped, and comes back later.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		c.AckWait = 200 * time.Millisecond
		job := create(t, open(t, c), "job")
		put(t, job, 1)
		silent := next(t, job)
		second := next(t, job)
		if silent.ID != second.ID || silent.Delivery != 1 || second.Delivery != 2 || second.Last {
			t.Errorf("%s, delivery %d; %s, delivery %d", silent.ID, silent.Delivery, second.ID, second.Delivery)
		}
		silent.Done()
		until(t, func() bool {
			queued, err := job.Queued(t.Context())
			return err == nil && len(queued) == 0
		})
		second.Done()
		second.Done()
	})
}

func TestReturn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		job := create(t, open(t, c), "job")
		put(t, job, 1)
		next(t, job).Return(0)
		task := next(t, job)
		if task.Delivery != 2 {
			t.Errorf("delivery %d", task.Delivery)
		}
		task.Bury()
		until(t, func() bool {
			queued, err := job.Queued(t.Context())
			return err == nil && len(queued) == 0
		})
	})
}

func TestDrop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		job := create(t, open(t, c), "job")
		if err := job.Put(t.Context(), slices.Values([]string{"a.1.0", "a.1.1", "a.10.0"})); err != nil {
			t.Fatal(err)
		}
		taken := next(t, job)
		if err := job.Drop(t.Context(), "a.1"); err != nil {
			t.Fatal(err)
		}
		taken.Return(0)
		if task := next(t, job); taken.ID != "a.1.0" || task.ID != "a.10.0" {
			t.Errorf("%s is left", task.ID)
		}
		queued, err := job.Queued(t.Context())
		if err != nil || !slices.Equal(queued, []string{"a.10.0"}) {
			t.Errorf("%q, %v", queued, err)
		}
	})
}

// until waits for a condition.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-ticks.C:
		}
	}
}

// TestAbandoned gives a task to as many workers as may have it.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		c.AckWait, c.MaxDeliver = 100*time.Millisecond, 2
		job := create(t, open(t, c), "job")
		put(t, job, 1)
		if task := next(t, job); task.Last {
			t.Error("the first delivery is the last one")
		}
		if task := next(t, job); !task.Last {
			t.Error("the second delivery is not the last one")
		}
		// The server looks for tasks that were not acknowledged only if somebody asks for one.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		other := make(chan error, 1)
		go func() {
			_, err := job.Next(ctx)
			other <- err
		}()
		until(t, func() bool {
			backlog, err := job.Backlog(t.Context())
			return err == nil && backlog == queue.Backlog{} // it is abandoned
		})
		cancel()
		if err := <-other; !errors.Is(err, context.Canceled) {
			t.Errorf("a third worker got the task: %v", err)
		}
		put(t, job, 1) // it is still there
		if queued, err := job.Queued(t.Context()); err != nil || !slices.Equal(queued, []string{"a.0"}) {
			t.Errorf("%q, %v", queued, err)
		}
	})
}

func TestRemove(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		q := open(t, c)
		job := create(t, q, "job")
		create(t, q, "other")
		if all, err := q.Jobs(t.Context()); err != nil || !slices.Equal(all, []string{"job", "other"}) {
			t.Errorf("%q, %v", all, err)
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := job.Next(t.Context())
			waiting <- err
		}()
		if err := errors.Join(q.Remove(t.Context(), "job"), q.Remove(t.Context(), "job")); err != nil {
			t.Fatal(err)
		}
		_, openErr := q.Job(t.Context(), "job", secret)
		_, getErr := job.Get(t.Context(), "key")
		for what, err := range map[string]error{
			"Next": <-waiting, "Put": job.Put(t.Context(), numbered(1)), "Job": openErr, "Get": getErr,
			"Create": job.Create(t.Context(), "key", nil), "Set": job.Set(t.Context(), "key", nil),
		} {
			if !errors.Is(err, queue.ErrNoJob) || errors.Is(err, queue.ErrUncertain) {
				t.Errorf("%s of a removed job: %v", what, err)
			}
		}
		if all, err := q.Jobs(t.Context()); err != nil || !slices.Equal(all, []string{"other"}) {
			t.Errorf("%q, %v", all, err)
		}
	})
}

func TestTemporaryData(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary) // of Windows
	killed := temporary + "/culvert-queue-1"
	long := time.Now().Add(-2 * time.Hour)
	err := errors.Join(os.Mkdir(killed, 0o700), os.WriteFile(killed+"/lock", nil, 0o600),
		os.Chtimes(killed+"/lock", long, long))
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, create(t, q, "job"), 2)
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	q.Close()
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestRefused(t *testing.T) {
	q := open(t, queue.Config{})
	job := create(t, q, "job")
	_, shortErr := q.Create(t.Context(), "job", secret[:queue.MinSecret-1])
	_, nameErr := q.Create(t.Context(), "a.b", secret)
	large := make([]byte, queue.MaxData+1)
	for what, err := range map[string]error{
		"short secret": shortErr, "name": nameErr,
		"ID":    job.Put(t.Context(), func(yield func(string) bool) { yield("a b") }),
		"key":   job.Create(t.Context(), "a..b", nil),
		"value": job.Create(t.Context(), "a", large),
	} {
		if err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", file)
	t.Setenv("TMP", file) // of Windows
	if _, err := queue.Open(t.Context(), queue.Config{}); err == nil {
		t.Error("a server with a file for a directory was started")
	}
}
