package workers_test

import (
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit"
	"culvert/workers"
)

// TestTableBehindChange has a change of a table wait for the coordinator, which has cut the table. Workers that want to
// read it have to wait for the change, but not for ever: the table fails, the others are exported, and then it is the
// turn of the change. The workers wait for ten seconds, twice.
func TestTableBehindChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.MaxDeliver, f.AckWait = 1, patient
	q := f.queue(t)
	planned := make(chan struct{})
	tell := sync.OnceFunc(func() { close(planned) })
	ended := f.begin(t.Context(), t, q, workers.Coordinator{Progress: func(workers.Status) { tell() }})
	<-planned
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		f.db.Exec(t, "ALTER TABLE orders ADD late int")
	}()
	testkit.WaitFor(t, "the change to wait", func() bool {
		return len(f.db.Query(t, "SELECT FROM pg_locks WHERE NOT granted AND relation = 'orders'::regclass")) == 1
	})
	worker := f.participant
	worker.Name = "one"
	worked := make(chan error)
	go func() { worked <- worker.workOn(t.Context(), q, nil) }()
	if result := <-ended; !isPartial(result.err) {
		t.Error(result.err)
	}
	if err := <-worked; err != nil {
		t.Error(err)
	}
	<-changed
	m := f.check(t, "customers", "nothing")
	if text := m.Tables[0].Error; !strings.Contains(text, "orders") || !strings.Contains(text, "waits to change it") {
		t.Errorf("the error is %q", text)
	}
}
