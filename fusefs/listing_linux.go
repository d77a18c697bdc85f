package fusefs

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"
)

const (
	// batchEntries is how many entries of a directory are in memory at a time.
	batchEntries = 512

	// maxEmptyBatches is how often a file system may return neither an entry nor an end.
	maxEmptyBatches = 16
)

// entry is one name of a listing, with its attributes if the file system returned them.
type entry struct {
	name string
	mode uint32 // the type
	info fs.FileInfo
}

// listing is a directory of the file system that is open.
type listing struct {
	m *mount

	mu   sync.Mutex // held by a call of the file system, which may not return
	file fs.ReadDirFile
}

func openListing(m *mount, path string) (*listing, error) {
	file, err := m.config.FS.Open(path)
	if err != nil {
		return nil, err
	}
	dir, is := file.(fs.ReadDirFile)
	if !is {
		return nil, errors.Join(syscall.ENOTDIR, file.Close())
	}
	return &listing{m: m, file: dir}, nil
}

// part is the next part of a listing, and the error or end after it.
type part struct {
	entries  []entry
	finished error
}

// read reads some entries with their attributes, which programs that list a directory usually want.
func (l *listing) read() part {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range maxEmptyBatches {
		next, err := guarded(l.m, func() (part, error) { return readPart(l.file), nil })
		if err != nil {
			return part{finished: err}
		}
		if len(next.entries) > 0 || next.finished != nil {
			return next
		}
	}
	return part{finished: errors.New("fusefs: listing returns neither entries nor an end")}
}

func readPart(file fs.ReadDirFile) part {
	listed, err := file.ReadDir(batchEntries)
	entries := make([]entry, 0, len(listed))
	for _, l := range listed {
		name := l.Name()
		kind := kindOf(l.Type())
		if !isNamable(name) || kind == 0 {
			continue
		}
		info, infoErr := l.Info()
		if errors.Is(infoErr, fs.ErrNotExist) {
			continue
		}
		if infoErr != nil {
			info = nil
		}
		entries = append(entries, entry{name, kind, info})
	}
	return part{entries, err}
}

// Close waits for a call that is under way.
func (l *listing) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
