package crashfs

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"culvert/internal/disk"
)

// Kind is the kind of an operation.
type Kind string

// The operations.
const (
	Mkdir     Kind = "mkdir"
	Create    Kind = "create"
	Open      Kind = "open"
	Read      Kind = "read"
	Write     Kind = "write"
	Sync      Kind = "sync"
	Writeback Kind = "writeback"
	Truncate  Kind = "truncate"
	Reserve   Kind = "reserve"
	SetTime   Kind = "settime"
	Rename    Kind = "rename"
	Link      Kind = "link"
	Remove    Kind = "remove"
	SyncDir   Kind = "syncdir"
	Held      Kind = "held"
)

// Operation is an operation that is about to happen.
type Operation struct {
	Number int // from 1
	Kind   Kind
	Name   string
}

// Changes reports whether the operation affects the state after a crash.
func (o Operation) Changes() bool {
	switch o.Kind {
	case Read, Open, Writeback, Held:
		return false
	}
	return true
}

// Fault is the outcome of an operation.
type Fault int

// The faults.
const (
	// None is success.
	None Fault = iota

	// IO fails with EIO and does nothing. A sync that fails in this way drops its data: it stays in the cache, but
	// counts as written, so a second sync does not write it either.
	IO

	// NoSpace fails with ENOSPC and does nothing.
	NoSpace

	// Short writes a part and fails with ENOSPC.
	Short

	// Stop ends the program before the operation, which fails with [ErrStopped], as do all later ones.
	Stop

	// Stopped lets the operation succeed, but the program ends before it returns.
	Stopped

	// ReadOnly fails with EROFS and does nothing.
	ReadOnly

	// Denied fails with EACCES and does nothing.
	Denied
)

// ErrStopped is the error of all operations after the program has ended.
var ErrStopped = errors.New("crashfs: the program has ended")

// Session is the file system of a program. It implements [disk.FS].
type Session struct {
	disk    *Disk
	locks   map[*inode]bool
	stopped bool
}

var _ disk.FS = (*Session)(nil)

// begin locks the disk and returns the outcome of an operation. Unless it returns an error, end must be called.
func (s *Session) begin(kind Kind, name string) (fault Fault, err error) {
	d := s.disk
	d.mu.Lock()
	if s.stopped || d.session != s {
		d.mu.Unlock()
		return None, ErrStopped
	}
	d.count++
	if d.Hook != nil {
		fault = d.Hook(Operation{Number: d.count, Kind: kind, Name: name})
	}
	switch fault {
	case Stop:
		s.stopped = true
		d.mu.Unlock()
		return fault, ErrStopped
	case Stopped:
		s.stopped = true
	case IO:
		err = failure(kind, name, syscall.EIO)
	case NoSpace:
		err = failure(kind, name, syscall.ENOSPC)
	case ReadOnly:
		err = failure(kind, name, syscall.EROFS)
	case Denied:
		err = failure(kind, name, syscall.EACCES)
	}
	return fault, err
}

// end unlocks the disk after an operation.
func (s *Session) end(fault Fault, err error) error {
	s.disk.mu.Unlock()
	if err == nil && fault == Stopped {
		return ErrStopped
	}
	return err
}

func failure(kind Kind, name string, err error) error {
	return &fs.PathError{Op: string(kind), Path: name, Err: err}
}

// do performs a whole operation.
func (s *Session) do(kind Kind, name string, operate func() error) error {
	fault, err := s.begin(kind, name)
	if fault == Stop || errors.Is(err, ErrStopped) {
		return err
	}
	if err == nil {
		err = operate()
	}
	return s.end(fault, err)
}

// change makes a change of names. The disk is locked.
func (s *Session) change(c change) {
	if c.to.dir != nil {
		c.dir = c.to.dir
	} else {
		c.dir = c.from.dir
	}
	c.apply(s.disk.names)
	s.disk.changes = append(s.disk.changes, c)
}

// place returns an entry. The disk is locked.
type place func() entry

// at returns the place of a path.
func (s *Session) at(path string) place { return func() entry { return s.disk.place(path) } }

// directory returns the place of a directory itself, an entry without a name.
func (s *Session) directory(path string) place {
	return func() entry { return entry{dir: s.disk.find(path)} }
}

// Mkdir implements [disk.FS].
func (s *Session) Mkdir(dir string) error { return s.mkdir(s.at(dir), dir) }

func (s *Session) mkdir(at place, name string) error {
	return s.do(Mkdir, name, func() error {
		e := at()
		switch {
		case name == s.disk.path:
		case e.dir == nil || e.dir.gone:
			return failure(Mkdir, name, fs.ErrNotExist)
		case s.disk.names[e] == nil:
			s.change(change{to: e, file: &inode{dir: true}})
		}
		return nil
	})
}

// List returns the names in a directory.
func (s *Session) List(dir string) ([]string, error) { return s.list(s.directory(dir), dir) }

func (s *Session) list(at place, dir string) (names []string, err error) {
	err = s.do(Read, dir, func() error {
		in := at().dir
		if in == nil {
			return failure(Read, dir, fs.ErrNotExist)
		}
		for e := range s.disk.names {
			if e.dir == in {
				names = append(names, e.name)
			}
		}
		slices.Sort(names)
		return nil
	})
	return names, err
}

// Create creates a file, or replaces one.
func (s *Session) Create(name string) (disk.File, error) { return s.create(s.at(name), name) }

func (s *Session) create(at place, name string) (disk.File, error) {
	var f *inode
	err := s.do(Create, name, func() error {
		e := at()
		if e.dir == nil || e.dir.gone {
			return failure(Create, name, fs.ErrNotExist)
		}
		f = &inode{}
		s.change(change{to: e, file: f})
		s.disk.open[f]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{session: s, name: name, inode: f, writable: true}, nil
}

func (s *Session) open(at place, name string, writable bool) (disk.File, error) {
	var f *inode
	err := s.do(Open, name, func() error {
		if f = s.disk.names[at()]; f == nil {
			return failure(Open, name, fs.ErrNotExist)
		}
		s.disk.open[f]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{session: s, name: name, inode: f, writable: writable}, nil
}

// Rename renames a file or directory to a name that does not exist. Open directories stay valid.
func (s *Session) Rename(from, to string) error {
	return s.rename(s.at(from), s.at(to), from, to, false)
}

// rename replaces a file of the new name if replace is set.
func (s *Session) rename(from, to place, name, newName string, replace bool) error {
	return s.do(Rename, name, func() error {
		e, target := from(), to()
		f := s.disk.names[e]
		switch {
		case f == nil || target.dir == nil || target.dir.gone:
			return failure(Rename, name, fs.ErrNotExist)
		case s.disk.names[target] != nil && !replace:
			return failure(Rename, newName, fs.ErrExist)
		}
		s.change(change{from: e, to: target, file: f})
		return nil
	})
}

// link adds a name for a file.
func (s *Session) link(f *inode, at place, name string) error {
	return s.do(Link, name, func() error {
		e := at()
		if s.disk.names[e] != nil {
			return failure(Link, name, fs.ErrExist)
		}
		s.change(change{to: e, file: f})
		return nil
	})
}

// Remove removes a file or a directory.
func (s *Session) Remove(name string) error { return s.remove(s.at(name), name) }

func (s *Session) remove(at place, name string) error {
	return s.do(Remove, name, func() error {
		e := at()
		f := s.disk.names[e]
		if f == nil {
			return failure(Remove, name, fs.ErrNotExist)
		}
		f.gone = f.dir
		s.change(change{from: e, file: f})
		return nil
	})
}

// SyncDir implements [disk.FS].
func (s *Session) SyncDir(dir string) error { return s.syncDir(s.directory(dir), dir) }

func (s *Session) syncDir(at place, name string) error {
	d := s.disk
	fault, err := s.begin(SyncDir, name)
	if errors.Is(err, ErrStopped) {
		return err
	}
	dir := at().dir
	var others []change
	for _, c := range d.changes {
		switch {
		case c.dir != dir:
			others = append(others, c)
		case fault != IO: // which drops its changes
			c.apply(d.synced)
		}
	}
	if err == nil || fault == IO {
		d.changes = others
	}
	return s.end(fault, err)
}
