package server

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
)

// maxUploads is how many uploads may be open at once, of which each peer can have its share. Each has a few
// descriptors.
const maxUploads = 256

// silentUpload is how long a client may send nothing of a file, before another version of it may take its place.
const silentUpload = 2 * time.Second

// uploads are the files that clients are sending, by their paths. A client may make several calls for one of them, on
// several connections, and come back after its connection broke; so an upload stays open for a while when nobody uses
// it.
type uploads struct {
	root      *os.Root
	publisher *publish.Publisher
	places    *shares       // of open
	idle      time.Duration // until an upload that nobody uses is closed
	silence   time.Duration // of a client that makes place for another version

	mu     sync.Mutex
	closed bool
	open   map[string]*upload
}

// upload is one of them. All but the receiver is guarded by the lock of uploads.
type upload struct {
	*receive.File
	peer     peerKey // who has begun it
	version  fileservice.Version
	messages atomic.Int64 // that have come for it
	users    int
	left     chan struct{} // closed when nobody uses it any more; nil unless somebody waits for that
	client   lingering
	timer    *time.Timer // closes it; runs while nobody uses it
	err      error       // of the opening, once ready is closed
	ready    chan struct{}
}

// begin opens an upload, or joins in it. One of another version makes place, if its client has gone silent. Whether a
// file may be replaced is the affair of each client for itself: when it begins, and of the one that finishes.
func (u *uploads) begin(
	ctx context.Context, conn *peerConn, local string, version fileservice.Version, overwrite bool,
) (*upload, error) {
	if err := receive.CheckTarget(u.root, local, local, overwrite); err != nil {
		return nil, err
	}
	u.mu.Lock()
	for {
		up := u.open[local]
		if up != nil && up.version == version {
			return u.enter(conn, local, up)
		}
		if up == nil {
			break
		}
		if err := u.supersede(ctx, local, up); err != nil {
			u.mu.Unlock()
			return nil, err
		}
	}
	switch {
	case u.closed:
		u.mu.Unlock()
		return nil, errClosed
	case !u.places.tryTake(conn.peer):
		u.mu.Unlock()
		return nil, refused("too many uploads")
	}
	up := &upload{peer: conn.peer, version: version, users: 1, ready: make(chan struct{})}
	up.client.use(conn)
	u.open[local] = up
	publisher := u.publisher
	u.mu.Unlock()

	up.File, up.err = receive.Open(u.root, publisher, local, version, true)
	close(up.ready)
	if up.err != nil {
		u.end(local, up)
	}
	return up, up.err
}

// progress returns a number that changes while the client sends: messages of the upload, and bytes of any kind on the
// connection that named it last, since on a slow line a message takes long. mu of uploads is held.
func (u *upload) progress() int64 {
	received, _ := u.client.conn.Traffic.Moved()
	return u.messages.Load() + received
}

// supersede ends an upload of another version. While its client sends it may go on, and this one is refused. Who looks
// for that cannot tell it from a client whose connection has broken without a word, but by waiting. mu is held, but for
// that time.
func (u *uploads) supersede(ctx context.Context, local string, up *upload) error {
	// What was on its way may still come in the first of two times.
	for last, silent := false, false; up.users > 0 && !silent; last = true {
		before := up.progress()
		if up.left == nil {
			up.left = make(chan struct{})
		}
		left := up.left
		u.mu.Unlock()
		timer := time.NewTimer(u.silence)
		select {
		case <-left:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		u.mu.Lock()
		silent = up.progress() == before
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case u.open[local] != up:
			return nil
		case up.users > 0 && !silent && last:
			return refused("another upload to this name is under way")
		}
	}
	if up.timer != nil {
		up.timer.Stop()
	}
	u.forget(local, up)
	u.mu.Unlock()
	defer u.mu.Lock()
	<-up.ready
	if up.err != nil {
		return nil
	}
	return up.Close()
}

// forget gives the place of an upload back. mu is held.
func (u *uploads) forget(local string, up *upload) {
	delete(u.open, local)
	u.places.give(up.peer)
}

func (u *upload) use(conn *peerConn) {
	u.users++
	u.client.use(conn)
	if u.timer != nil {
		u.timer.Stop()
	}
}

// join gives an upload that has begun.
func (u *uploads) join(conn *peerConn, local string, version fileservice.Version) (*upload, error) {
	u.mu.Lock()
	up := u.open[local]
	if up == nil || up.version != version {
		u.mu.Unlock()
		if up != nil {
			return nil, refused("another upload has taken the place of this one")
		}
		return nil, refused("there is no such upload; it has to begin again")
	}
	return u.enter(conn, local, up)
}

// enter adds a user of an upload. mu is held before, and not after.
func (u *uploads) enter(conn *peerConn, local string, up *upload) (*upload, error) {
	up.use(conn)
	u.mu.Unlock()
	<-up.ready
	if up.err != nil {
		u.end(local, up)
	}
	return up, up.err
}

// end is what every begin and join is followed by, those that failed included.
func (u *uploads) end(local string, up *upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	up.users--
	if up.users == 0 && up.left != nil {
		close(up.left)
		up.left = nil
	}
	if u.open[local] != up || up.users > 0 {
		return
	}
	if up.err != nil {
		u.forget(local, up)
		return
	}
	if up.Failed() {
		_ = up.Close() // whoever used it has been told; the next one begins where the journal ends
		u.forget(local, up)
		return
	}
	up.timer = time.AfterFunc(u.idle, func() { _ = u.close(local, up) }) // what it had committed stays
}

// close closes an upload that nobody uses, unless its client goes on.
func (u *uploads) close(local string, up *upload) error {
	u.mu.Lock()
	if u.open[local] != up || up.users > 0 {
		u.mu.Unlock()
		return nil
	}
	if up.client.goesOn() {
		up.timer.Reset(u.idle / lingerParts)
		u.mu.Unlock()
		return nil
	}
	u.forget(local, up)
	u.mu.Unlock()
	return up.Close()
}

// take gives an upload to the one who finishes it, unless there is a file that it does not want to replace. Nobody
// joins in the upload any more, and those who did can only send blocks that are there, as one does whose connection has
// broken without the server knowing.
func (u *uploads) take(conn *peerConn, local string, version fileservice.Version, overwrite bool) (*upload, error) {
	if err := receive.CheckTarget(u.root, local, local, overwrite); err != nil {
		return nil, err // others may go on
	}
	up, err := u.join(conn, local, version)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open[local] != up {
		up.users--
		return nil, refused("somebody else finishes this upload")
	}
	u.forget(local, up)
	up.Overwrite = overwrite
	return up, nil
}

// closeAll closes what is open, when no more calls come.
func (u *uploads) closeAll() error {
	u.mu.Lock()
	u.closed = true
	open := u.open
	u.open = nil
	publisher := u.publisher
	u.publisher = nil
	u.mu.Unlock()
	var errs []error
	for _, up := range open {
		if up.timer != nil {
			up.timer.Stop()
		}
		errs = append(errs, up.Close())
	}
	if publisher != nil {
		errs = append(errs, publisher.Close())
	}
	return errors.Join(errs...)
}

// receive begins an upload for who has all of the file, so that nobody joins in it.
func (u *uploads) receive(
	ctx context.Context, conn *peerConn, local string, version fileservice.Version, overwrite bool,
) (*receive.File, error) {
	up, err := u.begin(ctx, conn, local, version, overwrite)
	if err != nil {
		return nil, err
	}
	defer u.end(local, up)
	if up, err = u.take(conn, local, version, overwrite); err != nil {
		return nil, err
	}
	return up.File, nil
}
