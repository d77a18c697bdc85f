// Package receive writes files that arrive in blocks, so that an interrupted transfer can continue.
package receive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"culvert/fileservice"
	"culvert/internal/publish"
	"culvert/wal"
)

// A File receives a file in blocks. They can arrive in any order and from several goroutines.
//
//	Confirm      .part ──▶ bytes of an earlier process, compared with the sums in the journal
//	WriteBlock   .part ◀── bytes
//	Commit       sync of .part ──▶ journal ◀── numbers and sums of the blocks, sync
//	Finish       sum of the file, sync of .part ──▶ name ──▶ sync of the directory ──▶ journal removed
//
// The journal names only durable blocks. The first commit creates it, so files that arrive quickly have none. Files
// that are finished at the same time share their syncs.
type File struct {
	dir       *os.Root // directory of the file, so that operations need not resolve its path
	local     string   // path, for messages
	base      string   // name in dir
	names     names
	version   fileservice.Version
	Overwrite bool // set by the caller that finishes the file
	publisher *publish.Publisher
	file      publish.File
	direct    *publish.Direct // nil for a file below directSize, or if not supported
	Afresh    bool            // the remains of another version were dropped

	commits sync.Mutex // held during a commit; locked before mu
	journal *wal.Log   // nil before the first commit

	mu      sync.Mutex
	caught  *sync.Cond // signals a commit or an error
	blocks  Table
	writing int     // calls of WriteAt
	pending []int64 // blocks written, and not committed
	err     error   // the first error of a write or a sync; it is final
	started bool    // the committer runs
	done    bool    // finished, closed, or discarded
	gone    bool    // .part does not exist, or belongs to another receiver

	wake, quit chan struct{} // of the committer
	committer  sync.WaitGroup
}

// directSize is the smallest size of a file that bypasses the page cache. A smaller file may be read soon, from the
// cache.
const directSize = 64 << 20

// Open begins to receive a version of a file, or resumes from its journal, as far as Confirm finds the blocks sound.
// It fails with fs.ErrExist if the file exists and overwrite is false, and with fileservice.ErrBusy if another File
// receives it.
func Open(
	root *os.Root, publisher *publish.Publisher, local string, version fileservice.Version, overwrite bool,
) (*File, error) {
	dir, err := root.OpenRoot(filepath.Dir(local))
	if err != nil {
		return nil, err
	}
	r := &File{
		dir: dir, local: local, base: filepath.Base(local), version: version, Overwrite: overwrite,
		publisher: publisher, wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	r.caught = sync.NewCond(&r.mu)
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.closeFiles())
	}
	return r, nil
}

func (r *File) open() (err error) {
	if r.names, err = UnfinishedNames(r.base); err != nil {
		return &fs.PathError{Op: "write", Path: r.local, Err: err}
	}
	if err := errors.Join(r.checkTarget(), RemoveOrphans(r.dir, r.base, r.names)); err != nil {
		return err
	}
	file, err := publish.OpenLocked(r.dir, r.names.part)
	switch {
	case errors.Is(err, publish.ErrLocked):
		return &fs.PathError{Op: "write", Path: r.local, Err: fileservice.ErrBusy}
	case err != nil:
		return err
	}
	r.file = file
	if r.version.Size >= directSize {
		r.direct = publish.OpenDirect(r.dir, r.names.part, r.version.Size, file)
	}
	return r.resume()
}

// resume notes the blocks in the journal, or starts afresh.
func (r *File) resume() error {
	found, err := r.openJournal()
	if err != nil || found && r.journal != nil {
		return err
	}
	r.blocks = Table{}
	if found {
		if err := removeJournal(r.dir, r.names); err != nil {
			return err
		}
	}
	return r.file.Truncate(0)
}

// Committed returns the durable blocks, in order. They need not be sent again.
func (r *File) Committed() []fileservice.BlockRange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.ranges(blockCommitted)
}

// WriteBlock writes a block that the caller has compared with its sum. A block can be written again.
func (r *File) WriteBlock(block int64, data []byte, sum fileservice.Sum) error {
	if fresh, err := r.claim(block, sum); err != nil || !fresh {
		return err
	}
	err := r.writeAt(data, block*fileservice.BlockSize)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writing--; r.done {
		r.caught.Broadcast()
	}
	if err != nil {
		return r.fail(err)
	}
	if r.blocks.get(block).state == blockClaimed {
		r.wrote(block, sum)
	}
	return r.awaitCommit()
}

// wrote records a block that was written. mu is held.
func (r *File) wrote(block int64, sum fileservice.Sum) {
	r.blocks.set(block, blockEntry{blockWritten, sum})
	r.pending = append(r.pending, block)
}

// awaitCommit has blocks committed now and then, and waits while there are too many that are not. mu is held.
func (r *File) awaitCommit() error {
	if !r.started && fileservice.Blocks(r.version.Size) > 1 && !r.done {
		r.started = true
		r.committer.Go(r.commitNowAndThen)
	}
	if len(r.pending)*fileservice.BlockSize >= commitBytes {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	for r.blocks.count(blockWritten)*fileservice.BlockSize >= maxUncommitted && r.err == nil && !r.done {
		r.caught.Wait()
	}
	return r.err
}

// writeAt writes to the file and starts the write to disk, so that a later sync is short.
func (r *File) writeAt(data []byte, offset int64) error {
	if done, err := r.direct.Write(data, offset); done || err != nil {
		return err
	}
	_, err := r.file.WriteAt(data, offset)
	if err == nil && r.version.Size > fileservice.BlockSize {
		err = r.file.Writeback(offset, int64(len(data)))
	}
	return err
}

// claim records the sum of a block before it is written. A second, different sum is an error, so that the journal
// stays true.
func (r *File) claim(block int64, sum fileservice.Sum) (fresh bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch entry := r.blocks.get(block); {
	case r.err != nil:
		return false, r.err
	case r.done:
		return false, &fs.PathError{Op: "write", Path: r.local, Err: fs.ErrClosed}
	case block < 0 || block >= fileservice.Blocks(r.version.Size):
		return false, &fs.PathError{Op: "write", Path: r.local, Err: fs.ErrInvalid}
	case entry.isHere() && entry.sum != sum:
		err := fmt.Errorf("%w: block %d was sent with two sums", fileservice.ErrIntegrity, block)
		return false, &fs.PathError{Op: "write", Path: r.local, Err: err}
	case !entry.isHere():
		r.blocks.set(block, blockEntry{blockClaimed, sum})
		r.writing++
		return true, nil
	case entry.state == blockClaimed:
		r.writing++ // the other write may fail
		return true, nil
	}
	return false, nil
}

// fail records the first error and returns it. mu is held.
func (r *File) fail(err error) error {
	if r.err == nil {
		r.err = err
		r.caught.Broadcast()
	}
	return r.err
}

// Sum returns the sum of the file, computed from the sums of its blocks.
func (r *File) Sum() fileservice.Sum {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.Sum()
}

// ReadAt reads blocks that were written.
func (r *File) ReadAt(p []byte, offset int64) (int, error) { return r.file.ReadAt(p, offset) }

// Failed reports whether a write or a sync has failed, so that the File can only be closed.
func (r *File) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// missing returns the number of blocks not written.
func (r *File) missing() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fileservice.Blocks(r.version.Size) - r.blocks.count(blockWritten) - r.blocks.count(blockCommitted)
}

// stop ends the committer and refuses further writes.
func (r *File) stop() error {
	r.mu.Lock()
	if r.done {
		r.mu.Unlock()
		return &fs.PathError{Op: "write", Path: r.local, Err: fs.ErrClosed}
	}
	r.done = true
	r.caught.Broadcast()
	for r.writing > 0 {
		r.caught.Wait()
	}
	r.mu.Unlock()
	close(r.quit)
	r.committer.Wait()
	return nil
}

// Close keeps an unfinished file for a later File to resume, unless another transfer has completed this version.
func (r *File) Close() error {
	_ = r.stop() // it may be stopped already
	if !r.gone && r.isThere() {
		return r.Discard()
	}
	var err error
	if !r.gone && r.err == nil && fileservice.Blocks(r.version.Size) > 1 {
		err = r.Commit()
	}
	r.commits.Lock()
	defer r.commits.Unlock()
	if r.journal == nil && !r.gone {
		err = errors.Join(err, r.drop()) // nothing was committed
	}
	return errors.Join(err, r.closeFiles())
}

// Discard is like Close, but removes an unfinished file.
func (r *File) Discard() error {
	_ = r.stop() // it may be stopped already
	r.commits.Lock()
	defer r.commits.Unlock()
	return errors.Join(r.drop(), r.closeFiles())
}

// drop removes .part and the journal. commits is held, and no write is under way.
func (r *File) drop() error {
	var err error
	if !r.gone {
		err = r.dir.Remove(r.names.part)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the directory may be removed, too
	}
	r.gone, r.pending = true, nil
	return errors.Join(err, r.dropJournal())
}

func (r *File) closeFiles() error {
	var err error
	if r.journal != nil {
		err = r.journal.Close()
		r.journal = nil
	}
	if r.file != nil {
		err = errors.Join(err, r.direct.Close(), r.file.Close())
		r.direct, r.file = nil, nil
	}
	return errors.Join(err, r.dir.Close())
}
