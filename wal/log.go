package wal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"culvert/internal/disk"
)

// SyncMode says when entries are synced, and so what a crash can lose.
type SyncMode int

const (
	// Each returns from Append when the group is on the disk. A crash loses nothing that was acknowledged. Goroutines
	// that append at the same time share a sync.
	Each SyncMode = iota

	// Interval returns from Append when the system has the group, and syncs every [Options.Interval]. A kill of the
	// process loses nothing that was acknowledged, a crash of the system what came after the last sync.
	Interval

	// None returns from Append when the system has the group, and syncs when a segment is full, and in Sync and Close.
	// A kill of the process loses nothing that was acknowledged, a crash of the system what came after the last sync.
	None
)

const (
	defaultSegmentSize = 64 << 20          // as etcd and HashiCorp's raft-wal have it
	minSegmentSize     = headerSize + 4096 // a page of records
	maxSegmentSize     = 1 << 30           // a group of that size is held in memory
	defaultInterval    = time.Second
)

// Options say how a log is kept. The zero value is a good choice.
type Options struct {
	Sync     SyncMode      // when entries are synced; the zero value is Each
	Interval time.Duration // between the syncs of mode Interval; 0 means a second

	// SegmentSize is how large a file of the log may become, from 12 KiB to 1 GiB; 0 means 64 MiB. A group must fit
	// into one, with 8 KiB for the file and 32 to 55 bytes for each entry. The space is reserved when a segment is
	// begun, and for Open after a kill 8 KiB more and a sixteenth with Each, or as much again with Interval and None. A
	// log that gets few entries does well with a MiB. It may change from one opening to the next.
	SegmentSize int64

	// First is the LSN of the first entry of a log that has none, such as the one behind a snapshot. It is durable when
	// Open returns. If the log has entries, or had some from First on, Open fails with [fs.ErrExist]. 0 means 1 for a
	// new log, and no change for others.
	First LSN

	// Key of 32 random bytes, with which the entries are encrypted; nil for none. It is the same for the whole log.
	Key []byte

	// Observe is called after each write to a segment, if not nil. It must be quick and must not call the log: who
	// appends is waiting.
	Observe func(Flush)

	fs         disk.FS // for tests; nil is the one of the system
	disposable bool    // nobody opens the log after a kill
}

// Flush tells of one write to a segment, and the sync after it if there was one.
type Flush struct {
	Entries int
	Bytes   int64
	Write   time.Duration
	Sync    time.Duration // 0: not synced
	Durable LSN           // all up to here is durable
	Err     error         // the log has failed
}

// Recovery says what [Open] or [OpenReader] has found.
type Recovery struct {
	// First and Last are the LSNs of the oldest entry and the newest. Last is First-1 if there is none.
	First, Last LSN

	// Clean says that the log had been closed.
	Clean bool

	// Torn is how many bytes of unfinished groups were cut off the end.
	Torn int64

	// Unproven is how many entries at the end were found whole, with nothing to show that they had been durable; some
	// of them may never have been acknowledged. Open has synced them.
	Unproven uint64

	// Scanned is how many segments were read through. Those that are sealed are not.
	Scanned int
}

// Log is a write-ahead log that is open for appending. Its methods may be called by several goroutines at once.
type Log struct {
	dir     folder
	options Options
	id      [16]byte
	check   [8]byte
	lock    disk.Lock

	kicks    chan struct{} // wakes the flusher
	quit     chan struct{} // ends the goroutines
	ended    sync.WaitGroup
	linger   *time.Timer // kicks the flusher when entries of AppendAsync have waited long enough
	gathered gathering

	// io is held by whoever writes to files: the flusher, an appender, a truncation, Close. It is taken before mu.
	io     sync.Mutex
	file   disk.File // of the active segment
	number uint64    // of the newest segment there ever was
	size   int64     // of the active segment
	zeroed int64     // the active segment has been written up to here, perhaps with zeros
	step   int64     // by which zeroed advances
	begun  int64     // the system has been asked to write the active segment up to here

	mu                sync.Mutex
	chain             []*segment // oldest first; the active one is the last
	active            *segment   // nil if a new one is needed
	halted            bool       // appenders wait for that, and do not make it
	kept              *segment   // that is active if there is no room for another; nil without one
	dropped           []string   // names of segments that were cut off, to be removed
	end               int64      // of the records of the active segment, written or not
	filling           *batch     // takes entries
	flushing          *batch     // is being written; nil if none
	spare             *batch
	first, next       LSN
	written, durable  LSN
	batches, finished uint64 // numbers of the filling batch, and of the newest one that was flushed
	cuts              uint64 // how often the end was cut off, for readers
	progress          chan struct{}
	readers           int       // that need dir
	lookups           []*cursor // of single entries, for the next one; the one used last is the last
	failure           error
	closed            bool // it takes no more entries
	over              bool // Close is done
}

// Open opens the log in a directory for appending, and makes a new one if the directory is empty or does not exist; its
// parent must. It takes the lock, so that there is one writer at a time, and recovers what a crash has left.
//
// Errors are those of the file system, [ErrLocked], and in a [SegmentError] [ErrCorrupt], [ErrForeign], [ErrVersion]
// and [ErrKey].
func Open(dir string, options Options) (*Log, Recovery, error) {
	if err := options.complete(); err != nil {
		return nil, Recovery{}, err
	}
	dir, err := filepath.Abs(dir) // the process may go elsewhere
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("wal: %w", err)
	}
	return open(dir, options)
}

// complete puts in the defaults.
func (o *Options) complete() error {
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegmentSize
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.fs == nil {
		o.fs = disk.OS{}
	}
	if o.Sync < Each || o.Sync > None {
		return fmt.Errorf("wal: there is no mode %d", o.Sync)
	}
	if o.First > farthest {
		return fmt.Errorf("wal: First is %d, and can be %d at most", o.First, LSN(farthest))
	}
	if o.SegmentSize < minSegmentSize || o.SegmentSize > maxSegmentSize {
		return fmt.Errorf("wal: a segment cannot have %d bytes; it can have %d to %d",
			o.SegmentSize, minSegmentSize, maxSegmentSize)
	}
	o.Key = bytes.Clone(o.Key)
	return checkKey(o.Key)
}

func open(path string, options Options) (*Log, Recovery, error) {
	if err := options.fs.Mkdir(path); err != nil {
		return nil, Recovery{}, fmt.Errorf("wal: %w", err)
	}
	dir, err := openFolder(options.fs, path)
	if err != nil {
		return nil, Recovery{}, err
	}
	l, recovery, err := openIn(dir, options)
	if err != nil {
		return nil, Recovery{}, errors.Join(err, dir.Close())
	}
	return l, recovery, nil
}

// openIn opens a log in its directory, which is the caller's if there is an error.
func openIn(dir folder, options Options) (*Log, Recovery, error) {
	names, err := dir.List()
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("wal: %w", err)
	}
	if stranger := strangerAmong(names); stranger != "" {
		return nil, Recovery{}, errNoLog(dir.join(stranger))
	}
	l := &Log{
		dir: dir, options: options,
		kicks: make(chan struct{}, 1), quit: make(chan struct{}),
		filling: &batch{number: 1}, spare: &batch{}, batches: 1,
		first: 1, next: 1,
	}
	if l.lock, err = dir.Lock(lockName); err != nil {
		return nil, Recovery{}, lockError(err, dir.path)
	}
	recovery, err := l.recover()
	if err == nil && options.First > 0 {
		err = l.beginAt(options.First)
		recovery.First, recovery.Last = l.first, l.next-1
	}
	if err != nil {
		return nil, Recovery{}, errors.Join(err, l.closeFile(), l.lock.Close())
	}
	l.start()
	return l, recovery, nil
}

// lockError says why the lock of a log was not given.
func lockError(err error, dir string) error {
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%w: %s", ErrLocked, dir)
	}
	return fmt.Errorf("wal: %w", err)
}

// start begins the goroutines.
func (l *Log) start() {
	l.linger = time.AfterFunc(time.Hour, l.kick)
	l.linger.Stop()
	l.ended.Go(l.flusher)
	if l.options.Sync == Interval {
		l.ended.Go(l.syncer)
	}
}

// newID makes the ID of a new log.
func (l *Log) newID() error {
	_, _ = rand.Read(l.id[:]) // never fails
	if l.options.Key == nil {
		return nil
	}
	var err error
	l.check, err = keyCheck(l.options.Key, l.id)
	return err
}

// First is the LSN of the oldest entry. It is behind Last if there is none.
func (l *Log) First() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// Last is the LSN of the newest entry that was appended, acknowledged or not.
func (l *Log) Last() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1
}

// Durable is the LSN up to which all entries survive a crash.
func (l *Log) Durable() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

// Bytes returns the size of the log: its files, without space that is reserved for entries to come.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := int64(0)
	for _, s := range l.chain {
		size += s.length
	}
	return size
}

// Segments returns the segments of the log, oldest first.
func (l *Log) Segments() []SegmentInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view(l.next - 1)
	return v.segments()
}

// acknowledged is the LSN up to which entries may be read. mu is held.
func (l *Log) acknowledged() LSN {
	if l.options.Sync == Each {
		return l.durable
	}
	return l.written
}

// err is why the log takes no more entries. mu is held.
func (l *Log) err() error {
	switch {
	case l.failure != nil:
		return l.failure
	case l.closed:
		return ErrClosed
	}
	return nil
}

// fail makes the log fail for good. mu and io are held.
func (l *Log) fail(err error) {
	if l.failure == nil {
		l.failure = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	l.active, l.kept = nil, nil
	l.announce()
}

// Close syncs what was appended, seals the log, so that the next Open need not read it, and gives back the lock.
// Iterations of [Log.Tail] end with [ErrClosed] once they have returned all entries that are durable then. A second
// Close returns ErrClosed, too.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	l.filling.sync = true
	l.mu.Unlock()
	close(l.quit)
	l.linger.Stop()
	l.ended.Wait()

	l.io.Lock()
	defer l.io.Unlock()
	l.mu.Lock()
	_, err := l.flush()
	l.mu.Unlock()
	if err == nil {
		err = l.sealActive()
	}
	err = errors.Join(err, l.closeFile(), l.lock.Close())
	l.mu.Lock()
	l.active, l.kept, l.over = nil, nil, true
	unused := l.readers == 0
	lookups := l.dropLookups()
	l.announce()
	l.mu.Unlock()
	for _, c := range lookups {
		err = errors.Join(err, c.leave())
	}
	if unused {
		err = errors.Join(err, l.dir.Close())
	}
	return err
}

func (l *Log) closeFile() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// announce wakes those who wait for durable entries. mu is held.
func (l *Log) announce() {
	if l.progress != nil {
		close(l.progress)
		l.progress = nil
	}
}

// Sync returns when all that was appended before is durable. When the context ends, it stops waiting.
func (l *Log) Sync(ctx context.Context) error {
	l.mu.Lock()
	if err := l.err(); err != nil || l.durable == l.next-1 {
		l.mu.Unlock()
		return err
	}
	l.filling.sync = true
	_, err := l.await(ctx)
	return err
}
