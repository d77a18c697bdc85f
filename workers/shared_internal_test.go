package workers

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"culvert/source"
	"culvert/workers/internal/queue"
)

// held is a session that has joined a snapshot.
type held struct{ source.Source }

func (held) Close() error { return nil }

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

// TestSharedSnapshots tries shared snapshots of all kinds, in any order, one by one and several at once. All attempts
// together take no longer than one may.
func TestSharedSnapshots(t *testing.T) {
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
	for _, test := range []struct {
		snapshots []string
		want      error
	}{
		{nil, source.ErrSnapshotLost},
		{[]string{"hangs", "ended", "restarted", "held"}, nil},
		{[]string{"held", "held", "held", "ended"}, nil},
		{[]string{"ended", "ended"}, source.ErrSnapshotLost},
		{slices.Repeat([]string{"ended"}, 1000), source.ErrSnapshotLost},
		{[]string{"ended", "restarted"}, source.ErrOtherServer},
		{[]string{"hangs", "ended", "restarted"}, source.ErrUnavailable},
		{slices.Repeat([]string{"hangs"}, 1000), source.ErrUnavailable},
		{[]string{"refused", "ended", "hangs"}, refused},
	} {
		const orders = 10
		for i := range orders {
			var snapshots []source.Snapshot
			for _, token := range test.snapshots {
				snapshots = append(snapshots, source.Snapshot{Token: token})
			}
			rand.Shuffle(len(snapshots), func(i, j int) { snapshots[i], snapshots[j] = snapshots[j], snapshots[i] })
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				src, err := joinFirst(t.Context(), join, snapshots, []int{1, tryMost}[i%2])
				if !errors.Is(err, test.want) || (src == nil) != (test.want != nil) {
					t.Fatalf("%.10q: %v, %v", test.snapshots, src, err)
				}
				if took := time.Since(began); took > joinPatience {
					t.Errorf("%.10q: it took %v", test.snapshots, took)
				}
			})
		}
	}
}

// TestSharedSnapshotsOfOtherSnapshots has shared snapshots of another snapshot than the job's.
func TestSharedSnapshotsOfOtherSnapshots(t *testing.T) {
	job := newTestJob(t)
	this, other := source.Snapshot{Token: "one", State: "this"}, source.Snapshot{Token: "two", State: "other"}
	for name, snapshot := range map[string]source.Snapshot{"one": this, "two": other} {
		if err := job.Set(t.Context(), sharedKeys+"."+name, encode(snapshot)); err != nil {
			t.Fatal(err)
		}
	}
	var tried []string
	join := func(_ context.Context, s source.Snapshot) (source.Source, error) {
		tried = append(tried, s.Token)
		return nil, source.ErrSnapshotLost
	}
	_, err := joinAny(t.Context(), job, join, this, 1)
	if !errors.Is(err, source.ErrSnapshotLost) || !slices.Equal(tried, []string{"one"}) {
		t.Errorf("%q were tried, %v", tried, err)
	}
}

// TestStaleSnapshots has shared snapshots of a worker that is silent: one of a session that has ended, one that cannot
// be tried at first, and one that is held.
func TestStaleSnapshots(t *testing.T) {
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
		snapshots: map[string]queue.Value{}, silent: map[string]bool{"worker": true},
	}
	for name, token := range map[string]string{"worker-1": "ended", "worker-2": "unknown", "other-1": "ended"} {
		key := sharedKeys + "." + name
		if err := job.Set(t.Context(), key, encode(source.Snapshot{Token: token})); err != nil {
			t.Fatal(err)
		}
		v, err := job.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		w.snapshots[key] = v
	}
	for _, left := range []int{2, 1} {
		if err := w.dropSnapshots(t.Context()); err != nil {
			t.Error(err)
		}
		found := 0
		err := job.List(t.Context(), sharedKeys, func(queue.Value) error {
			found++
			return nil
		})
		if found != left || len(w.snapshots) != left || err != nil {
			t.Errorf("%d shared snapshots are left, %d are known, want %d, %v", found, len(w.snapshots), left, err)
		}
		unknown = false
	}
	if mayBeLeft, known := w.silent["worker"]; mayBeLeft || !known {
		t.Errorf("the silent worker is known: %v, and its shared snapshots are looked for again: %v", known, mayBeLeft)
	}
}

// TestSharedSnapshotIsLetGo notes a shared snapshot that the queue has lost, but no other.
func TestSharedSnapshotIsLetGo(t *testing.T) {
	job := newTestJob(t)
	r := run{job: job, worker: &Worker{}}
	has := func(name string) bool {
		_, err := job.Get(t.Context(), sharedKeys+"."+name)
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
	if err := job.Set(t.Context(), sharedKeys+".one", encode(source.Snapshot{})); err != nil {
		t.Fatal(err)
	}
	r.passOnAgain(t.Context())
	for _, name := range names {
		if has(name) != (name != "two") {
			t.Errorf("shared snapshot %s: %v", name, has(name))
		}
	}
}
