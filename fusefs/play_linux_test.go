package fusefs_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// playFS is a file system in memory whose files and faults a test controls. Files may have any size, since their bytes
// are computed.
type playFS struct {
	mu      sync.Mutex
	files   map[string]*playFile
	moves   bool          // something does, whenever the mount asks
	stalled chan struct{} // calls wait until it is closed, if it is not nil
	fault   error         // of all calls
	rate    int           // bytes per second that all reads and listings share; 0 is no limit
	link    sync.Mutex
	counts  playCounts
}

// playCounts counts the calls of a playFS.
type playCounts struct {
	Open, Stat, ReadDir, Read int
	Close, CloseInUse         int   // in use: by a call under way
	Moved                     int64 // calls
	Bytes                     int64 // that reads asked for
	Largest                   int   // read
}

// playFile is a file or a directory. It is not changed; another one takes its place.
type playFile struct {
	Name    string
	Mode    fs.FileMode
	Size    int64
	Seed    uint64 // of the content
	Changed int64  // in seconds
	Version uint64 // in Sys
	Inode   uint64

	Held    bool     // file: an open one has its content in memory
	Starts  bool     // file: an open one has StartReadAt
	Holds   bool     // file: StartReadAt waits for the answer, as it must not
	Entries int      // directory: so many names are made up, endlessly many if negative
	Names   [][]byte // directory: names beside those, of any bytes
	Ends    int64    // file: where it really ends, if not 0
	Panics  bool     // file: on reads
	Target  string   // symbolic link
}

func newPlayFS() *playFS {
	return &playFS{files: map[string]*playFile{".": {Name: ".", Mode: fs.ModeDir | 0o755}}}
}

func (p *playFS) put(file playFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if file.Mode == 0 {
		file.Mode = 0o644
	}
	p.files[file.Name] = &file
}

func (p *playFS) stall(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
	if on {
		p.stalled = make(chan struct{})
	}
}

// Moved tells whether something moves.
func (p *playFS) Moved() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts.Moved++; p.moves {
		return p.counts.Moved
	}
	return 0
}

// enter is the beginning of each call: it counts, waits and fails.
func (p *playFS) enter(count func(*playCounts)) error {
	p.mu.Lock()
	count(&p.counts)
	stalled := p.stalled
	p.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// transfer takes the time that a slow link needs for length bytes. Concurrent transfers take turns, as the streams of a
// connection do.
func (p *playFS) transfer(length int) {
	const frame = 8 << 10
	p.mu.Lock()
	rate := p.rate
	p.mu.Unlock()
	for ; rate > 0 && length > 0; length -= frame {
		p.link.Lock()
		took := time.Second * time.Duration(min(length, frame)) / time.Duration(rate)
		time.Sleep(took) //nolint:forbidigo // a link takes time
		p.link.Unlock()
	}
}

func (p *playFS) find(name string) (*playFile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if file := p.files[name]; file != nil {
		return file, nil
	}
	if dir := p.files[path.Dir(name)]; dir != nil && dir.Mode.IsDir() && isMadeUp(dir, path.Base(name)) {
		return madeUp(dir, path.Base(name)), nil
	}
	return nil, &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
}

func isMadeUp(dir *playFile, base string) bool {
	number := -1
	if n, err := fmt.Sscanf(base, "made-%07d", &number); n != 1 || err != nil {
		return false
	}
	return number >= 0 && (dir.Entries < 0 || number < dir.Entries)
}

func madeUp(dir *playFile, base string) *playFile {
	return &playFile{Name: path.Join(dir.Name, base), Mode: 0o644, Size: 100, Seed: 1}
}

func (p *playFS) Open(name string) (fs.File, error) {
	if err := p.enter(func(c *playCounts) { c.Open++ }); err != nil {
		return nil, err
	}
	file, err := p.find(name)
	if err != nil {
		return nil, err
	}
	handle := &playHandle{fs: p, file: file}
	if file.Starts {
		return startingHandle{handle}, nil
	}
	return handle, nil
}

func (p *playFS) Stat(name string) (fs.FileInfo, error) { return p.Lstat(name) }

func (p *playFS) Lstat(name string) (fs.FileInfo, error) {
	if err := p.enter(func(c *playCounts) { c.Stat++ }); err != nil {
		return nil, err
	}
	file, err := p.find(name)
	if err != nil {
		return nil, err
	}
	return playInfo{file}, nil
}

func (p *playFS) ReadLink(name string) (string, error) {
	file, err := p.find(name)
	if err != nil {
		return "", err
	}
	return file.Target, nil
}

func (p *playFS) Space(string) (total, free, available uint64, err error) {
	return 4096 * 1000, 4096 * 500, 4096 * 400, nil
}

type playInfo struct{ file *playFile }

func (i playInfo) Name() string               { return path.Base(i.file.Name) }
func (i playInfo) Size() int64                { return i.file.Size }
func (i playInfo) Mode() fs.FileMode          { return i.file.Mode }
func (i playInfo) Type() fs.FileMode          { return i.file.Mode.Type() }
func (i playInfo) ModTime() time.Time         { return time.Unix(i.file.Changed, 0) }
func (i playInfo) IsDir() bool                { return i.file.Mode.IsDir() }
func (i playInfo) Sys() any                   { return i.file.Version }
func (i playInfo) Inode() uint64              { return i.file.Inode }
func (i playInfo) Info() (fs.FileInfo, error) { return i, nil }

// playHandle is an open file or directory.
type playHandle struct {
	fs   *playFS
	file *playFile

	listed int
	inUse  atomic.Int32
}

// Stat describes the file as it is now, as fstat does.
func (h *playHandle) Stat() (fs.FileInfo, error) {
	now, err := h.fs.find(h.file.Name)
	if err != nil {
		return nil, err
	}
	return playInfo{now}, nil
}

func (h *playHandle) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (h *playHandle) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	h.fs.counts.Close++
	if h.inUse.Load() > 0 {
		h.fs.counts.CloseInUse++
	}
	return nil
}

func (h *playHandle) Content() []byte {
	if !h.file.Held {
		return nil
	}
	content := make([]byte, h.file.Size)
	fillContent(content, h.file.Seed, 0)
	return content
}

func (h *playHandle) ReadAt(p []byte, offset int64) (int, error) {
	n, err := h.read(p, offset)
	if now, err := h.fs.find(h.file.Name); err == nil && now.Panics {
		panic("a file that panics")
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// read returns fewer bytes at the end of the file.
func (h *playHandle) read(p []byte, offset int64) (int, error) {
	h.inUse.Add(1)
	defer h.inUse.Add(-1)
	err := h.fs.enter(func(c *playCounts) {
		c.Read++
		c.Bytes += int64(len(p))
		c.Largest = max(c.Largest, len(p))
	})
	if err != nil {
		return 0, err
	}
	h.fs.transfer(len(p))
	now, err := h.fs.find(h.file.Name)
	if err != nil {
		return 0, err
	}
	end := now.Size
	if now.Ends != 0 {
		end = now.Ends
	}
	n := int(min(int64(len(p)), max(end-offset, 0)))
	fillContent(p[:n], now.Seed, offset)
	return n, nil
}

// startingHandle is a playHandle that reads without a goroutine that waits.
type startingHandle struct{ *playHandle }

// StartReadAt panics, if the file does, before it begins to read.
func (h startingHandle) StartReadAt(p []byte, offset int64, done func(error)) bool {
	if h.file.Panics {
		panic("a file that panics when it starts")
	}
	if offset%2 == 1 {
		return false // as it may
	}
	read := func() {
		n, err := h.read(p, offset)
		if err == nil && n < len(p) {
			err = io.ErrUnexpectedEOF
		}
		done(err)
	}
	if h.file.Holds {
		read()
	} else {
		go read()
	}
	return true
}

// entryLength is what an entry of a listing takes on the link, in bytes.
const entryLength = 64

func (h *playHandle) ReadDir(n int) ([]fs.DirEntry, error) {
	h.inUse.Add(1)
	defer h.inUse.Add(-1)
	if err := h.fs.enter(func(c *playCounts) { c.ReadDir++ }); err != nil {
		return nil, err
	}
	h.fs.transfer(n * entryLength)
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	var names []string
	for _, name := range h.file.Names {
		names = append(names, string(name))
	}
	for name := range h.fs.files {
		if name != "." && path.Dir(name) == h.file.Name {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	var entries []fs.DirEntry
	for ; len(entries) < n; h.listed++ {
		made := h.listed - len(names)
		switch {
		case made < 0:
			name := names[h.listed]
			file := h.fs.files[path.Join(h.file.Name, name)]
			if file == nil || strings.Contains(name, "/") {
				file = &playFile{Mode: 0o644}
			}
			entries = append(entries, playEntry{playInfo{file}, name})
		case h.file.Entries < 0 || made < h.file.Entries:
			name := fmt.Sprintf("made-%07d", made)
			entries = append(entries, playEntry{playInfo{madeUp(h.file, name)}, name})
		case len(entries) == 0:
			return nil, io.EOF
		default:
			return entries, nil
		}
	}
	return entries, nil
}

// playEntry has any name.
type playEntry struct {
	playInfo
	name string
}

func (e playEntry) Name() string { return e.name }

// fillContent fills p with the content of a file with this seed at offset.
func fillContent(p []byte, seed uint64, offset int64) {
	for len(p) > 0 {
		x := (uint64(offset)/8 + 1) * 0x9e3779b97f4a7c15
		x = (x ^ x>>29 ^ seed*0xbf58476d1ce4e5b9) * 0x94d049bb133111eb
		x ^= x >> 32
		n := 8
		if skip := offset % 8; skip == 0 && len(p) >= 8 {
			binary.LittleEndian.PutUint64(p, x)
		} else {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], x)
			n = copy(p, word[skip:])
		}
		p, offset = p[n:], offset+int64(n)
	}
}
