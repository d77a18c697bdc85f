package transfer

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"culvert/place"
)

// openDir is an incomplete directory. Creating entries changes a directory's time, so it gets the source's time when
// everything in it is complete, the deepest directories first.
type openDir struct {
	modified time.Time
	left     int // incomplete entries, and one for the walker that lists it
}

// openDirMemory estimates the memory of an openDir, except its name.
const openDirMemory = 120

// enter begins a directory. mu is held.
func (w *walk) enter(name string, modified time.Time) {
	w.openHeld += int64(len(name)) + openDirMemory
	w.open[name] = &openDir{modified, 1}
}

// await records a directory found in its parent.
func (w *walk) await(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[path.Dir(name)].left++
}

// awaitFile records a file found in its directory.
func (w *walk) awaitFile(name string) {
	if w == nil {
		return // a single file
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files++
	w.open[path.Dir(name)].left++
}

// done records that a file is complete or has failed. It sets the times of directories that are complete with it.
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

// leave records that a directory was listed. It does not wait for the server.
func (w *walk) leave(dir string) {
	w.mu.Lock()
	last := w.open[dir].left == 1
	w.mu.Unlock()
	if !last {
		w.complete(dir) // only decrements left
		return
	}
	w.transfer.later(func() { w.complete(dir) })
}

// complete decrements left of a directory. If the directory is complete, it sets its time and goes on with the parent.
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
		// Patterns may exclude everything in it.
	case errors.Is(err, fs.ErrPermission):
		// It existed, and belongs to another user.
	case errors.Is(err, place.ErrUnreachable), isFatal(err) && t.isForAll(dir, err):
		t.cancel(err)
	case t.ctx.Err() == nil:
		t.fail(dir, err)
	}
}
