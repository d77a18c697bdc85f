package transfer

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"culvert/fileservice"
)

// openDir is a directory that is not complete. Each new file changes the time of its directory. So a directory gets the
// time of the source when everything in it is complete, the deepest directories first.
type openDir struct {
	modified time.Time
	left     int // files and directories in it that are not done, and the walker that lists it
}

// openDirMemory is the approximate memory of an openDir without its name.
const openDirMemory = 120

// enter begins a directory. mu is held.
func (w *walk) enter(name string, modified time.Time) {
	w.openHeld += int64(len(name)) + openDirMemory
	w.open[name] = &openDir{modified, 1}
}

// await counts a directory that was found in another one.
func (w *walk) await(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[path.Dir(name)].left++
}

// awaitFile is await for a file that is queued.
func (w *walk) awaitFile(name string) {
	if w == nil {
		return // a single file has no directory in the transfer
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files++
	w.open[path.Dir(name)].left++
}

// done records that a file is complete or has failed. It sets the times of the directories that this completes.
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

// leave records that a directory was listed. It does not wait for the other end.
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

// complete takes one item off a directory. If that completes the directory, it continues with the parent.
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
		// Patterns may have excluded everything in it.
	case errors.Is(err, fs.ErrPermission):
		// It existed before, and has another owner.
	case errors.Is(err, fileservice.ErrUnreachable), isFatal(err):
		t.cancel(err)
	case t.ctx.Err() == nil:
		t.fail(dir, err)
	}
}
