package transfer

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"culvert/fileservice"
)

// Progress counts the work of a transfer; [Progress.Status] returns the counters. The zero value is ready to use, for
// one transfer.
type Progress struct {
	files, filesDone             atomic.Int64
	bytes, bytesDone, bytesMoved atomic.Int64
	listed                       atomic.Bool

	mu     sync.Mutex
	active map[*item]*FileStatus
}

// Status is the progress of a transfer.
type Status struct {
	// Files and Bytes count the files that have been found; Listed reports whether these are all. FilesDone and
	// BytesDone count files and bytes that are complete, including present ones. BytesMoved is the number of bytes
	// that were transferred.
	Files, FilesDone             int64
	Bytes, BytesDone, BytesMoved int64
	Listed                       bool

	// Active are the files of more than one block that are being transferred, sorted by name.
	Active []FileStatus
}

// FileStatus is the progress of a file. Done is the number of bytes in written blocks, committed or not.
type FileStatus struct {
	Name       string
	Size, Done int64
}

// Status returns the current state. It may be called at any time.
func (p *Progress) Status() Status {
	s := Status{
		Listed: p.listed.Load(), Files: p.files.Load(), FilesDone: p.filesDone.Load(),
		Bytes: p.bytes.Load(), BytesDone: p.bytesDone.Load(), BytesMoved: p.bytesMoved.Load(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, file := range p.active {
		s.Active = append(s.Active, *file)
	}
	slices.SortFunc(s.Active, func(a, b FileStatus) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// activate adds a file of more than one block to the active ones.
func (p *Progress) activate(it *item) {
	if fileservice.Blocks(it.size) < 2 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active == nil {
		p.active = map[*item]*FileStatus{}
	}
	p.active[it] = &FileStatus{Name: it.name, Size: it.size, Done: it.done}
}

func (p *Progress) move(it *item, bytes int64) {
	p.bytesMoved.Add(bytes)
	p.bytesDone.Add(bytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if file := p.active[it]; file != nil {
		file.Done += bytes
	}
}

func (p *Progress) deactivate(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.active, it)
}
