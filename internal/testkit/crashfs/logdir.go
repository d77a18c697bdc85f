package crashfs

import (
	"errors"
	"io/fs"
	"path/filepath"

	"culvert/internal/disk"
)

// logDir is an open directory. Its operations have the name by which it was opened.
type logDir struct {
	session *Session
	path    string
	inode   *inode
}

// OpenLogDir implements [disk.FS].
func (s *Session) OpenLogDir(dir string) (disk.LogDir, error) {
	d := &logDir{session: s, path: dir}
	err := s.do(Open, dir, func() error {
		if d.inode = s.disk.find(dir); d.inode == nil {
			return failure(Open, dir, fs.ErrNotExist)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (d *logDir) at(name string) place { return func() entry { return entry{d.inode, name} } }

func (d *logDir) in(name string) string { return filepath.Join(d.path, name) }

// List implements [disk.LogDir].
func (d *logDir) List() ([]string, error) { return d.session.list(d.at(""), d.path) }

// Create implements [disk.LogDir].
func (d *logDir) Create(name string) (disk.File, error) {
	return d.session.create(d.at(name), d.in(name))
}

// Open implements [disk.LogDir].
func (d *logDir) Open(name string, writable bool) (disk.File, error) {
	return d.session.open(d.at(name), d.in(name), writable)
}

// Rename implements [disk.LogDir].
func (d *logDir) Rename(from, to string) error {
	return d.session.rename(d.at(from), d.at(to), d.in(from), d.in(to), false)
}

// Remove implements [disk.LogDir].
func (d *logDir) Remove(name string) error { return d.session.remove(d.at(name), d.in(name)) }

// Sync implements [disk.LogDir].
func (d *logDir) Sync() error { return d.session.syncDir(d.at(""), d.path) }

// Close implements [io.Closer].
func (d *logDir) Close() error { return nil }

// Lock implements [disk.LogDir]. The file is on the disk at once, since its fate in a crash does not matter.
func (d *logDir) Lock(name string) (disk.Lock, error) {
	l := &lock{dir: d, entry: entry{d.inode, name}}
	err := d.session.do(Open, d.in(name), func() error {
		names := d.session.disk.names
		if l.inode = names[l.entry]; l.inode == nil {
			if d.inode.gone {
				return failure(Open, d.in(name), fs.ErrNotExist)
			}
			l.inode = &inode{}
			names[l.entry], d.session.disk.synced[l.entry] = l.inode, l.inode
		}
		if d.session.locks[l.inode] {
			return failure(Open, d.in(name), disk.ErrLocked)
		}
		d.session.locks[l.inode] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

type lock struct {
	dir   *logDir
	entry entry
	inode *inode
}

var errNotHeld = errors.New("crashfs: the lock has lost its name")

// Held implements [disk.Lock].
func (l *lock) Held() error {
	s := l.dir.session
	return s.do(Held, l.dir.in(l.entry.name), func() error {
		if s.disk.names[l.entry] != l.inode {
			return failure(Held, l.dir.in(l.entry.name), errNotHeld)
		}
		return nil
	})
}

// Close implements [io.Closer].
func (l *lock) Close() error {
	l.dir.session.disk.mu.Lock()
	defer l.dir.session.disk.mu.Unlock()
	delete(l.dir.session.locks, l.inode)
	return nil
}
