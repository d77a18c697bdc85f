package wal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"culvert/internal/disk"
)

// SyncMode says when Append returns and when entries are synced, and so which entries a crash can lose: see the table
// of the package.
type SyncMode int

// Sync modes.
const (
	Each     SyncMode = iota // Append returns when the group is on the disk
	Interval                 // Append returns when the system has the group; a sync every [Options.Interval]
	None                     // Append returns when the system has the group; a sync of full segments, in Sync and Close
)

const (
	defaultSegmentSize = 64 << 20          // as in etcd and HashiCorp's raft-wal
	minSegmentSize     = headerSize + 4096 // a page of records
	maxSegmentSize     = 1 << 30           // a group of this size is in memory
	defaultInterval    = time.Second
)

// Options configure a log. The zero value is ready to use.
type Options struct {
	Sync     SyncMode      // when entries are synced; the zero value is Each
	Interval time.Duration // between syncs in mode Interval; 0 means a second

	// SegmentSize is the maximum size of a file of the log, from 12 KiB to 1 GiB; 0 means 64 MiB. A group must fit into
	// a segment, with 8 KiB for headers and 32 to 55 bytes per entry. The space is reserved when a segment is created.
	// So is space for Open after a kill: 8 KiB and a sixteenth of a segment with Each, or 8 KiB and a whole one with
	// other modes. 1 MiB suits a log with few entries. The size may change whenever the log is opened.
	SegmentSize int64

	// First is the LSN of the next entry of a log without entries, for example the one after a snapshot. It is durable
	// when Open returns. If the log has entries, or has had entries with that LSN or a higher one, Open fails with
	// [fs.ErrExist]. 0 means 1 for a new log and does not change other logs.
	First LSN

	// Key encrypts the entries. It has 32 random bytes and never changes for a log; nil means no encryption.
	Key []byte

	// Observe, if not nil, is called after each write to a segment. It must be quick and must not call the log:
	// appenders are waiting.
	Observe func(Flush)

	fs   disk.FS // for tests; nil means the file system of the system
	copy bool    // of another log: the directory must be empty, and nobody opens the log after a kill
}

// Flush describes one write to a segment, and the sync after it if there was one.
type Flush struct {
	Entries int
	Bytes   int64
	Write   time.Duration
	Sync    time.Duration // 0 if there was none
	Durable LSN           // of the last durable entry
	Err     error         // if the log has failed
}

// Recovery describes the log that [Open] or [OpenReader] has found.
type Recovery struct {
	First, Last LSN   // of the entries; Last is First-1 if there are none
	Clean       bool  // the log had been closed
	Torn        int64 // bytes of unfinished groups that were cut off the end

	// Unproven is the number of complete entries at the end that may not have been durable. Some of them may never have
	// been acknowledged. Open has synced them.
	Unproven uint64

	Scanned int // segments that were read; sealed segments are not
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

	// io is held by writers to files: the flusher, an appender, a truncation, Close. It is locked before mu.
	io     sync.Mutex
	file   disk.File // of the active segment
	number uint64    // of the newest segment ever
	size   int64     // of the active segment
	zeroed int64     // the active segment is written up to here, possibly with zeros
	step   int64     // by which zeroed advances
	begun  int64     // the system was asked to write the active segment up to here

	mu                sync.Mutex
	chain             []*segment // oldest first; the active one is the last
	active            *segment   // nil if a new one is needed
	halted            bool       // appenders wait for a new segment, and do not make it
	kept              *segment   // becomes active again if there is no room for another; may be nil
	dropped           []string   // names of segments that were cut off, to be removed
	end               int64      // of the records of the active segment, written or not
	filling           *batch     // takes entries
	flushing          *batch     // is being written; nil if none
	spare             *batch
	first, next       LSN
	written, durable  LSN
	batches, finished uint64 // numbers of the filling batch and of the newest flushed one
	cuts              uint64 // as in the header of the newest segment
	progress          chan struct{}
	readers           int       // that need dir
	incomplete        bool      // a copy without all entries, which is not to be kept
	lookups           []*cursor // of Read, least recently used first
	failure           error
	closed            bool // no more entries are taken
	over              bool // Close is done
}

// Open opens the log in a directory for appending. If the directory is empty or does not exist, Open makes a new log;
// the parent directory must exist. Open locks the log against other writers and recovers it after a crash.
//
// It returns [ErrLocked], errors of the file system, and [ErrCorrupt], [ErrForeign], [ErrVersion] and [ErrKey] in a
// [SegmentError].
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

// complete fills in the defaults.
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
		return fmt.Errorf("wal: no sync mode %d", o.Sync)
	}
	if o.First > farthest {
		return fmt.Errorf("wal: First is %d, and the maximum is %d", o.First, LSN(farthest))
	}
	if o.SegmentSize < minSegmentSize || o.SegmentSize > maxSegmentSize {
		return fmt.Errorf("wal: SegmentSize is %d, and must be %d to %d", o.SegmentSize, minSegmentSize, maxSegmentSize)
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

// openIn opens a log in its directory, which the caller closes if there is an error.
func openIn(dir folder, options Options) (*Log, Recovery, error) {
	names, err := dir.List()
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("wal: %w", err)
	}
	if options.copy && len(names) > 0 {
		return nil, Recovery{}, fmt.Errorf("wal: %s is not empty: %w", dir.path, fs.ErrExist)
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
		err = errors.Join(err, l.closeFile())
		if options.copy {
			err = errors.Join(err, l.removeCopy())
		}
		return nil, Recovery{}, errors.Join(err, l.lock.Close())
	}
	l.start()
	return l, recovery, nil
}

// lockError describes the error of locking a log.
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

// First returns the LSN of the oldest entry, or Last+1 if there are no entries.
func (l *Log) First() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// Last returns the LSN of the newest entry, acknowledged or not.
func (l *Log) Last() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1
}

// Durable returns the LSN up to which all entries survive a crash.
func (l *Log) Durable() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

// Bytes returns the size of the log on the disk, without space that is reserved for later entries.
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
	return l.view(l.next - 1).segments()
}

// acknowledged returns the LSN up to which entries may be read. mu is held.
func (l *Log) acknowledged() LSN {
	if l.options.Sync == Each {
		return l.durable
	}
	return l.written
}

// err returns why the log takes no more entries. mu is held.
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

// Close syncs the log, seals it, so that the next Open need not read it, and releases the lock. Iterations of
// [Log.Tail] return the remaining entries and end with [ErrClosed]. A second Close returns ErrClosed, too.
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
	err := l.complete()
	err = errors.Join(err, l.closeFile())
	if l.options.copy && (l.incomplete || err != nil) {
		err = errors.Join(err, l.removeCopy())
	}
	err = errors.Join(err, l.lock.Close())
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

// complete writes what is left, and the end of the log. io is held.
func (l *Log) complete() error {
	if l.incomplete {
		return nil
	}
	l.mu.Lock()
	_, err := l.flush()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.sealActive()
}

func (l *Log) closeFile() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// announce wakes goroutines that wait for durable entries. mu is held.
func (l *Log) announce() {
	if l.progress != nil {
		close(l.progress)
		l.progress = nil
	}
}

// Sync returns when all entries that were appended before are durable, or when the context ends.
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
