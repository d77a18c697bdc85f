package workers_test

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/internal/testkit/stores"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// eachPlace runs a test with a directory, and with a bucket.
func eachPlace(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run("Directory", func(t *testing.T) {
		t.Parallel()
		test(t, newQuietFixture(t))
	})
	t.Run("Bucket", func(t *testing.T) {
		t.Parallel()
		store := stores.S3(t)[0]
		f := newQuietFixture(t)
		f.Bucket = store.URL(t)
		test(t, f)
	})
}

// breakOff kills an export with its queue when some parts are in the journal, and returns their files.
func (f *fixture) breakOff(t *testing.T) (parts []string) {
	t.Helper()
	p := f.participant
	p.temporary = t.TempDir() // for what the queue leaves
	p.Together, p.Name, p.Steps = true, "worker", true
	others := strings.TrimSpace(string(f.db.Psql(t, "-Atc", "SELECT array_agg(pid) FROM pg_stat_activity")))
	process := p.start(t)
	process.writeSome(t)
	root := f.root(t)
	testkit.WaitFor(t, "the journal", func() bool {
		var err error
		parts, err = workers.PartsInJournal(t.Context(), root, secret, jobName)
		return err == nil && len(parts) >= 2 // a segment may be replaced while it is read
	})
	process.kill()
	// The server notices later that it has gone, and a session that it still has holds the snapshot.
	f.db.EndSessions(t, "pid <> ALL ('"+others+"')")
	return parts
}

// resume goes on with a queue that knows nothing.
func (f *fixture) resume(t *testing.T) error {
	t.Helper()
	f.Resume = true
	q := f.queue(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	worker := f.participant
	worker.Name = "second"
	worked := make(chan error, 1)
	go func() { worked <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
	result := <-f.begin(ctx, t, q, workers.Coordinator{Event: f.told})
	cancel()
	if err := <-worked; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	return result.err
}

// resumeByCall goes on by the call that a holder answers, which has shorter heartbeats: however busy the machine is, it
// is in time.
func (f *fixture) resumeByCall(t *testing.T) error {
	t.Helper()
	f.Heartbeat = 50 * heartbeat
	return f.resume(t)
}

// keeps checks that parts of the journal were not written again.
func (f *fixture) keeps(t *testing.T, parts []string) {
	t.Helper()
	files := f.files(t)
	for _, part := range parts {
		if !slices.Contains(files, part) {
			t.Errorf("%s was written again", part)
		}
	}
}

// hold holds a snapshot as long as the test runs.
func (f *fixture) hold(t *testing.T, h workers.Holder) source.Snapshot {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	held, ended := make(chan source.Snapshot, 1), make(chan error, 1)
	h.Name, h.Secret, h.Job, h.Join, h.Open = "holder", secret, jobName, f.join, f.take
	h.Held = func(s source.Snapshot) { held <- s }
	h.Notice = func(m string) { t.Log(m) }
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	select {
	case s := <-held:
		return s
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return source.Snapshot{}
	}
}

// TestResumeInHeldSnapshot has a database that changes, and a holder.
func TestResumeInHeldSnapshot(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, f *fixture) {
		f.Held = f.hold(t, workers.Holder{})
		parts := f.breakOff(t)
		f.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
		if err := f.resume(t); err != nil {
			t.Fatal(err)
		}
		f.keeps(t, parts)
		f.rename(t, "orders", "before")
		if m := f.check(t); !m.Consistent {
			t.Error("it is not consistent")
		}
	})
}

// TestResumeByToken knows nothing of the snapshot that is held but its token.
func TestResumeByToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Held = source.Snapshot{Token: f.hold(t, workers.Holder{}).Token}
	f.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
	parts := f.breakOff(t)
	first := f.Held.Token
	f.Held.Token = f.hold(t, workers.Holder{}).Token
	if err := f.resume(t); !errors.Is(err, workers.ErrOtherJob) || !strings.Contains(err.Error(), first) {
		t.Errorf("with another token: %v", err)
	}
	f.Held.Token = first
	if err := f.resume(t); err != nil {
		t.Fatal(err)
	}
	f.keeps(t, parts)
	f.rename(t, "orders", "before")
	if m := f.check(t); !m.Consistent {
		t.Error("it is not consistent")
	}
}

// TestResumeUnchanged has nobody who holds the snapshot, and a database in the same state. A part has lost its file.
func TestResumeUnchanged(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, f *fixture) {
		parts := f.breakOff(t)
		refused := <-f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
		if !errors.Is(refused.err, workers.ErrUnfinished) {
			t.Error(refused.err)
		}
		if err := f.root(t).Remove(t.Context(), parts[0]); err != nil {
			t.Error(err)
		}
		if err := f.resume(t); err != nil {
			t.Fatal(err)
		}
		f.keeps(t, parts[1:])
		f.check(t)
		if err := f.resume(t); !errors.Is(err, fs.ErrExist) {
			t.Errorf("resuming a complete export: %v", err)
		}
	})
}

// TestResumeChanged has a database that has changed. With Mixed, the export goes on; or it is overwritten.
func TestResumeChanged(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, f *fixture) {
		parts := f.breakOff(t)
		f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")
		for range 2 { // the first leaves everything as it is
			err := f.resume(t)
			lost, is := errors.AsType[*workers.LostError](err)
			if !is || lost.Parts != len(parts) || lost.Parts >= lost.Of || lost.Rows == 0 || lost.All < lost.Bytes {
				t.Fatalf("%+v, %v", lost, err)
			}
			if errors.Is(err, source.ErrOtherServer) {
				t.Error(err)
			}
		}
		f.Mixed, f.Overwrite = true, f.Bucket == "" // which then does not matter
		if err := f.resume(t); err != nil {
			t.Fatal(err)
		}
		f.check(t)

		f.Mixed, f.Overwrite = false, true
		f.breakOff(t)
		f.Resume = false
		f.finish(t, f.queue(t))
		f.check(t)
	})
}

// TestJournalOfOthers has a journal with another secret, and one of other settings.
func TestJournalOfOthers(t *testing.T) {
	t.Parallel()
	f := newQuietFixture(t)
	f.breakOff(t)
	f.PartSize *= 2
	if err := f.resume(t); !errors.Is(err, workers.ErrOtherJob) {
		t.Error(err)
	}
	f.PartSize /= 2
	f.Held = f.hold(t, workers.Holder{})
	f.Held.State = "" // as if only the token were known
	if err := f.resume(t); !errors.Is(err, workers.ErrOtherJob) || !strings.Contains(err.Error(), f.Held.Token) {
		t.Errorf("with a token, which the job was begun without: %v", err)
	}
	f.Held = source.Snapshot{}
	stranger := workers.Coordinator{Secret: []byte("another secret, also of 36 bytes, or more")}
	f.Resume = true
	if result := <-f.begin(t.Context(), t, f.queue(t), stranger); !errors.Is(result.err, workers.ErrSealed) {
		t.Error(result.err)
	}
	if err := f.resume(t); err != nil {
		t.Error(err)
	}
	f.check(t)
}

// TestQueueLosesEverything has a NATS server that comes back without its data, twice: while the coordinator lives, and
// after it was killed. Only the holder keeps the snapshot then.
func TestQueueLosesEverything(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := natsserver.New(t)
	f.URL = server.URL()
	forget := func() {
		server.Kill(t)
		server.Forget(t)
		server.Start(t)
	}
	coordinator, worker := f.participant, f.participant
	coordinator.Coordinator, coordinator.Resume, worker.Name, worker.Steps = true, true, "worker", true
	first := coordinator.start(t)
	f.hold(t, workers.Holder{Queue: f.queue(t)})
	process := worker.start(t)
	process.step(t, "commit")
	forget()
	process.kill()
	worker.Name = "next" // the first one might have noticed, and ended
	process = worker.start(t)
	process.step(t, "commit")
	process.kill()
	first.kill()
	forget()
	f.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
	if err := f.resumeByCall(t); err != nil {
		t.Fatal(err)
	}
	f.rename(t, "orders", "before")
	f.check(t)
}

// TestJournalKnowsNoHolder has a holder whose shared snapshot is in no segment of the journal.
func TestJournalKnowsNoHolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := natsserver.New(t)
	f.URL = server.URL()
	coordinator := f.participant
	coordinator.Coordinator = true
	first := coordinator.start(t)
	worker := f.participant
	worker.Name, worker.Steps = "worker", true
	process := worker.start(t)
	process.step(t, "commit")
	first.kill()
	f.hold(t, workers.Holder{Queue: f.queue(t)})
	process.kill()
	server.Kill(t)
	server.Forget(t)
	server.Start(t)
	f.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
	if err := f.resumeByCall(t); err != nil {
		t.Fatal(err)
	}
	f.rename(t, "orders", "before")
	f.check(t)
}

// TestTwoCoordinators has two with queues of their own, which export to one place.
func TestTwoCoordinators(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	overtaken := *f
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := overtaken.queue(t)
	slow := overtaken.beginAndSee(ctx, t, q)
	if err := f.resume(t); err != nil {
		t.Fatal(err)
	}
	f.check(t)
	worker := overtaken.participant
	worker.Name, worker.Overwrite = "late", true
	worked := make(chan error, 1)
	go func() { worked <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
	if result := <-slow; result.err == nil || !strings.Contains(result.err.Error(), "taken over") {
		t.Error(result.err)
	}
	cancel()
	if err := <-worked; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	f.late = regexp.MustCompile(`-[0-9]+\.csv\.zst\.age$`) // of the worker that came late
	f.check(t)
}

// slowAtSecond is a source that cuts one table, and hangs at the next one.
type slowAtSecond struct {
	*postgres.Source
	cut     int
	reached chan struct{}
}

func (s *slowAtSecond) Parts(
	ctx context.Context, table string, sel source.Selection, size int64,
) ([]source.Part, error) {
	if s.cut++; s.cut == 2 {
		close(s.reached)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Source.Parts(ctx, table, sel, size)
}

// TestMixedIsInterrupted has a coordinator that ends when it has cut one of several tables again. Somebody holds its
// snapshot. The next coordinator goes on in it, and cuts the others.
func TestMixedIsInterrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	f.leave(t, q)
	f.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")

	f.Mixed = true
	second := *f
	reached := make(chan struct{})
	second.wrapTaken = func(db *postgres.Source) source.Source { return &slowAtSecond{Source: db, reached: reached} }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := second.begin(ctx, t, q, workers.Coordinator{})
	<-reached
	f.hold(t, workers.Holder{Queue: q})
	f.db.Exec(t, "CREATE TABLE before AS TABLE orders; INSERT INTO orders VALUES (-1, 'newer')")
	cancel()
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Error(result.err)
	}
	f.finish(t, q)
	f.rename(t, "orders", "before")
	if m := f.check(t); !m.Consistent || m.Position == "" {
		t.Errorf("consistent: %v, position %q", m.Consistent, m.Position)
	}
}
