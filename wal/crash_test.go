package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"culvert/internal/disk"
	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// TestCrash has a log crash again and again, also during recovery, on a disk that loses everything it may lose. To run
// one seed: CULVERT_WAL_SEED=N go test -run TestCrash.
func TestCrash(t *testing.T) {
	if seed := os.Getenv("CULVERT_WAL_SEED"); seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newSimulation(n).run(); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := 1500
	if testkit.Soak() {
		want = 20_000
	}
	want = testkit.Fewer(want) // a log has little that runs at the same time as the one who appends
	crashes := 0
	for seed := uint64(1); crashes < want; seed++ {
		n, err := newSimulation(seed).run()
		if err != nil {
			t.Fatalf("CULVERT_WAL_SEED=%d: %v", seed, err)
		}
		crashes += n
	}
	t.Log(crashes, "crashes")
}

// simulation is the life of one log.
type simulation struct {
	random  *rand.Rand
	faults  *rand.Rand // of the disk, with its lock held
	disk    *crashfs.Disk
	session *crashfs.Session
	model   *crashfs.Model
	options Options
	view    func(disk.FS) disk.FS // what the log sees of the disk; nil for all
	faulty  bool                  // operations fail now and then, and end the program
	narrow  bool                  // there is little space
	crashed bool                  // since the log was last seen
	full    bool                  // nothing more has found room
	closed  bool                  // it was closed
	sealed  bool                  // when it was closed, and nothing else has happened since
	watcher watcher
	crashes int
}

const simulatedDir = "/data/log"

func newSimulation(seed uint64) *simulation {
	s := &simulation{
		random: rand.New(rand.NewPCG(seed, 1)), faults: rand.New(rand.NewPCG(seed, 2)),
		disk: crashfs.New("/data"), model: crashfs.NewModel(),
	}
	s.options.SegmentSize = minSegmentSize + int64(s.random.IntN(5))*8192
	if s.random.IntN(4) == 0 {
		s.options.Sync = None
	}
	if s.random.IntN(4) == 0 {
		s.options.Key = bytes.Repeat([]byte{7}, keySize)
	}
	if s.random.IntN(2) == 0 {
		s.disk.Block = 4096
	}
	s.faulty = s.random.IntN(4) == 0
	if s.narrow = s.random.IntN(4) == 0; s.narrow {
		s.disk.Space = 2*s.options.SegmentSize + int64(s.random.IntN(8*8192))
	}
	return s
}

// run runs the log through crashes and kills.
func (s *simulation) run() (crashes int, err error) {
	for life := range 25 {
		left := 1 + s.random.IntN(80)
		if s.random.IntN(3) == 0 {
			left = 1 + s.random.IntN(12) // during the recovery
		}
		how := crashfs.Stop + crashfs.Fault(s.random.IntN(2))
		s.disk.Hook = func(o crashfs.Operation) crashfs.Fault {
			if o.Changes() {
				left--
			}
			switch {
			case left == 0:
				return how
			case left > 0 && s.faulty:
				return s.fault(o)
			}
			return crashfs.None
		}
		err := s.live()
		if !s.isEnd(err) {
			return s.crashes, fmt.Errorf("life %d: %w", life, err)
		}
		if err != nil && !errors.Is(err, crashfs.ErrStopped) {
			s.watcher = watcher{} // what was not durable may be lost
		}
		if s.full {
			s.disk.Space += s.options.SegmentSize // somebody has made room
		}
		s.disk.Hook = nil
		if s.random.IntN(4) == 0 {
			s.disk.Kill()
			continue
		}
		s.watcher = watcher{}
		s.disk.Crash(s.random.IntN)
		s.crashed = true
		s.crashes++
	}
	return s.crashes, nil
}

// fault makes one in 40 operations fail, except those on the parent of the log: Open cannot know that an earlier sync
// of its names has failed, after which another one does nothing.
func (s *simulation) fault(o crashfs.Operation) crashfs.Fault {
	if !o.Changes() || filepath.Dir(o.Name) == "/" || s.faults.IntN(40) > 0 {
		return crashfs.None
	}
	fault := crashfs.IO + crashfs.Fault(s.faults.IntN(3))
	if fault == crashfs.Short && o.Kind != crashfs.Write {
		return crashfs.NoSpace
	}
	return fault
}

// isEnd reports whether a program may end with an error.
func (s *simulation) isEnd(err error) bool {
	return err == nil || errors.Is(err, crashfs.ErrStopped) || s.full || s.faulty && isFault(err) == nil
}

// path is where the log is.
func (s *simulation) path() string {
	if s.session == nil {
		return simulatedDir
	}
	path, err := simulatedPath(s.session)
	if err != nil {
		return simulatedDir // the program has ended
	}
	return path
}

// live opens the log, checks its entries, and works until the program ends.
func (s *simulation) live() error {
	s.session = s.disk.Boot()
	s.options.fs = s.session
	if s.view != nil {
		s.options.fs = s.view(s.options.fs)
	}
	if s.random.IntN(4) == 0 {
		if err := s.peek(); err != nil {
			return fmt.Errorf("reading beside: %w", err)
		}
	}
	s.options.First = 0
	if s.model.Settled() && s.model.Last() < s.model.First() && s.random.IntN(4) == 0 {
		first := s.model.First() + s.random.IntN(5)
		s.model.Begin(first)
		s.options.First = LSN(first)
	}
	sealed := s.sealed
	s.sealed = false // Open may begin a segment
	l, recovery, err := Open(s.path(), s.options)
	if err != nil {
		return s.seeFull(err)
	}
	defer func() { _ = l.Close() }() // for its goroutines
	entries, err := contents(l.Records(context.Background(), 0))
	if err != nil {
		return err
	}
	if err := s.model.Settle(int(l.First()), entries, s.crashed); err != nil {
		return err
	}
	if sealed && !recovery.Clean {
		return errors.New("it was closed, and is not clean")
	}
	if recovery.First != l.First() || recovery.Last != l.Last() {
		return fmt.Errorf("recovery %+v of a log from %d to %d", recovery, l.First(), l.Last())
	}
	s.crashed, s.closed, s.full = false, false, false
	for {
		if err := s.act(l); err != nil || s.closed {
			return err
		}
	}
}

// peek reads the log without opening it.
func (s *simulation) peek() error {
	path := s.path()
	if s.options.fs.Mkdir(path) != nil {
		return crashfs.ErrStopped
	}
	r, _, err := openReader(s.options.fs, path, s.options.Key)
	if err != nil {
		return err
	}
	entries, err := contents(r.Records(context.Background(), 0))
	if err != nil {
		return err
	}
	return s.model.Match(int(r.view.first), entries, s.crashed)
}

// act does one thing to the log.
func (s *simulation) act(l *Log) error {
	ctx := context.Background()
	if s.random.IntN(10) == 0 {
		if err := s.watch(); err != nil {
			return fmt.Errorf("a reader: %w", err)
		}
	}
	switch n := s.random.IntN(100); {
	case n < 75:
		group := s.group()
		s.model.Append(group...)
		payloads := make([][]byte, len(group))
		for i, p := range group {
			payloads[i] = []byte(p)
		}
		if s.options.Sync == None && s.random.IntN(4) == 0 {
			_, err := l.AppendAsync(ctx, payloads...)
			if s.narrow && isFull(err) {
				s.model.Withdraw()
				return s.makeRoom(l)
			}
			return err
		}
		_, err := l.Append(ctx, payloads...)
		if s.narrow && isFull(err) {
			s.model.Withdraw()
			return s.makeRoom(l)
		}
		if err != nil {
			return err
		}
		s.model.Told(s.options.Sync == Each)
	case n < 83:
		if err := l.Sync(ctx); err != nil {
			return err
		}
		s.model.Told(true)
	case n < 89:
		lsn := s.model.First() + s.random.IntN(s.model.Last()-s.model.First()+2)
		return s.cutFront(l, lsn)
	case n < 93:
		lsn := s.model.First() - 1 + s.random.IntN(s.model.Last()-s.model.First()+2)
		s.model.TruncateBack(lsn)
		cut := s.watcher.cutBegins(l, LSN(lsn))
		err := l.TruncateBack(LSN(lsn))
		if s.narrow && isFull(err) {
			s.model.Undone()
			return nil
		}
		if err != nil {
			return err
		}
		s.model.Done()
		s.watcher.sure.add(cut)
	case n < 95:
		to := simulatedDir
		if s.path() == simulatedDir {
			to = movedDir
		}
		return s.session.Rename(s.path(), to)
	case n < 97:
		written := l.file != nil
		if err := l.Close(); err != nil {
			return err
		}
		s.model.Told(true)
		s.closed, s.sealed = true, written
	default:
		entries, err := contents(l.Records(ctx, 0))
		if err != nil {
			return err
		}
		if err := s.readSingly(l, entries); err != nil {
			return err
		}
		return s.model.Match(int(l.First()), entries, s.options.Sync == Each)
	}
	return nil
}

// readSingly reads some entries of a log, each on its own.
func (s *simulation) readSingly(l *Log, entries []string) error {
	for range min(len(entries), 5) {
		i := s.random.IntN(len(entries))
		lsn := l.First() + LSN(i)
		got, err := l.Read(lsn, nil)
		if err != nil {
			return fmt.Errorf("reading LSN %d alone: %w", lsn, err)
		}
		if string(got) != entries[i] {
			return fmt.Errorf("LSN %d read alone is %.40q, want %.40q", lsn, got, entries[i])
		}
	}
	return nil
}

func (s *simulation) cutFront(l *Log, lsn int) error {
	s.model.TruncateFront(lsn)
	err := l.TruncateFront(LSN(lsn))
	if s.narrow && isFull(err) {
		s.model.Undone()
		s.full = true
		return err
	}
	if err != nil {
		return err
	}
	s.model.Done()
	return nil
}

// makeRoom cuts off all entries.
func (s *simulation) makeRoom(l *Log) error { return s.cutFront(l, int(l.Last())+1) }

// isFull reports whether there was no room and the log continues.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) && !errors.Is(err, ErrFailed) }

// seeFull notes that the disk had no room to open a log, which is no fault.
func (s *simulation) seeFull(err error) error {
	if s.narrow && errors.Is(err, syscall.ENOSPC) {
		s.full = true
	}
	return err
}

// group returns random payloads. Some are empty, full of zeros, or larger than a block.
func (s *simulation) group() []string {
	group := make([]string, 1+s.random.IntN(3)*s.random.IntN(3))
	for i := range group {
		size := s.random.IntN(60)
		if s.random.IntN(4) == 0 {
			size = s.random.IntN(int(s.options.SegmentSize-headerSize)/len(group) - 64)
		}
		p := make([]byte, size)
		if s.random.IntN(8) > 0 {
			for j := range p {
				p[j] = byte(s.random.Uint32())
			}
		}
		group[i] = string(p)
	}
	return group
}

// contents reads all entries and checks that their LSNs have no gaps.
func contents(records func(func(Record, error) bool)) ([]string, error) {
	entries := []string{}
	previous := LSN(0)
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if previous > 0 && r.LSN != previous+1 {
			return nil, fmt.Errorf("LSN %d after %d", r.LSN, previous)
		}
		previous = r.LSN
		entries = append(entries, string(r.Data))
	}
	return slices.Clip(entries), nil
}
