package fusefs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// writing is the additional state of a regular file that was written to.
type writing struct {
	turn chan struct{} // holds a token, which a change of the content takes

	// The mutex of the node guards what follows.

	draft     *draft // nil if others have everything written
	published *draft // the last draft, while the file is open
	dir       *node  // the directory of a name that was never published, or nil
	name      string
	covers    bool // another file has that name on the other side
	replace   bool // publishing may replace a file; false if the name must be new
	writers   int  // handles that are open for writing
	unclosed  int  // writers whose descriptors are all still open
	pageless  int  // pageless ones of them
	changing  bool // a request without a handle has the turn
	removed   bool // the file has no name any more
}

// toWrite returns n.writing, and makes it for the first write. It is called with mu held.
func (n *node) toWrite() *writing {
	if n.writing == nil {
		n.writing = &writing{turn: make(chan struct{}, 1), replace: true}
		n.writing.giveBack()
	}
	return n.writing
}

// current returns the draft, or nil. w may be nil. It is called with the mutex of the node held.
func (w *writing) current() *draft {
	if w == nil {
		return nil
	}
	return w.draft
}

// count adds a handle with 1, and removes it with -1. It is called with the mutex of the node held.
func (w *writing) count(h *handle, change int) {
	w.writers += change
	if !h.closed {
		w.unclosed += change
	}
	if h.pageless {
		w.pageless += change
	}
}

// take takes the turn to change the content.
func (n *node) take(d *deadline) (*writing, syscall.Errno) {
	n.mu.Lock()
	w := n.toWrite()
	n.mu.Unlock()
	_, errno := wait(d, w.turn)
	return w, errno
}

func (w *writing) giveBack() { w.turn <- struct{}{} }

// inTurn calls do with the turn to change the content.
func (n *node) inTurn(ctx context.Context, do func(d *deadline) syscall.Errno) syscall.Errno {
	d := n.m.deadline(ctx)
	w, errno := n.take(d)
	if errno != 0 {
		return errno
	}
	defer w.giveBack()
	return do(d)
}

// snapshot returns a copy of n.writing, which is zero if the file was never written to.
func (n *node) snapshot() writing {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing == nil {
		return writing{}
	}
	return *n.writing
}

// currentDraft returns the draft, or nil.
func (n *node) currentDraft() *draft {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.writing.current()
}

// showsDraft fills in the attributes of the draft for a lookup, and reports whether there is one that has not failed.
func (n *node) showsDraft(out *fuse.Attr) bool {
	w := n.currentDraft()
	return w != nil && !w.hasFailed() && w.attributes(out) == 0
}

// isSpoiled reports whether the draft has failed. Only programs that have it open keep it; others get another node.
func (n *node) isSpoiled() bool {
	w := n.currentDraft()
	return w != nil && w.hasFailed()
}

// isOrphan reports whether the node has lost its name.
func (n *node) isOrphan() bool {
	_, parent := n.Parent()
	return parent == nil && !n.IsRoot()
}

// begin returns the draft, and begins one if there is none: new content if replace is set, or the file in place. The
// file must still be the version whose pages are in the kernel's cache. The caller has the turn.
func (n *node) begin(d *deadline, replace bool) (*draft, syscall.Errno) {
	n.mu.Lock()
	w, base := n.writing, n.version
	n.mu.Unlock()
	switch {
	case w.draft != nil:
		return w.draft, 0
	case w.removed:
		return nil, syscall.ESTALE
	}
	begun, errno := n.beginNamed(d, base, replace)
	for errno == syscall.ENFILE && n.m.makeRoom(n) {
		d.extend(0)
		begun, errno = n.beginNamed(d, base, replace)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if errno == syscall.EACCES && !replace && w.published != nil && versionOf(w.published.info) == base {
		// Programs that have a file open may write to it even if its permissions have changed.
		begun, w.published, errno = w.published, nil, 0
		begun.settled.Store(false)
	}
	if errno != 0 {
		return nil, errno
	}
	w.draft = begun
	n.m.inPlace.Store(n, nil)
	n.dropPublished()
	return begun, 0
}

// beginNamed opens the draft for begin. A shell opens a file for a program and closes it once before the program
// writes. Others then see an empty file, so the content replaces it as a whole.
func (n *node) beginNamed(d *deadline, base version, replace bool) (*draft, syscall.Errno) {
	path, errno := n.m.holdPath(d, n.path)
	if errno != 0 {
		return nil, errno
	}
	defer n.m.paths.RUnlock()
	published := n.snapshot().published
	empty := !replace && base.size == 0 && published != nil && published.isUntouched()
	flag := 0
	if replace || empty {
		flag = os.O_TRUNC
	}
	begun, errno := n.m.openDraft(d, path, flag, 0)
	if errno != 0 || replace {
		return begun, errno
	}
	there := begun.info
	if empty {
		there, errno = call(d, func() (fs.FileInfo, error) { return n.m.stat(path) }, nil)
	} else {
		begun.inPlace.Store(true)
	}
	if errno == 0 && versionOf(there) != base {
		errno = syscall.ESTALE
	}
	if errno != 0 {
		n.m.release(begun)
		return nil, errno
	}
	return begun, 0
}

func (m *mount) openToWrite(path string, flag int, perm fs.FileMode) (WritableFile, error) {
	opened, err := m.config.FS.(WritableFS).OpenFile(path, os.O_RDWR|flag, perm)
	if err != nil {
		return nil, err
	}
	file, is := opened.(WritableFile)
	if !is {
		return nil, errors.Join(errors.New("fusefs: OpenFile returned no WritableFile"), opened.Close())
	}
	return file, nil
}

func (m *mount) openDraft(d *deadline, path string, flag int, perm fs.FileMode) (*draft, syscall.Errno) {
	begun, errno := call(d, func() (*draft, error) {
		file, err := m.openToWrite(path, flag, perm)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return newDraft(m, file, info), nil
	}, func(late *draft) { m.discard(late) })
	if errno == 0 {
		m.hold(begun)
	}
	return begun, errno
}

// publish makes the draft visible to others, if there is one. The caller has the turn.
func (n *node) publish(d *deadline) syscall.Errno {
	begun := n.currentDraft()
	if begun == nil {
		return 0
	}
	if errno := begun.drain(d); errno != 0 {
		return errno
	}
	if errno := n.m.sharePaths(d); errno != 0 {
		return begun.fail(errno)
	}
	defer n.m.paths.RUnlock()
	now := n.snapshot()
	if now.removed {
		return 0
	}
	path, errno := n.path()
	if errno != 0 {
		return begun.fail(errno)
	}
	info, errno := begun.publish(d, path, now.replace)
	if errno != 0 {
		return errno
	}
	n.noteChanged()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settleDraft()
	n.writing.published = begun
	n.pages = n.pages && n.cached == n.version && n.writing.pageless == 0 // pages of the version before the draft
	n.inode = inodeOf(info, path)
	n.version = versionOf(info)
	n.changes++
	n.writes++
	n.cached = n.version
	if n.handles > 0 {
		n.opened = info
		n.m.inPlace.Store(n, nil)
	} else {
		n.dropPublished()
	}
	return 0
}

// settleDraft ends a draft, which is published now or given up. It is called with mu held.
func (n *node) settleDraft() {
	w := n.writing
	w.draft, w.covers, w.replace = nil, false, true
	if w.dir != nil {
		w.dir.removeMade(w.name, n)
		w.dir = nil
	}
}

// dropPublished is called with mu held.
func (n *node) dropPublished() {
	if n.writing.published != nil {
		n.m.release(n.writing.published)
		n.writing.published = nil
	}
}

// dropDraft discards the draft. It is called with mu held.
func (n *node) dropDraft() {
	if n.endDraft() {
		// The kernel has pages of content that was never published.
		n.version, n.pages, n.opened = version{}, false, nil
	}
}

// endDraft is dropDraft for a draft that nothing has read. It reports whether there was one.
func (n *node) endDraft() bool {
	dropped := n.writing.draft
	if dropped == nil {
		return false
	}
	n.settleDraft()
	n.m.release(dropped)
	return true
}

// unused is called with mu held after the last handle was closed, or the last change without a handle was made.
func (n *node) unused() {
	n.opened = nil
	if n.writing != nil && !n.writing.changing {
		n.dropDraft()
		n.dropPublished()
		n.m.inPlace.Delete(n)
	}
}
