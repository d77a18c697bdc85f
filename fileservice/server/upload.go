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

// maxUploads is the number of uploads that can be open, which peers share. Each has a few descriptors.
const maxUploads = 256

// silentUpload is how long a client can send nothing before another version of its file may replace the upload.
const silentUpload = 2 * time.Second

// uploads are the files that clients are sending, by path. A client makes several calls for an upload, on several
// connections, and may return after a connection has failed. So an unused upload stays open for a while.
type uploads struct {
	root      *os.Root
	publisher *publish.Publisher
	places    *shares       // of open
	idle      time.Duration // until an unused upload is closed
	silence   time.Duration // of a client, after which another version may replace its upload

	mu     sync.Mutex
	closed bool
	open   map[string]*upload
}

// upload is an open upload. The lock of uploads guards all fields except File and messages.
type upload struct {
	*receive.File
	peer     peerKey // the peer that began it
	version  fileservice.Version
	messages atomic.Int64 // received
	users    int
	left     chan struct{} // closed when no call uses it; nil unless supersede waits
	client   lingering
	timer    *time.Timer // closes it; runs while no call uses it
	err      error       // of receive.Open; set when ready is closed
	ready    chan struct{}
}

// begin opens or joins an upload. It replaces an upload of another version if that client is silent. Whether an
// existing file may be replaced is checked for each client: when it begins, and again when it finishes.
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

// progress returns a number that changes while the client sends: messages of the upload plus bytes on the connection of
// its last call, because a message takes long on a slow line. mu of uploads is held.
func (u *upload) progress() int64 {
	received, _ := u.client.conn.Traffic.Moved()
	return u.messages.Load() + received
}

// supersede ends an upload of another version, or fails if its client is sending. Only waiting shows whether it is,
// because a connection can fail silently. mu is held on entry and return, and released while it waits.
func (u *uploads) supersede(ctx context.Context, local string, up *upload) error {
	// Data in transit can arrive during the first of two waits.
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

// forget removes an upload and returns its place. mu is held.
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

// join returns an open upload.
func (u *uploads) join(conn *peerConn, local string, version fileservice.Version) (*upload, error) {
	u.mu.Lock()
	up := u.open[local]
	if up == nil || up.version != version {
		u.mu.Unlock()
		if up != nil {
			return nil, refused("another upload has replaced this one")
		}
		return nil, refused("unknown upload; begin again")
	}
	return u.enter(conn, local, up)
}

// enter adds a user of an upload. mu is held, and enter releases it.
func (u *uploads) enter(conn *peerConn, local string, up *upload) (*upload, error) {
	up.use(conn)
	u.mu.Unlock()
	<-up.ready
	if up.err != nil {
		u.end(local, up)
	}
	return up, up.err
}

// end ends the use of an upload after begin or join.
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
		_ = up.Close() // its users have the error; the next upload resumes from the journal
		u.forget(local, up)
		return
	}
	up.timer = time.AfterFunc(u.idle, func() { _ = u.close(local, up) }) // committed blocks stay
}

// close closes an unused upload, unless its client is still sending.
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

// take removes an upload for the caller to finish, unless a file exists that must not be replaced. No call can join the
// upload any more. Calls that have joined can only send blocks again, as after a silent failure of their connection.
func (u *uploads) take(conn *peerConn, local string, version fileservice.Version, overwrite bool) (*upload, error) {
	if err := receive.CheckTarget(u.root, local, local, overwrite); err != nil {
		return nil, err // other clients may continue the upload
	}
	up, err := u.join(conn, local, version)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open[local] != up {
		up.users--
		return nil, refused("another call is finishing this upload")
	}
	u.forget(local, up)
	up.Overwrite = overwrite
	return up, nil
}

// closeAll closes all uploads, after the last call.
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

// receive begins an upload for a caller that has the whole file. No other call can join it.
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
