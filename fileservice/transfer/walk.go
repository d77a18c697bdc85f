package transfer

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"culvert/fileservice"
	"culvert/place"
)

const (
	walkersAtOnce = 4        // directories listed at once
	maxWalk       = 64 << 20 // bytes of entries and directory names held, roughly
	walkSteps     = 64       // in which the room of a listing grows
)

// walkedTree is the tree of a Pull or a Push. Names are relative to Remote and Local.
type walkedTree interface {
	// list adds the entries of a directory to a part, and sorts it.
	list(name string, part *dirPart) error

	// find returns the item for a regular file, or nil if there is nothing to transfer. twin means that the name of a
	// neighbor differs only in case.
	find(name string, entry fs.DirEntry, twin bool) *item

	// isCopy reports whether a directory of the source is the one into which is copied.
	isCopy(name string, entry fs.DirEntry) bool

	// dirTime returns the modification time of a source directory, or zero if it is unknown.
	dirTime(name string, entry fs.DirEntry) time.Time

	// setDirTime sets the time of an existing directory at the destination.
	setDirTime(name string, modified time.Time) error
}

// walk is the state of a walk through a tree. A directory is processed in parts that fit in memory, and listed again
// for each part. Directories found last come first, and those of one part before the next part, so that few are held.
type walk struct {
	transfer *transfer
	tree     walkedTree
	room     int64 // memory

	mu      sync.Mutex
	changed *sync.Cond
	dirs    []foundDir
	listing int   // walkers that are listing
	held    int64 // of room, by dirs and current parts
	err     error

	open     map[string]*openDir // incomplete directories whose listing has begun
	openHeld int64               // their memory, which room does not include
	files    int                 // found but not done
}

// foundDir is a directory, or its remainder after a name.
type foundDir struct {
	parent, base string
	after        string
	modified     time.Time
}

func (d *foundDir) name() string { return path.Join(d.parent, d.base) }

// memory estimates the memory, except the parent's name, which others share.
func (d *foundDir) memory() int64 { return int64(len(d.base)+len(d.after)) + 80 }

// walkTree walks through a tree. modified is the time of its root.
func (t *transfer) walkTree(tree walkedTree, modified time.Time) error {
	w := &walk{transfer: t, tree: tree, room: cmp.Or(t.config.walkRoom, maxWalk), open: map[string]*openDir{}}
	w.changed = sync.NewCond(&w.mu)
	w.push(foundDir{base: ".", modified: modified})
	t.tree = w
	defer wakeAtEnd(t.ctx, w.changed)()
	var walkers sync.WaitGroup
	for range walkersAtOnce {
		walkers.Go(w.work)
	}
	walkers.Wait()
	return w.err
}

func (w *walk) work() {
	for {
		dir, more := w.next()
		if !more {
			return
		}
		name := dir.name()
		part := &dirPart{after: dir.after, weight: 1, grow: w.grow}
		err := w.tree.list(name, part)
		if err != nil {
			w.fault(name, err)
			part.reset()
		}
		dirs := w.pass(name, part)
		if part.next != "" {
			rest := dir
			rest.after = part.last
			dirs = append(dirs, rest) // at the bottom
		}
		w.mu.Lock()
		w.held -= part.room
		slices.Reverse(dirs)
		w.push(dirs...)
		w.listing--
		w.changed.Broadcast()
		w.mu.Unlock()
		if part.next == "" {
			w.leave(name)
		}
	}
}

// push puts directories first in line. mu is held, or w is not shared yet.
func (w *walk) push(dirs ...foundDir) {
	for i := range dirs {
		w.held += dirs[i].memory()
	}
	w.dirs = append(w.dirs, dirs...)
}

// next returns a directory to list. While many are incomplete, it waits for files.
func (w *walk) next() (dir foundDir, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && w.transfer.ctx.Err() == nil {
		switch {
		case len(w.dirs) == 0 && w.listing == 0:
			return foundDir{}, false
		case len(w.dirs) > 0 && (w.openHeld <= w.room/2 || w.files == 0):
			last := len(w.dirs) - 1
			dir = w.dirs[last]
			w.dirs[last] = foundDir{}
			w.dirs = w.dirs[:last]
			w.held -= dir.memory()
			if dir.after == "" {
				w.enter(dir.name(), dir.modified)
			}
			w.listing++
			return dir, true
		}
		w.changed.Wait()
	}
	return foundDir{}, false
}

// grow increases a part's room, unless it has half of what others leave. So some remains for the next part.
func (w *walk) grow(part *dirPart) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	step := w.room / walkSteps
	left := w.room - w.held + part.room
	if step == 0 || part.room+step > left/2 {
		return false
	}
	part.room += step
	w.held += step
	return true
}

// fault records the error of a directory. That of the root ends the transfer.
func (w *walk) fault(name string, err error) {
	fatal := errors.Is(err, place.ErrUnreachable) || isFatal(err) && w.transfer.isForAll(name, err)
	switch {
	case w.transfer.ctx.Err() != nil:
		return // which is why
	case name != "." && !fatal:
		w.transfer.fail(name, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.changed.Broadcast()
}

// pass queues the files of a part, and returns its directories.
func (w *walk) pass(dir string, part *dirPart) (dirs []foundDir) {
	t := w.transfer
	var found []*item // queued together, so that small files share batches
	for i, entry := range part.entries {
		if t.ctx.Err() != nil {
			return nil
		}
		name := path.Join(dir, entry.Name())
		_, unfit := fileservice.CheckPath(entry.Name())
		switch {
		case t.config.excludes(name):
		case unfit != nil && (entry.IsDir() || entry.Type().IsRegular() && t.config.includes(name)):
			t.failPath(name, unfit)
		case entry.IsDir() && !fileservice.IsReserved(entry.Name()) && w.tree.isCopy(name, entry):
			t.fail(name, &fs.PathError{Op: "read", Path: name, Err: errItself})
		case entry.IsDir() && !fileservice.IsReserved(entry.Name()):
			modified := w.tree.dirTime(name, entry)
			dirs = append(dirs, foundDir{parent: dir, base: strings.Clone(entry.Name()), modified: modified})
			w.await(name)
		case !t.config.includes(name):
		case fileservice.IsReserved(entry.Name()):
			t.skip(name, fileservice.ErrReserved)
		case !entry.Type().IsRegular():
			t.skip(name, fileservice.NotRegular(entry.Type()))
		default:
			if it := w.tree.find(name, entry, part.isTwin(i)); it != nil {
				found = append(found, it)
			}
		}
		if len(found) == fileservice.MaxSmallFiles {
			t.add(found...)
			found = nil
		}
		part.pass(i)
	}
	t.add(found...)
	return dirs
}
