package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

// workload puts tasks, does them in two workers, and records each. It returns how often each worker's record has won.
func workload(t *testing.T, c queue.Config, tasks int, disturb func(done int)) {
	t.Helper()
	coordinator := create(t, open(t, c), "job")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var mu sync.Mutex
	won := map[string]string{}
	var workers sync.WaitGroup
	for i := range 2 {
		job := create(t, open(t, c), "job")
		workers.Go(func() {
			for {
				task, err := job.Next(ctx)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				record := fmt.Sprintf("worker %d, delivery %d", i, task.Delivery)
				switch err := job.Create(ctx, "record."+task.ID, []byte(record)); {
				case err == nil:
					mu.Lock()
					if won[task.ID] != "" {
						t.Errorf("%s has two winners", task.ID)
					}
					won[task.ID] = record
					mu.Unlock()
				case !errors.Is(err, queue.ErrExists) && ctx.Err() == nil:
					t.Error(err)
				}
				task.Done()
			}
		})
	}

	watching := make(chan error, 1)
	go func() {
		records := map[string]string{}
		watching <- coordinator.Watch(ctx, []string{"record"}, func(v queue.Value) error {
			records[v.Key] = string(v.Data)
			disturb(len(records))
			if len(records) == tasks {
				return errComplete
			}
			return nil
		})
	}()
	if err := coordinator.Put(ctx, numbered(tasks)); err != nil {
		t.Error(err)
	}
	if err := <-watching; !errors.Is(err, errComplete) {
		t.Error(err)
	}
	// Tasks may come again after they are recorded, but not forever.
	until(t, func() bool {
		queued, err := coordinator.Queued(t.Context())
		return err == nil && len(queued) == 0
	})
	cancel()
	workers.Wait()

	records := map[string]string{}
	err := coordinator.List(t.Context(), "record", func(v queue.Value) error {
		records[v.Key] = string(v.Data)
		return nil
	})
	if err != nil || len(records) != tasks {
		t.Errorf("%d records of %d tasks, %v", len(records), tasks, err)
	}
	for id, winner := range won {
		if records["record."+id] != winner {
			t.Errorf("%s: %s has won, but the record is of %s", id, winner, records["record."+id])
		}
	}
}

var errComplete = errors.New("complete")

// TestServerIsKilled kills the server while tasks are put and done, and starts it again.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	server := natsserver.New(t)
	c := queue.Config{URL: server.URL(), AckWait: time.Second, MaxDeliver: 100}
	const tasks = 400
	next := 1
	workload(t, c, tasks, func(done int) {
		if done >= next {
			server.Kill(t)
			server.Start(t)
			next = done + tasks/4
		}
	})
}

// TestNodeIsKilled kills one node of three after the other.
func TestNodeIsKilled(t *testing.T) {
	t.Parallel()
	nodes := natsserver.NewCluster(t, 3)
	c := queue.Config{URL: natsserver.URLs(nodes), Replicas: 3, AckWait: 2 * time.Second, MaxDeliver: 100}
	const tasks = 300
	next, node := 1, 0
	workload(t, c, tasks, func(done int) {
		if done >= next && node < len(nodes) {
			if node > 0 {
				nodes[node-1].Start(t)
			}
			nodes[node].Kill(t)
			node++
			next = done + tasks/4
		}
	})
}

// TestUnreachable has an address at which there is no server.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := natsserver.New(t)
	server.Kill(t)
	q, err := queue.Open(t.Context(), queue.Config{URL: "nats://someone:hidden@" + server.Address})
	if err == nil {
		q.Close()
		t.Fatal("it was reached")
	}
	if text := err.Error(); strings.Contains(text, "hidden") || !strings.Contains(text, server.Address) {
		t.Error(text)
	}
}

// TestContextEndsOutage ends calls that wait for a server.
func TestContextEndsOutage(t *testing.T) {
	t.Parallel()
	server := natsserver.New(t)
	job := create(t, open(t, queue.Config{URL: server.URL()}), "job")
	server.Kill(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, nextErr := job.Next(ctx)
	_, getErr := job.Get(ctx, "a")
	for what, err := range map[string]error{
		"Next": nextErr, "Get": getErr, "Put": job.Put(ctx, numbered(1)), "Create": job.Create(ctx, "a", nil),
		"List": job.List(ctx, "a", func(queue.Value) error { return nil }),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOutageLeavesNothing asks a server that is away for tasks. Each attempt ends without a trace.
func TestOutageLeavesNothing(t *testing.T) {
	t.Parallel()
	server := natsserver.New(t)
	lost := make(chan struct{}, 1)
	q := open(t, queue.Config{URL: server.URL(), Notice: func(string) {
		select {
		case lost <- struct{}{}:
		default:
		}
	}})
	job := create(t, q, "job")
	server.Kill(t)
	<-lost
	before := queue.Subscriptions(q)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := job.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if after := queue.Subscriptions(q); after != before {
		t.Errorf("there were %d subscriptions, and are %d", before, after)
	}
}
