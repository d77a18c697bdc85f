package workers_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/export"
	"culvert/internal/testkit/natsserver"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// atEachStep has a worker reach each kind of step of a part, where something happens to it. Another worker does the
// part again. Then afterwards is called.
func atEachStep(t *testing.T, happen func(*testing.T, *process), afterwards func(*testing.T, *process)) {
	t.Helper()
	for _, step := range []string{"create orders/", "commit", "committed"} {
		t.Run(strings.TrimSuffix(step, " orders/"), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.URL = natsserver.New(t).URL()
			ended := f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
			victim, other := f.participant, f.participant
			victim.Name, victim.Steps, other.Name = "victim", true, "other"
			reached := victim.start(t)
			reached.step(t, step)
			happen(t, reached)
			process := other.start(t)
			(<-ended).check(t)
			process.goOn(t)
			f.check(t)
			afterwards(t, reached)
			f.check(t)
		})
	}
}

// TestWorkerIsKilled kills a worker at each kind of step of a part.
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	atEachStep(t, func(_ *testing.T, p *process) { p.kill() }, func(*testing.T, *process) {})
}

// TestFileOfNextExport stops a worker before it removes its file, until the next export has a file of that name.
// A file that is not encrypted is left, since it cannot be told from that one.
func TestFileOfNextExport(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			fileOfNextExport(t, plain)
		})
	}
}

func fileOfNextExport(t *testing.T, plain bool) {
	t.Helper()
	f := newFixture(t)
	f.Plain = plain
	f.URL = natsserver.New(t).URL()
	q := f.queue(t)
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	victim, other := f.participant, f.participant
	victim.Name, victim.Steps, other.Name = "victim", true, "other"
	stopped := victim.start(t)
	stopped.step(t, "committed") // and no record yet
	process := other.start(t)
	(<-ended).check(t)
	process.goOn(t)

	f.Overwrite, other.Overwrite = true, true
	ended = f.begin(t.Context(), t, q, workers.Coordinator{})
	process = other.start(t)
	(<-ended).check(t)
	process.goOn(t)
	stopped.goOn(t)
	f.check(t)
}

// TestWorkerIsLast has a coordinator that dies, a worker that holds the snapshot, and a database that changes.
func TestWorkerIsLast(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	coordinator, worker := f.participant, f.participant
	coordinator.Coordinator, worker.Name, worker.Steps = true, "last", true
	killed := coordinator.start(t)
	last := worker.start(t)
	last.step(t, "create")
	killed.kill()
	f.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
	ended := f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
	last.goOn(t)
	(<-ended).check(t)
	f.check(t, "customers", "nothing")
	f.rename(t, "orders", "before")
	f.check(t)
}

// rename gives the content of a table that check compares with.
func (f *fixture) rename(t *testing.T, table, to string) {
	t.Helper()
	f.db.Exec(t, "DROP TABLE "+table+"; ALTER TABLE "+to+" RENAME TO "+table)
}

// allDie leaves a job with some parts that are written, and nobody who holds the snapshot.
func allDie(t *testing.T, f *fixture) {
	t.Helper()
	coordinator, worker := f.participant, f.participant
	coordinator.Coordinator, worker.Name, worker.Steps = true, "worker", true
	first := coordinator.start(t)
	process := worker.start(t)
	process.writeSome(t)
	process.kill()
	first.kill()
	// The server notices later that they have gone, and a session that it still has holds the snapshot.
	f.db.EndSessions(t, "true")
}

func TestSnapshotIsLost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	allDie(t, f)
	f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")
	position := strings.TrimSpace(string(f.db.Psql(t, "-Atc", "SELECT pg_current_wal_insert_lsn()")))
	q := f.queue(t)
	ended := <-f.begin(t.Context(), t, q, workers.Coordinator{})
	lost, is := errors.AsType[*workers.LostError](ended.err)
	if !is || !errors.Is(lost, source.ErrSnapshotLost) || lost.Parts < 2 || lost.Parts >= lost.Of || lost.Rows == 0 {
		t.Fatalf("%+v, %v", lost, ended.err)
	}

	f.Mixed = true
	running := f.begin(t.Context(), t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name = "other"
	process := worker.start(t)
	(<-running).check(t)
	process.goOn(t)
	m := f.check(t)
	later := f.db.Psql(t, "-Atc", fmt.Sprintf("SELECT '%s'::pg_lsn >= '%s'", m.Position, position))
	if !strings.HasPrefix(string(later), "t") {
		t.Errorf("the position is %q, and the new snapshot is not before %s", m.Position, position)
	}
}

// slowToCut is a source that cuts tables only when it may.
type slowToCut struct {
	*postgres.Source
	may <-chan struct{}
}

func (s *slowToCut) Parts(ctx context.Context, table string, sel source.Selection, size int64) ([]source.Part, error) {
	select {
	case <-s.may:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Source.Parts(ctx, table, sel, size)
}

// TestSnapshotIsReplaced has a worker that joins the new snapshot while the parts are still those of the lost one.
func TestSnapshotIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	allDie(t, f)
	f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")
	met := make(chan struct{})
	f.Mixed = true
	f.wrapTaken = func(db *postgres.Source) source.Source { return &slowToCut{db, met} }
	worker := f.participant
	worker.Name = "other"
	worked := make(chan error, 1)
	go func() {
		var once sync.Once
		worked <- worker.work(t.Context(), func(message string) {
			t.Log(message)
			if strings.Contains(message, source.ErrOtherSnapshot.Error()) {
				once.Do(func() { close(met) })
			}
		})
	}()
	(<-f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})).check(t)
	if err := <-worked; err != nil {
		t.Error(err)
	}
	f.check(t)
}

// TestMixed has one table that is complete when the snapshot is lost.
func TestMixed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Tables = []string{"customers", "orders"}
	f.URL = natsserver.New(t).URL()
	allDie(t, f)
	f.db.Exec(t, "CREATE TABLE before AS TABLE customers; DELETE FROM customers; INSERT INTO orders VALUES (0, 'new')")
	f.Mixed = true
	running := f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
	worker := f.participant
	worker.Name = "other"
	process := worker.start(t)
	(<-running).check(t)
	process.goOn(t)
	f.rename(t, "customers", "before")
	if m := f.check(t); m.Consistent || m.Tables[0].Snapshot != "" || m.Tables[1].Snapshot == "" ||
		m.Position != "" {
		t.Errorf("consistent: %v, snapshots %q and %q, position %q", m.Consistent, m.Tables[0].Snapshot,
			m.Tables[1].Snapshot, m.Position)
	}
}

// TestNothingHasChanged has nobody who holds the snapshot, and a database in the same state. A file is lost.
func TestNothingHasChanged(t *testing.T) {
	t.Parallel()
	f := newQuietFixture(t)
	f.URL = natsserver.New(t).URL()
	allDie(t, f)
	if err := os.Remove(f.Directory + "/orders/000001.csv.zst.age"); err != nil { // of a part that is recorded
		t.Error(err)
	}
	running := f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
	worker := f.participant
	worker.Name = "other"
	process := worker.start(t)
	(<-running).check(t)
	process.goOn(t)
	if m := f.check(t); !m.Consistent {
		t.Error("it is not consistent")
	}
}

// TestTableFails has a table of which no worker can read a part.
func TestTableFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.Exec(t, "CREATE VIEW broken AS SELECT 1 / (id - 50) AS id FROM customers")
	f.Tables = append(f.Tables, "broken")
	f.URL, f.MaxDeliver, f.AckWait = natsserver.New(t).URL(), 2, patient
	var statuses atomic.Int64
	told := workers.Coordinator{Progress: func(workers.Status) { statuses.Add(1) }}
	ended := f.begin(t.Context(), t, f.queue(t), told)
	worker := f.participant
	worker.Name = "one"
	process := worker.start(t)
	result := <-ended
	if partial, is := errors.AsType[*export.PartialError](result.err); !is || partial.Failed != 1 {
		t.Fatal(result.err)
	}
	process.goOn(t)
	m := f.check(t, "orders", "customers", "nothing")
	if text := m.Tables[3].Error; !strings.Contains(text, "division by zero") {
		t.Errorf("the error is %q", text)
	}
	if statuses.Load() == 0 {
		t.Error("no progress was told")
	}
}

// TestKillsEveryWorker has a part that kills each worker that takes it.
func TestKillsEveryWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Tables = []string{"customers"}
	f.URL, f.MaxDeliver = natsserver.New(t).URL(), 2
	ended := f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
	for _, name := range []string{"one", "two"} {
		worker := f.participant
		worker.Name, worker.Steps = name, true
		process := worker.start(t)
		process.step(t, "create customers/")
		process.kill()
	}
	worker := f.participant
	worker.Name = "three"
	process := worker.start(t)
	result := <-ended
	if !isPartial(result.err) {
		t.Fatal(result.err)
	}
	process.goOn(t)
	if m := f.check(t, []string{"customers"}[:0]...); !strings.Contains(m.Tables[0].Error, "none has finished") {
		t.Errorf("the error is %q", m.Tables[0].Error)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	f := newQuietFixture(t)
	q := f.queue(t)
	tooMany := workers.Coordinator{MaxSessions: workers.MostSessions + 1}
	if m, err := tooMany.Run(t.Context()); err == nil || m != nil {
		t.Errorf("%d sessions are accepted", tooMany.MaxSessions)
	}
	f.leave(t, q)
	other := *f
	other.PartSize *= 2
	if result := <-other.begin(t.Context(), t, q, workers.Coordinator{}); !errors.Is(result.err, workers.ErrOtherJob) {
		t.Error(result.err)
	}
	f.finish(t, q)

	if result := <-f.begin(t.Context(), t, q, workers.Coordinator{}); !errors.Is(result.err, fs.ErrExist) {
		t.Error(result.err)
	}
	f.check(t)
}

// finish runs a coordinator and a worker in this process to the end.
func (f *fixture) finish(t *testing.T, q *workers.Queue) {
	t.Helper()
	ended := f.begin(t.Context(), t, q, workers.Coordinator{})
	worker := f.participant
	worker.Name = "finisher"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	worked := make(chan error, 1)
	go func() { worked <- worker.untilJob(ctx, q, func(m string) { t.Log(m) }) }()
	(<-ended).check(t)
	cancel()
	if err := <-worked; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, workers.ErrNoJob) {
		t.Error(err)
	}
}
