package fusefs

import (
	"io/fs"
	"sync"
	"time"
)

// span is the time that a listing took so far. Programs often list a directory and then look at each file. If the
// kernel asks for the attributes of a file again because the listing took longer than it caches them, it gets those of
// the listing, for as long as that took. Otherwise each file would cost a call.
type span struct {
	directory *node
	named     uint64 // directory.named when the listing began

	mu         sync.Mutex
	began, end time.Time // of what has arrived
	paused     bool      // the program has made a break, so the rest may be old
}

// arrived records that a part of the listing has arrived.
func (s *span) arrived(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = at
}

// pause ends the time for which attributes live.
func (s *span) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
}

// isGood reports whether attributes of the listing are still to be used after the kernel has dropped them. Changes that
// were made here since it began end that.
func (s *span) isGood() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.end.Sub(s.began)
	return !s.paused && took > cacheTime && time.Since(s.end) <= took && s.named == s.directory.named.Load()
}

// listed is what a listing has said of a file.
type listed struct {
	info fs.FileInfo
	of   *span
}

// keepListed keeps the attributes of a listing. They were accepted before.
func (n *node) keepListed(info fs.FileInfo, of *span) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listed = listed{info, of}
}

// fromListing returns the attributes of a listing if they are good, or else nil. A nil node has none. If the file was
// asked for since, there may be newer ones.
func (n *node) fromListing() fs.FileInfo {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	info := n.listed.info
	if info == nil {
		return nil
	}
	if !n.listed.of.isGood() || info.Mode().IsRegular() && n.version != versionOf(info) {
		n.listed = listed{}
		return nil
	}
	return info
}
