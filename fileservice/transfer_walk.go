package fileservice

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	walkersAtOnce = 4        // directories that are listed
	maxWalk       = 64 << 20 // bytes of entries and names of directories that are held at once, roughly
)

var errLargeTree = errors.New("fileservice: more entries than a transfer holds at once")

// entryMemory is about what an entry takes in memory.
func entryMemory(entry fs.DirEntry) int64 { return int64(len(entry.Name())) + 80 }

// walkedTree is the tree of a Pull or a Push. Names are below Remote and Local.
type walkedTree interface {
	// list gives the sorted entries of a directory, for which there is so much room in memory.
	list(name string, room int64) ([]fs.DirEntry, error)

	// find gets the regular files that are not left out, and gives what is to be transferred, or nil. A twin has a
	// neighbour whose name differs in case only.
	find(name string, entry fs.DirEntry, twin bool) *item

	// dirTime gives when a directory was last changed at the source; zero if that cannot be found out.
	dirTime(name string, entry fs.DirEntry) time.Time

	// setDirTime sets it at the other end, for a directory that is there.
	setDirTime(name string, modified time.Time) error
}

// walk is the state of a walk through a tree. The directories that were listed last come first, so that few are held.
type walk struct {
	transfer *transfer
	tree     walkedTree

	mu      sync.Mutex
	changed *sync.Cond
	dirs    []foundDir
	open    map[string]*openDir // directories that have begun to be listed, and are not complete
	listing int                 // walkers that may find more
	held    int64               // memory
	err     error
}

type foundDir struct {
	name     string
	modified time.Time
}

// walkTree walks through a tree, of which the root has this time.
func (t *transfer) walkTree(tree walkedTree, modified time.Time) error {
	w := &walk{
		transfer: t, tree: tree, dirs: []foundDir{{".", modified}}, open: map[string]*openDir{},
	}
	w.changed = sync.NewCond(&w.mu)
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
		dir, room, more := w.next()
		if !more {
			return
		}
		name := dir.name
		entries, err := w.tree.list(name, room)
		if err != nil {
			w.fault(name, err)
		}
		memory := int64(0)
		for _, entry := range entries {
			memory += entryMemory(entry)
		}
		w.hold(memory)
		w.pass(name, entries)
		w.mu.Lock()
		w.held -= memory
		w.listing--
		w.changed.Broadcast()
		w.mu.Unlock()
		w.leave(name)
	}
}

func (w *walk) next() (dir foundDir, room int64, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.dirs) == 0 && w.listing > 0 && w.err == nil && w.transfer.ctx.Err() == nil {
		w.changed.Wait()
	}
	last := len(w.dirs) - 1
	if last < 0 || w.err != nil || w.transfer.ctx.Err() != nil {
		return foundDir{}, 0, false
	}
	dir = w.dirs[last]
	w.dirs = w.dirs[:last]
	w.held -= int64(len(dir.name))
	w.enter(dir)
	w.listing++
	return dir, maxWalk - w.held, true
}

func (w *walk) hold(memory int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held += memory
	if w.held > maxWalk && w.err == nil {
		w.err = errLargeTree
	}
}

// fault is that of a directory. The first one is what was asked for, so that without it there is nothing.
func (w *walk) fault(name string, err error) {
	fatal := name == "." || errors.Is(err, ErrUnreachable) || errors.Is(err, errLargeTree) || isFatal(err)
	if !fatal {
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

// pass hands on what was found in a directory.
func (w *walk) pass(dir string, entries []fs.DirEntry) {
	t := w.transfer
	var dirs []foundDir
	var found []*item // so many that small ones are not torn apart
	previous := ""
	for i, entry := range entries {
		if t.ctx.Err() != nil {
			return
		}
		name := path.Join(dir, entry.Name())
		_, unfit := checkPath(entry.Name())
		switch {
		case t.config.excludes(name):
		case unfit != nil && (entry.IsDir() || entry.Type().IsRegular() && t.config.includes(name)):
			t.failPath(name, unfit)
		case entry.IsDir() && !isReserved(entry.Name()):
			dirs = append(dirs, foundDir{name, w.tree.dirTime(name, entry)})
		case !t.config.includes(name):
		case isReserved(entry.Name()):
			t.skip(name, errReserved)
		case !entry.Type().IsRegular():
			t.skip(name, notRegular(entry.Type()))
		default:
			if it := w.tree.find(name, entry, isTwin(entries, i, previous)); it != nil {
				found = append(found, it)
			}
		}
		if len(found) == MaxSmallFiles {
			t.add(found...)
			found = nil
		}
		previous = entry.Name()
		entries[i] = nil // it may be long until the last one
	}
	if len(found) > 0 {
		t.add(found...)
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		w.hold(int64(len(dir.name)))
		w.await(dir.name)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirs = append(w.dirs, dirs...)
	w.changed.Broadcast()
}

// sortEntries sorts by name without case first, so that twins are neighbours.
func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(
			strings.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name())), strings.Compare(a.Name(), b.Name()),
		)
	})
}

// isTwin reports whether the name of an entry differs in case only from a neighbour's. A file system may take them for
// the same.
func isTwin(entries []fs.DirEntry, i int, previous string) bool {
	name := strings.ToLower(entries[i].Name())
	return i > 0 && strings.ToLower(previous) == name ||
		i+1 < len(entries) && strings.ToLower(entries[i+1].Name()) == name
}
