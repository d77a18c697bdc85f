package transfer

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"sync"

	"culvert/fileservice"
)

// An EndError is the error of an operation at one end of a transfer: of reading the source, or of writing the copy.
// Errors of files and directories have one in their chain.
type EndError struct {
	Writing bool
	Err     error
}

func (e *EndError) Error() string { return e.Err.Error() }

func (e *EndError) Unwrap() error { return e.Err }

// reading and writing say at which end an error arose, unless it says so itself.

func reading(err error) error { return atEnd(err, false) }

func writing(err error) error { return atEnd(err, true) }

func atEnd(err error, writing bool) error {
	if _, is := errors.AsType[*EndError](err); is || err == nil || err == errPresent {
		return err
	}
	return &EndError{writing, err}
}

func isWriting(err error) bool {
	end, is := errors.AsType[*EndError](err)
	return is && end.Writing
}

// fileSystems are those on which a copy is written, as far as they have failed. A tree may have several: what cannot be
// written to one of them does not concern the others.
type fileSystems struct {
	stat func(name string) (fs.FileInfo, error)
	top  string // of the tree

	mu     sync.Mutex
	failed map[uint64]error
}

func newFileSystems(stat func(name string) (fs.FileInfo, error), top string) *fileSystems {
	return &fileSystems{stat: stat, top: top, failed: map[uint64]error{}}
}

// fail notes that nothing can be written to the file system of a directory below the top. It reports whether that may
// be the one of the whole tree.
func (f *fileSystems) fail(dir string, err error) (all bool) {
	if f == nil {
		return true
	}
	id, top := f.of(path.Join(f.top, dir)), f.of(f.top)
	if id == 0 || top == 0 || id == top {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed[id] = err
	return false
}

// failure returns why nothing can be written to the file system of a directory, or nil.
func (f *fileSystems) failure(dir string) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	failed := maps.Clone(f.failed)
	f.mu.Unlock()
	if len(failed) == 0 {
		return nil
	}
	return failed[f.of(dir)]
}

// of identifies the file system of a directory, or of the one in which it will be made. It returns 0 if that is
// unknown. The path has slashes on every system, since it may be one of a server.
func (f *fileSystems) of(dir string) uint64 {
	for {
		info, err := f.stat(dir)
		parent := path.Dir(dir)
		switch {
		case err == nil:
			return fileservice.FileSystemOf(info)
		case !errors.Is(err, fs.ErrNotExist) || parent == dir:
			return 0
		}
		dir = parent
	}
}
