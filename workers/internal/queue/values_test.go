package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/workers/internal/queue"
)

func TestFirstWins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		job := create(t, open(t, c), "job")
		var winner atomic.Value
		var racers sync.WaitGroup
		for i := range 8 {
			racers.Go(func() {
				data := fmt.Sprint("racer ", i)
				switch err := job.Create(t.Context(), "record.1", []byte(data)); {
				case err == nil && !winner.CompareAndSwap(nil, data):
					t.Error("two have won")
				case err != nil && !errors.Is(err, queue.ErrExists):
					t.Error(err)
				}
			})
		}
		racers.Wait()
		value, err := job.Get(t.Context(), "record.1")
		if err != nil || string(value.Data) != winner.Load() {
			t.Errorf("%q, %v; the winner was %q", value.Data, err, winner.Load())
		}
	})
}

func TestValues(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		ctx := t.Context()
		job := create(t, open(t, c), "job")
		if _, err := job.Get(ctx, "a"); !errors.Is(err, queue.ErrNotFound) {
			t.Error(err)
		}
		revision, err := job.Update(ctx, "a", []byte("one"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Update(ctx, "a", []byte("two"), 0); !errors.Is(err, queue.ErrReplaced) {
			t.Errorf("it exists: %v", err)
		}
		now, err := job.Update(ctx, "a", []byte("two"), revision)
		if err != nil || now <= revision {
			t.Errorf("revision %d after %d, %v", now, revision, err)
		}
		if _, err := job.Update(ctx, "a", []byte("three"), revision); !errors.Is(err, queue.ErrReplaced) {
			t.Errorf("it has another revision: %v", err)
		}
		if err := job.Delete(ctx, "a", revision); !errors.Is(err, queue.ErrReplaced) {
			t.Errorf("it has another revision: %v", err)
		}
		if value, err := job.Get(ctx, "a"); err != nil || string(value.Data) != "two" || value.Revision != now {
			t.Errorf("%+v, %v", value, err)
		}
		if err := job.Delete(ctx, "a", now); err != nil {
			t.Error(err)
		}
		if _, err := job.Get(ctx, "a"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("it was deleted: %v", err)
		}
		if err := errors.Join(job.Create(ctx, "a", []byte("new")), job.Set(ctx, "a", []byte("set"))); err != nil {
			t.Error(err)
		}
		if value, err := job.Get(ctx, "a"); err != nil || string(value.Data) != "set" {
			t.Errorf("%+v, %v", value, err)
		}
	})
}

func TestListAndWatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		job := create(t, open(t, c), "job")
		want := map[string]string{}
		set := func(key, data string) {
			t.Helper()
			if err := job.Set(t.Context(), key, []byte(data)); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(key, "record.") {
				want[key] = data
			}
		}
		list := func() string {
			got := map[string]string{}
			err := job.List(t.Context(), "record", func(v queue.Value) error {
				got[v.Key] = string(v.Data)
				return nil
			})
			return fmt.Sprint(got, err)
		}
		if got := list(); got != "map[] <nil>" {
			t.Error("an empty job has", got)
		}
		set("record.1", "one")
		set("record.2.x", "two")
		set("shared.1", "other")
		set("record.1", "uno")
		if got := list(); got != fmt.Sprint(want, nil) {
			t.Errorf("got %s, want %v", got, want)
		}

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan queue.Value)
		ended := make(chan error, 1)
		go func() {
			ended <- job.Watch(ctx, []string{"record"}, func(v queue.Value) error {
				seen <- v
				return nil
			})
		}()
		for _, data := range []string{"two", "uno"} {
			if v := <-seen; string(v.Data) != data {
				t.Errorf("saw %q, want %q", v.Data, data)
			}
		}
		set("record.3", "three")
		if v := <-seen; v.Key != "record.3" || string(v.Data) != "three" {
			t.Errorf("saw %+v", v)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		stop := errors.New("enough")
		enough := func(queue.Value) error { return stop }
		if err := job.Watch(t.Context(), []string{"record", "other"}, enough); !errors.Is(err, stop) {
			t.Error(err)
		}
		if err := job.List(t.Context(), "record", func(queue.Value) error { return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
	})
}

// TestListIsGivenUp gives up a list of more values than the client of NATS keeps for a reader. TestMain looks for the
// goroutine that would wait to send the next one.
func TestListIsGivenUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c queue.Config) {
		job := create(t, open(t, c), "job")
		for i := range 600 {
			if err := job.Create(t.Context(), fmt.Sprintf("a.%d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		enough := errors.New("enough")
		err := job.List(t.Context(), "a", func(queue.Value) error {
			for range 50 { // whose answers come behind the values
				if _, err := job.Get(t.Context(), "a.0"); err != nil {
					return err
				}
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Errorf("the list ended with %v", err)
		}
	})
}
