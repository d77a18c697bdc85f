package workers_test

import (
	"errors"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
	"culvert/workers"
)

// standby is a hot standby, and the same database there and on its primary.
type standby struct {
	t       *testing.T
	primary *testkit.PostgresDatabase
	here    *testkit.PostgresDatabase
}

// newStandby has a fixture whose participants read a standby, while the test changes and compares the primary.
func newStandby(t *testing.T) (*fixture, *standby) {
	t.Helper()
	settings := []string{"wal_level = replica", "max_wal_senders = 4"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	f := newFixtureOf(t, primary)
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	s := &standby{t, f.db, &testkit.PostgresDatabase{Server: server, Name: f.db.Name}}
	f.Database = s.here.ConnString()
	return f, s
}

// pause stops replay.
func (s *standby) pause() {
	s.here.Query(s.t, "SELECT pg_wal_replay_pause()")
	testkit.WaitFor(s.t, "replay to pause", func() bool {
		return s.here.Query(s.t, "SELECT pg_get_wal_replay_pause_state()")[0][0] == "paused"
	})
}

// replay replays all that the primary has written, and pauses again.
func (s *standby) replay() {
	at := s.primary.Query(s.t, "SELECT pg_current_wal_insert_lsn()")[0][0]
	s.here.Query(s.t, "SELECT pg_wal_replay_resume()")
	testkit.WaitFor(s.t, "the standby to replay", func() bool {
		return s.here.Query(s.t, "SELECT pg_last_wal_replay_lsn() >= '"+at+"'")[0][0] == "t"
	})
	s.pause()
}

// end ends the sessions of processes that were killed, which the server would notice later.
func (s *standby) end() {
	s.here.EndSessions(s.t, "true")
}

// TestStandby kills exports from a standby: one that has paused, and one whose snapshot is held.
func TestStandby(t *testing.T) {
	t.Parallel()
	f, s := newStandby(t)
	t.Run("Paused", func(t *testing.T) {
		one := *f
		s.pause()
		parts := one.breakOff(t)
		s.end()
		one.db.Exec(t, "CREATE TABLE before AS TABLE orders; DELETE FROM orders WHERE id % 2 = 0")
		var events recorder
		one.told = events.record
		one.goesOn(t, parts)
		if !events.has("resumed unchanged") {
			t.Errorf("the events are %q", events.all)
		}
	})
	t.Run("Replayed", func(t *testing.T) {
		one := *f
		one.Directory = t.TempDir()
		s.replay()
		one.breakOff(t)
		s.end()
		one.db.Exec(t, "INSERT INTO orders VALUES (0, 'new')")
		s.replay()
		if err := one.resume(t); !errors.As(err, new(*workers.LostError)) {
			t.Error(err)
		}
	})
	t.Run("Held", func(t *testing.T) {
		one := *f
		one.Directory = t.TempDir()
		one.Held = source.Snapshot{Token: one.hold(t, workers.Holder{}).Token}
		one.db.Exec(t, "CREATE TABLE before AS TABLE orders; INSERT INTO orders VALUES (0, 'newer')")
		s.replay()
		one.goesOn(t, one.breakOff(t))
	})
}

// goesOn resumes an export whose table orders is called before now.
func (f *fixture) goesOn(t *testing.T, parts []string) {
	t.Helper()
	if err := f.resume(t); err != nil {
		t.Fatal(err)
	}
	f.keeps(t, parts)
	f.rename(t, "orders", "before")
	if m := f.check(t); !m.Consistent {
		t.Error("it is not consistent")
	}
}
