package transfer

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"culvert/fileservice"
)

// Progress counts what a transfer does; see [Progress.Status]. The zero value is ready to use, for one transfer.
type Progress struct {
	files, filesDone             atomic.Int64
	bytes, bytesDone, bytesMoved atomic.Int64
	listed                       atomic.Bool

	mu     sync.Mutex
	active map[*item]*FileStatus
}

// Status is the state of a transfer.
type Status struct {
	// Files and Bytes have been found so far; Listed reports that there are no more. FilesDone and BytesDone are
	// complete, including what was present before. BytesMoved went over the connection.
	Files, FilesDone             int64
	Bytes, BytesDone, BytesMoved int64
	Listed                       bool

	// Active are the files in progress that have several blocks, by name.
	Active []FileStatus
}

// FileStatus is the state of a file. Done counts the bytes of all blocks written, committed or not.
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

// activate adds a file to Active if it has several blocks.
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
