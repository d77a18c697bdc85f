package wal

import (
	"os"
	"path/filepath"

	"culvert/internal/disk"
)

// OpenInRoot is [Open] for a directory in a root. Nothing outside the root is touched, whatever links lead there. The
// root may be closed before the log.
func OpenInRoot(root *os.Root, dir string, options Options) (*Log, Recovery, error) {
	options.fs = disk.InRoot{Root: root}
	if err := options.complete(); err != nil {
		return nil, Recovery{}, err
	}
	return open(filepath.Clean(dir), options)
}

// OpenReaderInRoot is [OpenReader] for a directory in a root. Nothing outside the root is read, whatever links lead
// there. The root must stay open while the reader is used.
func OpenReaderInRoot(root *os.Root, dir string, key []byte) (*Reader, Recovery, error) {
	return openReader(disk.InRoot{Root: root}, filepath.Clean(dir), key)
}
