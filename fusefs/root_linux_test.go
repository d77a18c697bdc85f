package fusefs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// rootFS serves a directory of this machine as a file system that may be written to. Drafts are in a directory beside
// it, of the same file system, so that a name appears by one rename. Beside it is also the file of its faults.
type rootFS struct {
	fs.ReadLinkFS
	root   *os.Root // the parent of what is served
	served string   // its name in root
	drafts string   // the name of the directory of drafts
	number *atomic.Int64
	opened *atomic.Int64 // to be written
}

func openRootFS(dir string) (*rootFS, error) {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	served, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	drafts, err := os.MkdirTemp(filepath.Dir(dir), "drafts")
	if err != nil {
		return nil, err
	}
	return &rootFS{
		ReadLinkFS: served.FS().(fs.ReadLinkFS), root: root,
		served: filepath.Base(dir), drafts: filepath.Base(drafts), number: &atomic.Int64{}, opened: &atomic.Int64{},
	}, nil
}

func (f *rootFS) path(name string) string { return filepath.Join(f.served, name) }

func (f *rootFS) Mkdir(name string, perm fs.FileMode) error { return f.root.Mkdir(f.path(name), perm) }

func (f *rootFS) Remove(name string) error { return f.root.Remove(f.path(name)) }

func (f *rootFS) Rename(oldName, newName string) error {
	// Root.Rename does not replace an empty directory.
	return syscall.Rename(filepath.Join(f.root.Name(), f.path(oldName)), filepath.Join(f.root.Name(), f.path(newName)))
}

func (f *rootFS) Chmod(name string, mode fs.FileMode) error { return f.root.Chmod(f.path(name), mode) }

func (f *rootFS) Chtimes(name string, atime, mtime time.Time) error {
	return f.root.Chtimes(f.path(name), atime, mtime)
}

// Space has no figures for a name that only the mount knows.
func (f *rootFS) Space(name string) (total, free, available uint64, err error) {
	if _, err := f.Lstat(name); err != nil {
		return 0, 0, 0, err
	}
	return 4096 * 1000, 4096 * 500, 4096 * 400, nil
}

// setFault makes the calls of this name fail, or wait until the next fault is set if errno is 0. No name: none does.
func setFault(t *testing.T, root, call string, errno syscall.Errno) {
	t.Helper()
	name := filepath.Join(filepath.Dir(root), "fault")
	if err := os.WriteFile(name+".new", fmt.Append(nil, call, " ", int(errno)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// fault returns or waits for the fault of a call. Each call that waits has a file beside the served directory.
func (f *rootFS) fault(call string) error {
	waits := false
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		text, err := f.root.ReadFile("fault")
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		faulty, number, _ := strings.Cut(string(text), " ")
		if faulty != call {
			return nil
		}
		errno, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		if errno != 0 {
			return syscall.Errno(errno)
		}
		if !waits {
			waits = true
			if err := f.root.WriteFile(fmt.Sprint("waits", f.number.Add(1)), nil, 0o600); err != nil {
				return err
			}
		}
		<-ticker.C
	}
}

// Lstat holds the answer for the name looked-up.
func (f *rootFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := f.ReadLinkFS.Lstat(name)
	if path.Base(name) == "looked-up" {
		f.hold()
	}
	return info, err
}

// Open opens a file whose Stat holds the answer for the name opened.
func (f *rootFS) Open(name string) (fs.File, error) {
	file, err := f.ReadLinkFS.Open(name)
	if opened, is := file.(*os.File); is && path.Base(name) == "opened" {
		return heldFile{opened, f}, err
	}
	return file, err
}

type heldFile struct {
	*os.File
	fs *rootFS
}

func (f heldFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	f.fs.hold()
	return info, err
}

// hold waits once, if the file hold is there, which it renames to held, until that is gone.
func (f *rootFS) hold() {
	if f.root.Rename("hold", "held") != nil {
		return
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, gone := f.root.Stat("held"); gone != nil {
			return
		}
		<-ticker.C
	}
}

// fewFiles is how many files may be open to be written if the file few is there.
const fewFiles = 4

// OpenFile begins a draft, or opens an existing file in place.
func (f *rootFS) OpenFile(name string, flag int, perm fs.FileMode) (fs.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return f.Open(name)
	}
	if err := f.fault("OpenFile"); err != nil {
		return nil, err
	}
	if _, err := f.root.Stat("few"); err == nil && f.opened.Load() >= fewFiles {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENFILE}
	}
	source, err := f.root.OpenFile(f.path(name), os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
	case err != nil:
		return nil, err
	case flag&os.O_EXCL != 0:
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}, source.Close())
	case flag&os.O_TRUNC == 0:
		d := &rootDraft{File: source, fs: f, name: f.path(name)}
		d.inPlace.Store(true)
		f.opened.Add(1)
		return d, nil
	default:
		defer source.Close()
		info, err := source.Stat()
		if err != nil {
			return nil, err
		}
		perm = info.Mode().Perm()
	}
	made := filepath.Join(f.drafts, fmt.Sprint(f.number.Add(1)))
	file, err := f.root.OpenFile(made, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	d := &rootDraft{File: file, fs: f, name: made}
	f.opened.Add(1)
	if err := file.Chmod(perm); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// rootDraft is content that has no name yet, or a file in place.
type rootDraft struct {
	*os.File
	fs      *rootFS
	name    string
	inPlace atomic.Bool
}

func (d *rootDraft) WriteAt(p []byte, offset int64) (int, error) {
	if err := d.fs.fault("WriteAt"); err != nil {
		return 0, err
	}
	return d.File.WriteAt(p, offset)
}

func (d *rootDraft) ReadAt(p []byte, offset int64) (int, error) {
	if err := d.fs.fault("ReadAt"); err != nil {
		return 0, err
	}
	return d.File.ReadAt(p, offset)
}

func (d *rootDraft) Sync() error {
	if err := d.fs.fault("Sync"); err != nil {
		return err
	}
	return d.File.Sync()
}

// Flush has the faults of Publish.
func (d *rootDraft) Flush() error { return d.fs.fault("Publish") }

func (d *rootDraft) Truncate(size int64) error {
	if err := d.fs.fault("Truncate"); err != nil {
		return err
	}
	return d.File.Truncate(size)
}

func (d *rootDraft) Chtimes(atime, mtime time.Time) error {
	return d.fs.root.Chtimes(d.name, atime, mtime)
}

func (d *rootDraft) Publish(name string, replace bool) error {
	if d.inPlace.Load() {
		return fmt.Errorf("%w: published twice", fs.ErrInvalid)
	}
	if err := d.fs.fault("Publish"); err != nil {
		return err
	}
	target := d.fs.path(name)
	if replace {
		if err := d.fs.root.Rename(d.name, target); err != nil {
			return err
		}
	} else {
		if err := d.fs.root.Link(d.name, target); err != nil {
			return err
		}
		if err := d.fs.root.Remove(d.name); err != nil {
			return err
		}
	}
	d.inPlace.Store(true)
	return nil
}

func (d *rootDraft) Close() error {
	defer d.fs.opened.Add(-1)
	err := d.File.Close()
	if !d.inPlace.Load() {
		err = errors.Join(err, d.fs.root.Remove(d.name))
	}
	return err
}
