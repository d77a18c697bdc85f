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
)

// receiver writes a file that comes in blocks, in any order, and by several goroutines.
//
//	writeBlock   .part ◀── bytes
//	commit       sync of .part ──▶ journal ◀── numbers and hashes of the blocks, sync
//	finish       hash of the file, sync of .part ──▶ name ──▶ sync of the directory ──▶ journal removed
//
// The journal speaks only of what is on the disk. It is begun with the first commit, so that files which arrive
// quickly have none. Many files that are finished at once share their syncs.
type File struct {
	dir       *os.Root // that the file is in, so that no operation has to walk there
	local     string   // path, for people
	base      string   // name in dir
	names     names
	version   fileservice.Version
	Overwrite bool // of who finishes it
	publisher *publish.Publisher
	file      publish.File
	direct    *publish.Direct // nil for a file of less than directSize, and where the system has no such thing
	Afresh    bool            // what an earlier transfer of another version had left was dropped

	commits sync.Mutex // held while one commits; before mu
	journal *journal   // nil before the first commit

	mu      sync.Mutex
	caught  *sync.Cond // something was committed, or there is an error
	blocks  Table
	writing int     // calls of WriteAt
	pending []int64 // blocks that are written, and not committed
	err     error   // the first of a write or a sync; there is no way on from it
	started bool    // the committer
	done    bool    // finished, closed, or discarded
	gone    bool    // .part is not there any more, or is that of another receiver

	wake, quit chan struct{} // of the committer
	committer  sync.WaitGroup
}

// directSize is the least size of a file that is written past the page cache: less is perhaps read next, and comes out
// of it then.
const directSize = 64 << 20

// Open begins to receive a version of a file, or goes on where the journal says. It fails with fs.ErrExist if
// there is such a file and it may not be overwritten, and with ErrBusy if it is received already.
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

// resume takes over what the journal proves, or begins afresh.
func (r *File) resume() error {
	found, err := r.openJournal()
	if err != nil || found && r.journal != nil {
		return err
	}
	r.blocks = Table{}
	if found {
		// Were the journal there again after a crash, it would speak of what is no longer in the file.
		if err := removeJournal(r.dir, r.names); err != nil {
			return err
		}
	}
	return r.file.Truncate(0)
}

// Committed gives the blocks that need not be sent again, because they are durable. They are in order.
func (r *File) Committed() []fileservice.BlockRange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.ranges(blockCommitted)
}

// WriteBlock takes a block that has been compared with its hash. A block may come again.
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
		r.blocks.set(block, blockEntry{blockWritten, sum})
		r.pending = append(r.pending, block)
	}
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

// writeAt writes to the file, in such a way that a sync has little to wait for.
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

// claim says which hash a block will have, before it is written: two that differ cannot both be right, and what is in
// the journal must stay true.
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
	case entry.state != blockMissing && entry.sum != sum:
		err := fmt.Errorf("%w: block %d has come with two hashes", fileservice.ErrIntegrity, block)
		return false, &fs.PathError{Op: "write", Path: r.local, Err: err}
	case entry.state == blockMissing:
		r.blocks.set(block, blockEntry{blockClaimed, sum})
		r.writing++
		return true, nil
	case entry.state == blockClaimed:
		r.writing++ // the other one may fail
		return true, nil
	}
	return false, nil
}

// fail keeps the first error. mu is held.
func (r *File) fail(err error) error {
	if r.err == nil {
		r.err = err
		r.caught.Broadcast()
	}
	return r.err
}

// Sums gives the hash of the file, from those of the blocks.
func (r *File) Sums() fileservice.Sum {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocks.Root()
}

// Failed reports whether a write or a sync has failed, so that it can only be closed.
func (r *File) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// missing is how many blocks are not written.
func (r *File) missing() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fileservice.Blocks(r.version.Size) - r.blocks.count(blockWritten) - r.blocks.count(blockCommitted)
}

// stop ends the committer, and lets nobody write any more.
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

// Close keeps what is there for another receiver to go on with, unless it has got its name.
func (r *File) Close() error {
	_ = r.stop() // it may have ended
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

// Discard is Close for what is of no use any more.
func (r *File) Discard() error {
	_ = r.stop() // it may have ended
	r.commits.Lock()
	defer r.commits.Unlock()
	return errors.Join(r.drop(), r.closeFiles())
}

// drop removes both files. commits is held, and nobody writes.
func (r *File) drop() error {
	var err error
	if !r.gone {
		err = r.dir.Remove(r.names.part)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // so is the directory, perhaps
	}
	r.gone, r.pending = true, nil
	return errors.Join(err, r.dropJournal())
}

func (r *File) closeFiles() error {
	var err error
	if r.journal != nil {
		err = r.journal.log.Close()
		r.journal = nil
	}
	if r.file != nil {
		err = errors.Join(err, r.direct.Close(), r.file.Close())
		r.direct, r.file = nil, nil
	}
	return errors.Join(err, r.dir.Close())
}
