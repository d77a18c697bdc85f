package fusefs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// writing is what a regular file has in addition once it was written to.
type writing struct {
	turn chan struct{} // has a token; who changes the content takes it

	// The mutex of the node guards what follows.

	draft     *draft // what is being written; nil if others have all of it
	published *draft // the last one, as long as the file is open
	dir       *node  // where the name is that was never published, or nil
	name      string
	covers    bool // something else has that name on the other side
	replace   bool // publishing may replace a file, which it may not for a name that has to be new
	writers   int  // handles that are open to write
	pageless  int  // those of them that are so
	changing  bool // by a request without a handle, which has the turn
	removed   bool // the file has no name any more
}

func newWriting() *writing {
	w := &writing{turn: make(chan struct{}, 1), replace: true}
	w.turn <- struct{}{}
	return w
}

// add and remove are called with the mutex of the node held.

func (w *writing) add(h *writeHandle) {
	w.writers++
	if h.pageless {
		w.pageless++
	}
}

func (w *writing) remove(h *writeHandle) {
	w.writers--
	if h.pageless {
		w.pageless--
	}
}

// take takes the turn to change the content.
func (n *node) take(d *deadline) (*writing, syscall.Errno) {
	n.mu.Lock()
	if n.writing == nil {
		n.writing = newWriting()
	}
	w := n.writing
	n.mu.Unlock()
	_, errno := wait(d, w.turn)
	return w, errno
}

func (w *writing) giveBack() { w.turn <- struct{}{} }

// currentDraft gives what is being written, or nil.
func (n *node) currentDraft() *draft {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing == nil {
		return nil
	}
	return n.writing.draft
}

// draftAttributes fills in the attributes of what is under construction, and reports whether something is.
func (n *node) draftAttributes(out *fuse.Attr) bool {
	w := n.currentDraft()
	return w != nil && w.attributes(out) == 0
}

// showsDraft is draftAttributes for who looks up the name, which is not that of a draft that has failed.
func (n *node) showsDraft(out *fuse.Attr) bool {
	w := n.currentDraft()
	return w != nil && !w.hasFailed() && w.attributes(out) == 0
}

// isSpoiled reports whether what is under construction has failed. It is that of the programs that have it open; others
// get another node.
func (n *node) isSpoiled() bool {
	w := n.currentDraft()
	return w != nil && w.hasFailed()
}

// isOrphan reports whether the node has lost its name.
func (n *node) isOrphan() bool {
	_, parent := n.Parent()
	return parent == nil && !n.IsRoot()
}

// begin gives what is being written, and begins with it if need be: with new content that takes the place of what is
// there, or in place. That must be the version which programs have seen here: pages of it are in the kernel's cache.
// The caller has the turn.
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
		// Who has a file open may write to it, whatever its permissions are since.
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

// beginNamed is begin for what has a name. The caller has the turn.
func (n *node) beginNamed(d *deadline, base version, replace bool) (*draft, syscall.Errno) {
	path, errno := n.m.holdPath(d, n.path)
	if errno != 0 {
		return nil, errno
	}
	defer n.m.paths.unshare()
	return n.beginAt(d, path, base, replace)
}

// beginAt is begin for what has a path. A shell opens a file for a program, and closes it once before that writes:
// others see an empty file then, and what is written takes its place as a whole.
func (n *node) beginAt(d *deadline, path string, base version, replace bool) (*draft, syscall.Errno) {
	n.mu.Lock()
	published := n.writing.published
	n.mu.Unlock()
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
		there, errno = callWithin(d, func() (fs.FileInfo, error) { return n.m.stat(path) }, nil)
	} else {
		begun.inPlace.Store(true)
	}
	if errno == 0 && versionOf(there) != base {
		errno = syscall.ESTALE
	}
	if errno != 0 {
		begun.end()
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
		return nil, errors.Join(errors.New("fusefs: OpenFile gives no WritableFile"), opened.Close())
	}
	return file, nil
}

// openDraft begins to write a file.
func (m *mount) openDraft(d *deadline, path string, flag int, perm fs.FileMode) (*draft, syscall.Errno) {
	begun, errno := callWithin(d, func() (*draft, error) {
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

// publish lets others see what was written, if something was. The caller has the turn.
func (n *node) publish(d *deadline) syscall.Errno {
	n.mu.Lock()
	w := n.writing
	begun := w.draft
	n.mu.Unlock()
	if begun == nil {
		return 0
	}
	if errno := begun.drain(d); errno != 0 {
		return errno
	}
	if errno := n.m.paths.share(d); errno != 0 {
		return begun.fail(errno)
	}
	defer n.m.paths.unshare()
	n.mu.Lock()
	removed, replace := w.removed, w.replace
	n.mu.Unlock()
	if removed {
		return 0
	}
	path, errno := n.path()
	if errno != 0 {
		return begun.fail(errno)
	}
	info, errno := begun.publish(d, path, replace)
	if errno != 0 {
		return errno
	}
	n.noteChanged()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settleDraft()
	w.published = begun
	n.pages = n.pages && n.cached == n.version && w.pageless == 0 // those of the version that the draft began with
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

// settleDraft ends the time of a draft, whose name is known to all now, or to nobody any more. It is called with mu
// held.
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
		n.writing.published.end()
		n.writing.published = nil
	}
}

// dropDraft throws away what is under construction. It is called with mu held.
func (n *node) dropDraft() {
	if n.endDraft() {
		// What the kernel has of it, nobody will ever have.
		n.version, n.pages, n.opened = version{}, false, nil
	}
}

// endDraft is dropDraft of what nobody has seen. It reports whether there was something.
func (n *node) endDraft() bool {
	dropped := n.writing.draft
	if dropped == nil {
		return false
	}
	n.settleDraft()
	dropped.end()
	return true
}

// unused is called with mu held when the last handle is gone, or the last change without one.
func (n *node) unused() {
	n.opened = nil
	if n.writing != nil && !n.writing.changing {
		n.dropDraft()
		n.dropPublished()
		n.m.inPlace.Delete(n)
	}
}
