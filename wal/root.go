package wal

import (
	"fmt"
	"os"
	"path/filepath"

	"culvert/internal/disk"
)

// OpenInRoot is like [Open] for a directory in a root. It never leaves the root, even through links. The root may be
// closed before the log.
func OpenInRoot(root *os.Root, dir string, options Options) (*Log, Recovery, error) {
	options.fs = disk.InRoot{Root: root}
	if err := options.complete(); err != nil {
		return nil, Recovery{}, err
	}
	return open(filepath.Clean(dir), options)
}

// OpenReaderInRoot is like [OpenReader] for a directory in a root. It never leaves the root, even through links. The
// root must stay open while the reader is used.
func OpenReaderInRoot(root *os.Root, dir string, key []byte) (*Reader, Recovery, error) {
	return openReader(disk.InRoot{Root: root}, filepath.Clean(dir), key)
}

// folder is the directory of a log. It stays open, so that the log continues in it if the directory is moved.
type folder struct {
	disk.LogDir
	path string // under which it was opened, for messages
}

func openFolder(fsys disk.FS, path string) (folder, error) {
	dir, err := fsys.OpenLogDir(path)
	if err != nil {
		return folder{}, fmt.Errorf("wal: %w", err)
	}
	return folder{dir, path}, nil
}

// join returns the path of a file, for messages.
func (f folder) join(name string) string { return filepath.Join(f.path, name) }
