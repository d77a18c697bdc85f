package crashfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"culvert/internal/disk"
)

// Kind is what an operation does.
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
)

// Operation is one that is about to happen.
type Operation struct {
	Number int // from 1 on
	Kind   Kind
	Name   string
}

// Changes reports whether the operation changes what a crash could leave.
func (o Operation) Changes() bool { return o.Kind != Read && o.Kind != Open && o.Kind != Writeback }

// Fault is how an operation ends.
type Fault int

// The faults.
const (
	// None is none.
	None Fault = iota

	// IO fails with EIO, and does nothing. A sync that fails so drops what it was to write: the system has it in memory
	// still, but takes it for written, and a second sync does not write it either.
	IO

	// NoSpace fails with ENOSPC, and does nothing.
	NoSpace

	// Short writes a part, and fails with ENOSPC.
	Short

	// Stop ends the program before the operation. It and all that follow fail with [ErrStopped].
	Stop

	// Stopped lets the operation happen, but the program ends before it knows.
	Stopped
)

// ErrStopped is the error of an operation of a program that has ended.
var ErrStopped = errors.New("crashfs: the program has ended")

// Session is the file system that a program sees. It implements [disk.FS].
type Session struct {
	disk    *Disk
	locks   map[string]bool
	stopped bool
}

var _ disk.FS = (*Session)(nil)

// begin locks the disk and sees how an operation is to end. An error ends it; else done must be called.
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

// do is an operation as a whole.
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
	c.apply(s.disk.names)
	s.disk.changes = append(s.disk.changes, c)
}

// Mkdir implements [disk.FS].
func (s *Session) Mkdir(dir string) error {
	return s.do(Mkdir, dir, func() error {
		if s.disk.names[dir] == nil {
			s.change(change{dir: filepath.Dir(dir), to: dir, file: &inode{dir: true}})
		}
		return nil
	})
}

// List implements [disk.FS].
func (s *Session) List(dir string) (names []string, err error) {
	err = s.do(Read, dir, func() error {
		if s.disk.names[dir] == nil {
			return failure(Read, dir, fs.ErrNotExist)
		}
		for name := range s.disk.names {
			if filepath.Dir(name) == dir {
				names = append(names, filepath.Base(name))
			}
		}
		slices.Sort(names)
		return nil
	})
	return names, err
}

// Create implements [disk.FS].
func (s *Session) Create(name string) (disk.File, error) {
	var f *inode
	err := s.do(Create, name, func() error {
		if s.disk.names[filepath.Dir(name)] == nil {
			return failure(Create, name, fs.ErrNotExist)
		}
		f = &inode{}
		s.change(change{dir: filepath.Dir(name), to: name, file: f})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{session: s, name: name, inode: f, writable: true}, nil
}

// Open implements [disk.FS].
func (s *Session) Open(name string, writable bool) (disk.File, error) {
	var f *inode
	err := s.do(Open, name, func() error {
		if f = s.disk.names[name]; f == nil {
			return failure(Open, name, fs.ErrNotExist)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{session: s, name: name, inode: f, writable: writable}, nil
}

// Rename implements [disk.FS].
func (s *Session) Rename(from, to string) error {
	return s.do(Rename, from, func() error {
		f := s.disk.names[from]
		switch {
		case f == nil:
			return failure(Rename, from, fs.ErrNotExist)
		case s.disk.names[to] != nil:
			return failure(Rename, to, fs.ErrExist)
		}
		s.change(change{dir: filepath.Dir(to), from: from, to: to, file: f})
		return nil
	})
}

// Replace is a rename that takes the place of a file of that name.
func (s *Session) Replace(from, to string) error {
	return s.do(Rename, from, func() error {
		f := s.disk.names[from]
		if f == nil {
			return failure(Rename, from, fs.ErrNotExist)
		}
		s.change(change{dir: filepath.Dir(to), from: from, to: to, file: f})
		return nil
	})
}

// link gives a file another name.
func (s *Session) link(f *inode, to string) error {
	return s.do(Link, to, func() error {
		if s.disk.names[to] != nil {
			return failure(Link, to, fs.ErrExist)
		}
		s.change(change{dir: filepath.Dir(to), to: to, file: f})
		return nil
	})
}

// Remove implements [disk.FS].
func (s *Session) Remove(name string) error {
	return s.do(Remove, name, func() error {
		f := s.disk.names[name]
		if f == nil {
			return failure(Remove, name, fs.ErrNotExist)
		}
		s.change(change{dir: filepath.Dir(name), from: name, file: f})
		return nil
	})
}

// SyncDir implements [disk.FS].
func (s *Session) SyncDir(dir string) error {
	d := s.disk
	fault, err := s.begin(SyncDir, dir)
	if errors.Is(err, ErrStopped) {
		return err
	}
	var others []change
	for _, c := range d.changes {
		switch {
		case c.dir != dir:
			others = append(others, c)
		case fault != IO: // which drops what it was to write
			c.apply(d.synced)
		}
	}
	if fault != NoSpace {
		d.changes = others
	}
	return s.end(fault, err)
}

// Lock implements [disk.FS]. No file is made: whether it is there matters to nobody.
func (s *Session) Lock(name string) (disk.Lock, error) {
	err := s.do(Open, name, func() error {
		if s.locks[name] {
			return failure(Open, name, disk.ErrLocked)
		}
		s.locks[name] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &lock{s, name}, nil
}

type lock struct {
	session *Session
	name    string
}

// Held implements [disk.Lock].
func (l *lock) Held() error { return nil }

// Close implements [io.Closer].
func (l *lock) Close() error {
	l.session.disk.mu.Lock()
	defer l.session.disk.mu.Unlock()
	delete(l.session.locks, l.name)
	return nil
}
