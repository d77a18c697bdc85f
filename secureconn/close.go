package secureconn

import (
	"errors"
	"net"
	"time"
)

// end seals CLOSE, once, and starts to write it. sealing must be held.
func (s *sender) end() error {
	if s.ended {
		return nil
	}
	buf, err := s.reserve(2*overhead, true)
	if err != nil {
		return err
	}
	if buf, err = s.rekey(buf, 0); err == nil {
		buf, err = s.out.seal(buf, kindClose, nil)
	}
	if err != nil {
		return s.abandon(err)
	}
	s.ended = true
	return s.dispatch(0, len(buf), false)
}

// closeWrite is CloseWrite.
func (s *sender) closeWrite() error {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	if err := s.end(); err != nil {
		return err
	}
	return s.drain()
}

const (
	closeLimit    = 30 * time.Second // for all of Close
	closeTimeout  = 5 * time.Second  // for closeProgress
	closeProgress = 16 << 10         // bytes that must be written within closeTimeout
)

// close writes what is left, with CLOSE, and closes the network connection. It interrupts other calls. A peer that has
// ended its direction may be gone, and then needs no CLOSE.
func (s *sender) close(peerEnded func() bool) error {
	if !s.sealing.TryLock() {
		_ = s.fail(net.ErrClosed)
		return s.conn.Close()
	}
	defer s.sealing.Unlock()
	err := s.finish()
	_ = s.fail(net.ErrClosed)
	if err != nil && peerEnded() && s.onlyClose() {
		err = nil
	}
	return errors.Join(err, s.conn.Close())
}

// finish ends the direction, while the peer takes what is sent, within closeLimit.
func (s *sender) finish() error {
	limit := time.Now().Add(closeLimit)
	for {
		before, deadline := s.written(), time.Now().Add(s.patience)
		if deadline.After(limit) {
			deadline = limit
		}
		_ = s.conn.SetWriteDeadline(deadline) // if it fails, writing does too
		s.resume()
		err := s.end()
		if err == nil {
			err = s.drain()
		}
		if !isTimeout(err) || s.written() < before+closeProgress || !time.Now().Before(limit) {
			return err
		}
	}
}

func (s *sender) written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// onlyClose reports whether nothing but CLOSE is left to write.
func (s *sender) onlyClose() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := 0
	for i := range s.queued {
		p := &s.parcels[(s.first+i)%sendParcels]
		left += len(p.sealed) - p.written
	}
	return s.ended && left <= overhead
}
