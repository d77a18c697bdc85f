package transfer

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"culvert/fileservice"
)

const (
	walkersAtOnce = 4        // directories that are listed
	maxWalk       = 64 << 20 // bytes of entries and names of directories that are held at once, roughly
	walkSteps     = 64       // in which the room of a listing grows to all of that
)

// walkedTree is the tree of a Pull or a Push. Names are below Remote and Local.
type walkedTree interface {
	// list adds the entries of a directory to a part of it, and sorts that.
	list(name string, part *dirPart) error

	// find gets the regular files that are not left out, and gives what is to be transferred, or nil. A twin has a
	// neighbour whose name differs in case only.
	find(name string, entry fs.DirEntry, twin bool) *item

	// dirTime gives when a directory was last changed at the source; zero if that cannot be found out.
	dirTime(name string, entry fs.DirEntry) time.Time

	// setDirTime sets it at the other end, for a directory that is there.
	setDirTime(name string, modified time.Time) error
}

// walk is the state of a walk through a tree. A directory comes in parts, which have room in memory, and is listed anew
// for each of them. The directories that were found last come first, and those of one part before the next part, so
// that few are held.
type walk struct {
	transfer *transfer
	tree     walkedTree
	room     int64 // memory

	mu      sync.Mutex
	changed *sync.Cond
	dirs    []foundDir
	listing int   // walkers that may find more
	held    int64 // of the room, by dirs and by the parts that are listed
	err     error

	open     map[string]*openDir // directories that have begun to be listed, and are not complete
	openHeld int64               // memory that they take, beside the room
	files    int                 // that were found, and are not done
}

// foundDir is a directory, or what is left of one after a name.
type foundDir struct {
	parent, base string
	after        string
	modified     time.Time
}

func (d *foundDir) name() string { return path.Join(d.parent, d.base) }

// memory is about what it takes, beside the name of the parent, which others share.
func (d *foundDir) memory() int64 { return int64(len(d.base)+len(d.after)) + 80 }

// walkTree walks through a tree, of which the root has this time.
func (t *transfer) walkTree(tree walkedTree, modified time.Time) error {
	w := &walk{
		transfer: t, tree: tree, room: t.config.walkRoom, open: map[string]*openDir{},
	}
	if w.room == 0 {
		w.room = maxWalk
	}
	w.changed = sync.NewCond(&w.mu)
	w.push(foundDir{base: ".", modified: modified})
	t.tree = w
	unhook := context.AfterFunc(t.ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	defer unhook()
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

// push puts directories before those that are there. mu is held, or nobody else is there yet.
func (w *walk) push(dirs ...foundDir) {
	for i := range dirs {
		w.held += dirs[i].memory()
	}
	w.dirs = append(w.dirs, dirs...)
}

// next gives a directory to list. While many are not complete, it waits for files.
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

// grow gives a part more room, unless it has half of what others leave. So there is always some for the next one.
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

// fault is that of a directory. The first one is what was asked for, so that without it there is nothing.
func (w *walk) fault(name string, err error) {
	if name != "." && !errors.Is(err, fileservice.ErrUnreachable) && !isFatal(err) {
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

// pass hands on the files in a part of a directory, and gives the directories.
func (w *walk) pass(dir string, part *dirPart) (dirs []foundDir) {
	t := w.transfer
	var found []*item // so many that small ones are not torn apart
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
	if len(found) > 0 {
		t.add(found...)
	}
	return dirs
}
