package server

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/draft"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// maxDrafts is how many drafts may be open at once, of which each peer can have its share. Each has two descriptors, or
// three.
const maxDrafts = 512

// draftID names a draft. Who knows it may write it.
type draftID [wire.DraftIDSize]byte

// drafts are those that clients have open.
type drafts struct {
	root      *os.Root
	publisher *publish.Publisher // closed by uploads
	places    *shares            // of open
	idle      time.Duration

	mu     sync.Mutex
	closed bool
	open   map[draftID]*openedDraft
}

// openedDraft is one of them. All but the draft is guarded by the lock of drafts.
type openedDraft struct {
	*draft.File
	id     draftID
	path   string
	peer   peerKey
	users  int
	client lingering
	timer  *time.Timer // drops it; runs while nobody uses it
}

// begin opens a draft. The caller uses it until end.
func (s *drafts) begin(conn *peerConn, path, local string, options draft.Options) (*openedDraft, error) {
	if !s.places.tryTake(conn.peer) {
		return nil, refused("too many drafts: %w", syscall.ENFILE)
	}
	d, err := draft.Open(s.root, s.publisher, local, options)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.closed {
		err = errors.Join(errClosed, d.End())
	}
	if err != nil {
		s.places.give(conn.peer)
		return nil, err
	}
	o := &openedDraft{File: d, path: path, peer: conn.peer, users: 1}
	o.client.use(conn)
	_, _ = rand.Read(o.id[:]) // it never fails
	s.open[o.id] = o
	return o, nil
}

// join gives a draft that is open, and its path. The caller uses it until end.
func (s *drafts) join(conn *peerConn, id []byte) (o *openedDraft, path string, err error) {
	if len(id) != wire.DraftIDSize {
		return nil, "", draft.ErrGone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o = s.open[draftID(id)]
	if o == nil {
		return nil, "", draft.ErrGone
	}
	o.users++
	o.client.use(conn)
	if o.timer != nil {
		o.timer.Stop()
	}
	return o, o.path, nil
}

// rename notes the path that a draft was published under.
func (s *drafts) rename(o *openedDraft, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.path = path
}

// end is what every begin and join is followed by.
func (s *drafts) end(o *openedDraft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.users--; o.users > 0 || s.open[o.id] != o {
		return
	}
	if o.timer != nil {
		o.timer.Reset(s.idle)
		return
	}
	o.timer = time.AfterFunc(s.idle, func() { _ = s.drop(o, true) }) // it was given up, and nobody is there to be told
}

// drop ends a draft; one that is idle, only if nobody uses it and its client does not go on.
func (s *drafts) drop(o *openedDraft, idle bool) error {
	s.mu.Lock()
	if s.open[o.id] != o || idle && o.users > 0 {
		s.mu.Unlock()
		return nil
	}
	if idle && o.client.goesOn() {
		o.timer.Reset(s.idle / lingerParts)
		s.mu.Unlock()
		return nil
	}
	delete(s.open, o.id)
	s.places.give(o.peer)
	if o.timer != nil {
		o.timer.Stop()
	}
	s.mu.Unlock()
	return o.File.End()
}

// closeAll drops what is open, when no more calls come.
func (s *drafts) closeAll() error {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	var errs []error
	for _, o := range open {
		if o.timer != nil {
			o.timer.Stop()
		}
		errs = append(errs, o.File.End())
	}
	return errors.Join(errs...)
}

// deepestLeft is how deep the tree is searched when a server begins. Each level has an open directory.
const deepestLeft = 100

// removeAllLeft removes what earlier servers have left in a directory and below, page by page, until the server ends.
// What it cannot read or remove stays.
func (s *Server) removeAllLeft(local string, depth int) {
	dir, err := s.openDirectory(local)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }() // it was only read
	for {
		entries, err := dir.ReadDir(pageEntries)
		for _, entry := range entries {
			select {
			case <-s.done:
				return
			default:
			}
			name := filepath.Join(local, entry.Name())
			switch {
			case entry.IsDir() && depth < deepestLeft:
				s.removeAllLeft(name, depth+1)
			case entry.Type().IsRegular() && fileservice.IsDraft(entry.Name()):
				_ = draft.RemoveLeft(s.config.Root, name)
			}
		}
		if err != nil {
			return
		}
	}
}
