package server

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/osfile"
)

// The most files that a connection keeps open between requests, and for how long. Opening a file takes several times as
// long as reading a few pages.
const (
	keptFiles = 4
	keptFor   = time.Second
)

// openFiles are files that a connection has read, which it keeps open for a while. The name of one may lead to another
// file meanwhile. The version shows that, because the system changes the time of an inode that loses a name, unless a
// directory above the file was renamed. Then requests see the old file, with the version that they name, for keptFor.
// Windows does not rename a directory in which a file is open.
type openFiles struct {
	mu     sync.Mutex
	files  []*openFile
	timer  *time.Timer // runs if there are files
	closed bool
}

// openFile is an open file of one version.
type openFile struct {
	file       *os.File
	descriptor uintptr // of file
	path       string
	version    fileservice.Version
	users      atomic.Int32 // requests, and openFiles
}

func newOpenFile(file *os.File, path string, version fileservice.Version) *openFile {
	f := &openFile{file: file, descriptor: file.Fd(), path: path, version: version}
	f.users.Store(1)
	return f
}

// ReadAt implements [exchange.File].
func (f *openFile) ReadAt(p []byte, offset int64) error {
	if err := osfile.ReadFull(f.file, p, offset); err != nil {
		return err
	}
	return unchanged(f.file, f.version)
}

// ReadCached implements [exchange.File].
func (f *openFile) ReadCached(p []byte, offset int64) (done bool, err error) {
	if !f.readCached(p, offset) {
		return false, nil
	}
	return true, unchanged(f.file, f.version)
}

// Close implements [exchange.File].
func (f *openFile) Close() error {
	if f.users.Add(-1) > 0 {
		return nil
	}
	return f.file.Close()
}

// get returns the file of a request, if it is kept.
func (o *openFiles) get(r *exchange.Request) *openFile {
	if r.Any {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.files {
		if f.version == r.Version && f.path == r.Target {
			f.users.Add(1)
			return f
		}
	}
	return nil
}

// keep keeps a file that is in use, unless the connection has ended.
func (o *openFiles) keep(f *openFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	f.users.Add(1)
	if len(o.files) == keptFiles {
		_ = o.files[0].Close() // it was only read
		o.files = slices.Delete(o.files, 0, 1)
	}
	o.files = append(o.files, f)
	if len(o.files) == 1 {
		o.timer = time.AfterFunc(keptFor, o.drop)
	}
}

// drop keeps no file any longer.
func (o *openFiles) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.files {
		_ = f.Close() // it was only read
	}
	o.files = nil
	if o.timer != nil {
		o.timer.Stop()
	}
}

// close keeps no file any longer, nor any that follows.
func (o *openFiles) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.drop()
}
