package wal

import (
	"fmt"
	"path/filepath"

	"culvert/internal/disk"
)

// folder is the directory of a log. It is held open, so that a log whose directory is moved goes on where that is, and
// touches nothing of what gets its old name.
type folder struct {
	disk.LogDir
	path string // by which it was opened, for messages
}

func openFolder(fsys disk.FS, path string) (folder, error) {
	dir, err := fsys.OpenLogDir(path)
	if err != nil {
		return folder{}, fmt.Errorf("wal: %w", err)
	}
	return folder{dir, path}, nil
}

// join is the path of a file, for messages.
func (f folder) join(name string) string { return filepath.Join(f.path, name) }
