package workers_test

import (
	"context"
	"io/fs"
	"regexp"
	"testing"

	"culvert/place"
	"culvert/workers"
)

// keeping is a place that permits no removal.
type keeping struct{ place.Place }

func (keeping) Remove(_ context.Context, name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: place.ErrRefused}
}

// TestNoRemoval has a place that permits no removal, and coordinators that have something to remove: the journal, also
// of the one before, and a file that a worker has left.
func TestNoRemoval(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wrap = func(to place.Place) place.Place { return keeping{to} }
	f.Held = f.hold(t, workers.Holder{})
	q := f.queue(t)
	f.leave(t, q)
	f.put(t, "orders/000001-9.csv.zst.age")
	f.finish(t, q)
	f.late = regexp.MustCompile(`^\.culvert/|-9\.csv`)
	f.check(t)
	if all, err := q.Jobs(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("the queue has the jobs %q, %v", all, err)
	}
	if result := <-f.begin(t.Context(), t, q, workers.Coordinator{Resume: true}); !isExist(result.err) {
		t.Errorf("once more: %v", result.err)
	}
}
