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

// maxDrafts is the number of drafts that can be open, which peers share. Each has two or three descriptors.
const maxDrafts = 512

// draftID identifies a draft. Any client that knows it can write the draft.
type draftID [wire.DraftIDSize]byte

// drafts are the drafts that clients have open.
type drafts struct {
	root      *os.Root
	publisher *publish.Publisher // closed by uploads
	places    *shares            // of open
	idle      time.Duration

	mu     sync.Mutex
	closed bool
	open   map[draftID]*openedDraft
}

// openedDraft is an open draft. The lock of drafts guards all fields except File.
type openedDraft struct {
	*draft.File
	id     draftID
	path   string
	peer   peerKey
	users  int
	client lingering
	timer  *time.Timer // drops it; runs while no call uses it
}

// begin opens a draft. The caller ends its use with end.
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

// join returns an open draft and its path. The caller ends its use with end.
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

// rename records the path of a published draft.
func (s *drafts) rename(o *openedDraft, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.path = path
}

// end ends the use of a draft after begin or join.
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
	o.timer = time.AfterFunc(s.idle, func() { _ = s.drop(o, true) }) // no client is left to report an error to
}

// drop ends a draft. If idle is set, it does so only if no call uses the draft and its client has stopped sending.
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

// closeAll ends all drafts, after the last call.
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

// deepestLeft limits the depth of removeAllLeft. Each level has an open directory.
const deepestLeft = 100

// removeAllLeft removes drafts that killed servers have left in a directory tree, until the server ends. It ignores
// what it cannot read or remove.
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
