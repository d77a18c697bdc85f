package workers

import (
	"context"
	"errors"
	"testing"
	"time"

	"culvert/source"
	"culvert/workers/internal/queue"
)

// held is a session that has joined a snapshot.
type held struct{ source.Source }

func newTestJob(t *testing.T) *queue.Job {
	t.Helper()
	q, err := queue.Open(t.Context(), queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	job, err := q.Create(t.Context(), "job", []byte("a secret of at least 16 bytes"))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// TestBatons tries batons of all kinds, in any order.
func TestBatons(t *testing.T) {
	before := joinPatience
	joinPatience = time.Millisecond
	defer func() { joinPatience = before }()
	refused := errors.New("no such user")
	join := func(ctx context.Context, s source.Snapshot) (source.Source, error) {
		switch s.Token {
		case "hangs":
			<-ctx.Done()
			return nil, ctx.Err()
		case "ended":
			return nil, source.ErrSnapshotLost
		case "restarted":
			return nil, source.ErrOtherServer
		case "refused":
			return nil, refused
		}
		return held{}, nil
	}
	job := newTestJob(t)
	for _, test := range []struct {
		batons []string
		want   error
	}{
		{nil, source.ErrSnapshotLost},
		{[]string{"hangs", "ended", "restarted", "held"}, nil},
		{[]string{"ended", "ended"}, source.ErrSnapshotLost},
		{[]string{"ended", "restarted"}, source.ErrOtherServer},
		{[]string{"hangs", "ended", "restarted"}, source.ErrUnavailable},
		{[]string{"refused", "ended", "hangs"}, refused},
	} {
		const orders = 10
		for range orders {
			var batons []source.Snapshot
			for _, token := range test.batons {
				batons = append(batons, source.Snapshot{Token: token})
			}
			src, err := joinAny(t.Context(), job, join, batons...)
			if !errors.Is(err, test.want) || (src == nil) != (test.want != nil) {
				t.Fatalf("%q: %v, %v", test.batons, src, err)
			}
		}
	}
}

// TestStaleBatons has batons of a worker that is silent: one of a session that has ended, one that cannot be tried at
// first, and one that is held.
func TestStaleBatons(t *testing.T) {
	job := newTestJob(t)
	unknown := true
	w := watch{
		operation: &operation{job: job, c: &Coordinator{
			Join: func(_ context.Context, s source.Snapshot) (source.Source, error) {
				if s.Token == "unknown" && unknown {
					return nil, source.ErrUnavailable
				}
				return nil, source.ErrSnapshotLost
			},
		}},
		batons: map[string]queue.Value{}, silent: map[string]bool{"worker": true},
	}
	for name, token := range map[string]string{"worker-1": "ended", "worker-2": "unknown", "other-1": "ended"} {
		key := batonKeys + "." + name
		if err := job.Set(t.Context(), key, encode(source.Snapshot{Token: token})); err != nil {
			t.Fatal(err)
		}
		v, err := job.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		w.batons[key] = v
	}
	for _, left := range []int{2, 1} {
		if err := w.dropBatons(t.Context()); err != nil {
			t.Error(err)
		}
		found := 0
		err := job.List(t.Context(), batonKeys, func(queue.Value) error {
			found++
			return nil
		})
		if found != left || len(w.batons) != left || err != nil {
			t.Errorf("%d batons are left, %d are known, want %d, %v", found, len(w.batons), left, err)
		}
		unknown = false
	}
	if len(w.silent) > 0 {
		t.Errorf("the batons of %v are looked for again", w.silent)
	}
}

// TestBatonIsLetGo notes a baton that the queue has lost, but no other.
func TestBatonIsLetGo(t *testing.T) {
	job := newTestJob(t)
	r := run{job: job, worker: &Worker{}}
	has := func(name string) bool {
		_, err := job.Get(t.Context(), batonKeys+"."+name)
		return err == nil
	}
	if err := job.Set(t.Context(), jobKey, encode(jobNote{})); err != nil {
		t.Fatal(err)
	}
	names := []string{"one", "two", "three"}
	for _, name := range names {
		letGo := r.hold(name, source.Snapshot{Token: name})
		if name == "two" {
			letGo()
		}
	}
	if err := job.Set(t.Context(), batonKeys+".one", encode(source.Snapshot{})); err != nil {
		t.Fatal(err)
	}
	r.passOnAgain(t.Context())
	for _, name := range names {
		if has(name) != (name != "two") {
			t.Errorf("baton %s: %v", name, has(name))
		}
	}
}
