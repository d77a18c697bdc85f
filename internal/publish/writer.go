package publish

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// writebackSize is how much is written before the disk is asked to begin. A disk of 400 MB/s writes it in 20
// milliseconds, so little is left for the sync at the end.
const writebackSize = 8 << 20

// Writer writes a new file from its beginning. The file appears under its name when Commit returns, as a whole. Until
// then it has a temporary name in the same directory, such as orders.csv.k3v7q2ma.part, whose random part keeps two
// programs that write the same file apart. Discard may be called while other methods run.
type Writer struct {
	dir            *Dir
	close          func() error // of dir
	part, name     string       // in dir
	path           string       // for errors
	file           *os.File
	written, begun int64
	err            error // of a Write

	mu    sync.Mutex // held while the file ends
	ended bool
}

// Create starts a file. The umask is taken from the permissions. The caller must call Commit or Discard.
func Create(path string, permissions fs.FileMode) (*Writer, error) {
	dir, err := ownDir(os.OpenRoot(filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	w, err := CreateIn(dir, path, permissions, dir.Close)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return w, nil
}

// CreateIn is [Create] in a directory that is open already, for the last element of a path. The writer calls end when
// it no longer needs the directory.
func CreateIn(dir *Dir, path string, permissions fs.FileMode, end func() error) (w *Writer, err error) {
	w = &Writer{path: path, name: filepath.Base(path), dir: dir, close: end}
	w.part = partName(w.name)
	if w.file, err = dir.create(w.part, permissions); err != nil {
		return nil, w.explain(err)
	}
	return w, nil
}

const (
	longest = 200 // bytes of a name in that of its part, so that this is not longer than file systems allow
	unique  = 8   // characters that are random
)

// partName adds to a name.
func partName(name string) string {
	name = strings.ToValidUTF8(name[:min(len(name), longest)], "")
	return name + "." + strings.ToLower(rand.Text()[:unique]) + ".part"
}

// WholeName returns the name that a file under construction was to get, if a name is that of one, and not too long to
// tell.
func WholeName(part string) (name string, is bool) {
	rest, is := strings.CutSuffix(part, ".part")
	end := len(rest) - unique - 1
	if !is || end < 1 || end >= longest || rest[end] != '.' {
		return "", false
	}
	random := strings.Trim(rest[end+1:], "abcdefghijklmnopqrstuvwxyz234567")
	return rest[:end], random == ""
}

// Write implements [io.Writer]. The system writes to the disk while the file grows. The first error is also that of
// all later calls of Write and Commit.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.file.Write(p)
	w.written += int64(n)
	if w.written-w.begun >= writebackSize {
		beginWriteback(w.file, w.begun, w.written-w.begun)
		w.begun = w.written
	}
	if err != nil {
		w.err = w.explain(err)
	}
	return n, w.err
}

// Commit makes the file durable and gives it its name. If the name is taken, Commit replaces that file if replace is
// set, and otherwise fails with [fs.ErrExist]. After an error nothing is left, unless it is [ErrNotDurable]. After
// Discard, Commit fails with [fs.ErrClosed]. [Publisher.Commit] commits several files.
func (w *Writer) Commit(replace bool) error {
	if err := w.sync(); err != nil {
		return errors.Join(err, w.Discard())
	}
	if err := w.rename(replace); err != nil {
		return err
	}
	return w.named(w.dir.Sync())
}

// sync makes what was written durable.
func (w *Writer) sync() error {
	if w.err != nil {
		return w.err
	}
	if err := w.file.Sync(); err != nil {
		return w.explain(err)
	}
	return nil
}

// named ends a commit, with the error of the sync of the directory.
func (w *Writer) named(err error) error {
	if err := errors.Join(err, w.close()); err != nil {
		return &fs.PathError{Op: "sync", Path: w.path, Err: fmt.Errorf("%w: %w", ErrNotDurable, err)}
	}
	return nil
}

func (w *Writer) rename(replace bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return w.explain(fs.ErrClosed)
	}
	w.ended = true
	err := w.file.Close() // not all systems rename open files
	switch {
	case err != nil:
	case replace:
		err = w.dir.root.Rename(w.part, w.name)
	default:
		err = orByLink(w.dir.rename(w.part, w.name), w.dir.root, w.part, w.name)
	}
	if err != nil {
		return errors.Join(w.explain(err), w.dir.root.Remove(w.part), w.close())
	}
	return nil
}

// Discard removes what was written. After Commit it does nothing.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil
	}
	w.ended = true
	return errors.Join(w.file.Close(), w.dir.root.Remove(w.part), w.close())
}

// explain returns an error that names the file as its caller does, not by its temporary name.
func (w *Writer) explain(err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		err = path.Err
	} else if link, is := errors.AsType[*os.LinkError](err); is {
		err = link.Err
	}
	return &fs.PathError{Op: "write", Path: w.path, Err: err}
}
