package wal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// odometer enumerates the outcomes of a crash. The place at which a block is torn and the garbled bytes are always the
// same.
type odometer struct {
	digits, sizes []int
	position      int
}

func (o *odometer) choose(n int) int {
	if n != 2 && n != 5 {
		return n / 2
	}
	if o.position == len(o.digits) {
		o.digits, o.sizes = append(o.digits, 0), append(o.sizes, n)
	}
	o.position++
	return o.digits[o.position-1]
}

// next advances to the next outcome, and reports whether there is one.
func (o *odometer) next() bool {
	o.position = 0
	for i := len(o.digits) - 1; i >= 0; i-- {
		if o.digits[i]++; o.digits[i] < o.sizes[i] {
			o.digits, o.sizes = o.digits[:i+1], o.sizes[:i+1]
			return true
		}
	}
	return false
}

// scope is a short life of a log.
type scope struct {
	name  string
	sync  SyncMode
	steps []func(*life) error
	first LSN // of the log; 0 for none
}

// life is a log and a model of its entries.
type life struct {
	log    *Log
	disk   *crashfs.Session
	model  *crashfs.Model
	failed bool // before; nothing may happen anymore
}

func add(sizes ...int) func(*life) error {
	return func(l *life) error {
		var group []string
		var payloads [][]byte
		for i, size := range sizes {
			p := strings.Repeat(string(rune('a'+(l.model.Last()+i)%26)), size)
			group, payloads = append(group, p), append(payloads, []byte(p))
		}
		l.model.Append(group...)
		_, err := l.log.Append(context.Background(), payloads...)
		switch {
		case err == nil:
			l.model.Told(l.log.options.Sync == Each)
		case l.failed, !errors.Is(err, ErrFailed):
			l.model.Withdraw() // there was no room, or no log
		}
		return err
	}
}

func syncs(l *life) error {
	err := l.log.Sync(context.Background())
	if err == nil {
		l.model.Told(true)
	}
	return err
}

func closes(l *life) error {
	err := l.log.Close()
	if err == nil {
		l.model.Told(true)
	}
	return err
}

func cutFront(lsn int) func(*life) error {
	return func(l *life) error {
		if !l.failed {
			l.model.TruncateFront(lsn)
		}
		err := l.log.TruncateFront(LSN(lsn))
		if err == nil {
			l.model.Done()
		}
		return err
	}
}

func cutBack(lsn int) func(*life) error {
	return func(l *life) error {
		if !l.failed {
			l.model.TruncateBack(lsn)
		}
		err := l.log.TruncateBack(LSN(lsn))
		if err == nil {
			l.model.Done()
		}
		return err
	}
}

// opens opens a log that was closed.
func opens(l *life) error {
	log, _, err := Open(simulatedDir, l.log.options)
	if err == nil {
		l.log = log
	}
	return err
}

const movedDir = "/data/moved"

// moves renames the directory of the log.
func moves(l *life) error { return l.disk.Rename(simulatedDir, movedDir) }

// simulatedPath returns the path of the directory of the log.
func simulatedPath(session *crashfs.Session) (string, error) {
	names, err := session.List("/data")
	if err != nil {
		return "", err
	}
	if slices.Contains(names, "moved") {
		return movedDir, nil
	}
	return simulatedDir, nil
}

var scopes = []scope{
	{"append", Each, []func(*life) error{add(10), add(20, 30), add(5), closes}, 0},
	{"unsynced", None, []func(*life) error{add(10), add(20, 30), add(3500), syncs, add(7)}, 0},
	{"rotate", Each, []func(*life) error{add(3000), add(10, 3000), add(12), closes}, 0},
	{"unsynced rotate", None, []func(*life) error{add(3000), add(1000, 2000), add(12)}, 0},
	{"front", Each, []func(*life) error{add(3000), add(3000), cutFront(2), add(1), cutFront(4), add(2)}, 0},
	{"headers", Each, []func(*life) error{add(1, 2, 3, 4), cutFront(2), cutFront(3), cutFront(4), closes}, 0},
	{"moved", Each, []func(*life) error{add(10), moves, add(3000), add(3000), cutFront(3), closes}, 0},
	{"back", Each, []func(*life) error{add(3000), add(3000), add(10), cutBack(1), add(1), cutBack(0), add(2)}, 0},
	{"short", Each, []func(*life) error{add(10), closes, opens, add(20, 30), closes, opens, add(5), closes}, 0},
	{"first", Each, []func(*life) error{add(10), add(3000), add(3000), closes}, 7},
}

// run lives until a step fails.
func (s scope) run(disk *crashfs.Disk, model *crashfs.Model) error {
	session := disk.Boot()
	options := Options{Sync: s.sync, SegmentSize: minSegmentSize, First: s.first, fs: session}
	if s.first > 0 {
		model.Begin(int(s.first))
	}
	log, _, err := Open(simulatedDir, options)
	if err != nil {
		return err
	}
	if s.first > 0 {
		model.Done()
	}
	l := &life{log: log, disk: session, model: model}
	defer func() { _ = l.log.Close() }() // for its goroutines
	for _, step := range s.steps {
		if err := step(l); err != nil {
			return err
		}
	}
	return nil
}

// TestExhaustive ends short lives before every operation, and checks every state that a crash can leave: each name and
// size changed or not, and each block of 4 KiB old, written, torn, zeroed or garbled.
func TestExhaustive(t *testing.T) {
	if testkit.RaceDetector() {
		t.Skip("nothing runs at the same time here")
	}
	for _, s := range scopes {
		t.Run(s.name, func(t *testing.T) {
			states := 0
			for last, ended := 1, false; !ended; last++ {
				disk, model := crashfs.New("/data"), crashfs.NewModel()
				disk.Block = 4096
				left := last
				disk.Hook = func(o crashfs.Operation) crashfs.Fault {
					if o.Changes() {
						left--
					}
					if left == 0 {
						return crashfs.Stop
					}
					return crashfs.None
				}
				err := s.run(disk, model)
				if ended = err == nil; err != nil && !errors.Is(err, crashfs.ErrStopped) {
					t.Fatal(err)
				}
				disk.Kill()
				states += allCrashes(t, disk, model, last)
			}
			t.Log(states, "states")
		})
	}
}

// allCrashes opens the log after every possible crash.
func allCrashes(t *testing.T, disk *crashfs.Disk, model *crashfs.Model, last int) (states int) {
	ways := &odometer{}
	for more := true; more; more = ways.next() {
		states++
		crashed := disk.Clone()
		crashed.Crash(ways.choose)
		if err := reopen(crashed, model, true); err != nil {
			t.Fatalf("operation %d, way %v: %v", last, ways.digits, err)
		}
	}
	return states
}

// reopen opens a log after its end and compares it with the model, without settling the model.
func reopen(disk *crashfs.Disk, model *crashfs.Model, crash bool) error {
	session := disk.Boot()
	path, err := simulatedPath(session)
	if err != nil {
		return err
	}
	log, _, err := Open(path, Options{SegmentSize: minSegmentSize, fs: session})
	if err != nil {
		return err
	}
	entries, err := contents(log.Records(context.Background(), 0))
	if err == nil {
		err = model.Match(int(log.First()), entries, crash)
	}
	return errors.Join(err, log.Close())
}
