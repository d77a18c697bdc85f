package server

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/draft"
	"culvert/fileservice/internal/receive"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// maxDrafts is the number of drafts that can be open, which peers share. Each has two or three descriptors.
const maxDrafts = 512

// draftID identifies a draft. Any client that knows it can write the draft.
type draftID [wire.DraftIDSize]byte

// drafts are the drafts that clients have open.
type drafts struct {
	leases[draftID, *openedDraft]
	root      *os.Root           // nil if the server is not writable
	publisher *publish.Publisher // closed by uploads
}

// openedDraft is an open draft. The lock of leases guards the path.
type openedDraft struct {
	*draft.File
	lease
	id   draftID
	path string
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
		err = errors.Join(errClosed, d.Close())
	}
	if err != nil {
		s.places.give(conn.peer)
		return nil, err
	}
	o := &openedDraft{File: d, lease: lease{peer: conn.peer}, path: path}
	o.use(conn)
	_, _ = rand.Read(o.id[:]) // it never fails
	s.open[o.id] = o
	return o, nil
}

// join returns an open draft and its path. The caller ends its use with end.
func (s *drafts) join(conn *peerConn, id []byte) (o *openedDraft, path string, err error) {
	if s.root == nil {
		return nil, "", errNotWritable
	}
	if len(id) != wire.DraftIDSize {
		return nil, "", draft.ErrGone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o = s.open[draftID(id)]
	if o == nil {
		return nil, "", draft.ErrGone
	}
	o.use(conn)
	return o, o.path, nil
}

// pathOf returns the path of an open draft, or "".
func (s *drafts) pathOf(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(id) == wire.DraftIDSize {
		if o := s.open[draftID([]byte(id))]; o != nil {
			return o.path
		}
	}
	return ""
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
	o.users--
}

// drop ends a draft.
func (s *drafts) drop(o *openedDraft) error {
	s.mu.Lock()
	if s.open[o.id] != o {
		s.mu.Unlock()
		return nil
	}
	s.forget(o.id)
	s.mu.Unlock()
	return o.Close()
}

// deepestLeft limits the depth of removeAllLeft. Each level has an open directory.
const deepestLeft = 100

// agedUpload is how long nobody must have sent anything of an upload for the next server to remove it.
const agedUpload = 7 * 24 * time.Hour

// removeAllLeft removes what killed servers, and clients that never came back, have left in a directory tree: drafts,
// and aged uploads. It goes on until the server ends, and ignores what it cannot read or remove.
func (s *Server) removeAllLeft(local string, depth int) {
	dir, err := s.openDirectory(local)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }() // it was only read
	for {
		entries, err := dir.ReadDir(pageEntries)
		for _, entry := range entries {
			if s.life.Err() != nil {
				return
			}
			name := filepath.Join(local, entry.Name())
			switch {
			case entry.IsDir() && strings.HasSuffix(name, fileservice.JournalSuffix):
				_ = receive.RemoveAged(s.config.Root, name, time.Now().Add(-agedUpload))
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
