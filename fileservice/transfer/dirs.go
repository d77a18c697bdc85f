package transfer

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"culvert/fileservice"
)

// openDir is a directory that is not complete. What comes into a directory changes its time, so that it gets that of
// the source when all that is in it is there: the deepest ones first.
type openDir struct {
	modified time.Time
	left     int // files and directories in it that are not done, and the walker who lists it
}

// openDirMemory is about what it takes in memory, beside its name.
const openDirMemory = 120

// enter begins a directory. mu is held.
func (w *walk) enter(name string, modified time.Time) {
	w.openHeld += int64(len(name)) + openDirMemory
	w.open[name] = &openDir{modified, 1}
}

// await says that a directory was found that belongs to the one it is in.
func (w *walk) await(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[path.Dir(name)].left++
}

// awaitFile is await for a file that is put into the queue.
func (w *walk) awaitFile(name string) {
	if w == nil {
		return // a single file is in no directory of the transfer
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files++
	w.open[path.Dir(name)].left++
}

// done says that such a file is there, or will not be. It sets the times of the directories that are complete with it.
func (w *walk) done(name string) {
	if w == nil {
		return
	}
	w.complete(path.Dir(name))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files--
	w.changed.Broadcast()
}

// leave says that a directory was listed. It does not wait for the other end.
func (w *walk) leave(dir string) {
	w.mu.Lock()
	last := w.open[dir].left == 1
	w.mu.Unlock()
	if !last {
		w.complete(dir) // others have to end before
		return
	}
	w.transfer.later(func() { w.complete(dir) })
}

// complete takes one off a directory, and goes on with the one that it is in if it is complete.
func (w *walk) complete(dir string) {
	for {
		w.mu.Lock()
		d := w.open[dir]
		if d.left--; d.left > 0 {
			w.mu.Unlock()
			return
		}
		delete(w.open, dir)
		w.openHeld -= int64(len(dir)) + openDirMemory
		w.mu.Unlock()
		w.setTime(dir, d.modified)
		if dir == "." {
			return
		}
		dir = path.Dir(dir)
	}
}

func (w *walk) setTime(dir string, modified time.Time) {
	t := w.transfer
	if t.ctx.Err() != nil || t.config.DryRun || modified.IsZero() {
		return
	}
	err := t.try(func() error { return w.tree.setDirTime(dir, modified) })
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		// Patterns may have left nothing of it.
	case errors.Is(err, fs.ErrPermission):
		// It was there before, and is somebody else's.
	case errors.Is(err, fileservice.ErrUnreachable), isFatal(err):
		t.cancel(err)
	case t.ctx.Err() == nil:
		t.fail(dir, err)
	}
}
