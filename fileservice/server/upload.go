package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
)

// maxUploads is the number of uploads that can be open, which peers share. Each has a few descriptors.
const maxUploads = 256

// silentUpload is how long a client can send nothing before another version of its file may replace the upload.
const silentUpload = 2 * time.Second

// uploads are the files that clients are sending, by path.
type uploads struct {
	leases[string, *upload]
	root      *os.Root
	publisher *publish.Publisher
	silence   time.Duration // of a client, after which another version may replace its upload
}

// upload is an open upload.
type upload struct {
	*receive.File
	lease
	version fileservice.Version
	holders []*peerConn // on which clients have begun it, and not abandoned it; mu of uploads guards it
	err     error       // of receive.Open; set when ready is closed
	ready   chan struct{}
}

// hold notes that a client has begun the upload. mu of uploads is held.
func (u *upload) hold(conn *peerConn) {
	u.release(conn)
	u.holders = append(u.holders, conn)
}

// release reverses hold, and forgets clients that are gone. mu of uploads is held.
func (u *upload) release(conn *peerConn) {
	u.holders = slices.DeleteFunc(u.holders, func(other *peerConn) bool { return other == conn || hasEnded(other) })
}

// begin opens or joins an upload. It replaces an upload of another version if that client is silent or gone, or begins
// this one on the same connection. Whether an existing file may be replaced is checked for each client: when it begins,
// and again when it finishes.
func (u *uploads) begin(
	ctx context.Context, conn *peerConn, local string, version fileservice.Version, overwrite bool,
) (*upload, error) {
	if err := receive.CheckTarget(u.root, local, local, overwrite); err != nil {
		_ = u.removeLeft(local, version) // the first error is reported
		return nil, err
	}
	u.mu.Lock()
	switch up := u.open[local]; {
	case up != nil && up.version == version:
		up.hold(conn)
		return u.enter(conn, local, up)
	case up != nil:
		err := u.supersede(ctx, conn, local, up)
		u.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return u.begin(ctx, conn, local, version, overwrite) // its client may have completed the file
	}
	switch {
	case u.closed:
		u.mu.Unlock()
		return nil, errClosed
	case !u.places.tryTake(conn.peer):
		u.mu.Unlock()
		return nil, refused("too many uploads")
	}
	up := &upload{lease: lease{peer: conn.peer}, version: version, ready: make(chan struct{})}
	up.hold(conn)
	up.use(conn)
	u.open[local] = up
	publisher := u.publisher
	u.mu.Unlock()

	up.File, up.err = receive.Open(u.root, publisher, local, version, true)
	if up.err == nil {
		up.err = up.confirm(ctx, conn)
	}
	close(up.ready)
	if up.err != nil {
		u.end(local, up)
	}
	return up, up.err
}

// confirm reads what an earlier upload of the file has left.
func (u *upload) confirm(ctx context.Context, conn *peerConn) error {
	if !u.IsUnread() {
		return nil
	}
	memory, err := conn.blocks.get(ctx)
	if err == nil {
		err = u.Confirm(ctx, memory.Bytes())
		memory.Free()
	}
	if err != nil {
		return errors.Join(err, u.Close())
	}
	return nil
}

// isLeft reports whether no call of its client can follow, unless the client on conn makes it. mu of uploads is held.
func (u *upload) isLeft(conn *peerConn) bool {
	return u.users == 0 && (u.isGone() || slices.Contains(u.conns, conn))
}

// supersede ends an upload of another version for a call on conn, or fails if its client is sending. Only waiting shows
// whether it is: a client uses the upload only for the time of a call, and a connection can fail silently. mu is held
// on entry and return, and released while it waits.
func (u *uploads) supersede(ctx context.Context, conn *peerConn, local string, up *upload) error {
	// Data in transit can arrive during the first of two waits.
	for last, silent := false, false; !up.isLeft(conn) && !silent; last = true {
		before := up.received()
		u.mu.Unlock()
		select {
		case <-time.After(u.silence):
		case <-ctx.Done():
		}
		u.mu.Lock()
		silent = up.received() == before
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case u.open[local] != up:
			return nil
		case !up.isLeft(conn) && !silent && last:
			return refused("another upload to this name is under way")
		}
	}
	u.forget(local)
	u.mu.Unlock()
	defer u.mu.Lock()
	<-up.ready
	if up.err != nil {
		return nil
	}
	return up.Close()
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
	switch {
	case u.open[local] != up || up.users > 0:
	case up.err != nil:
		u.forget(local)
	case up.Failed():
		_ = up.Close() // its users have the error; the next upload resumes from the journal
		u.forget(local)
	}
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
	u.forget(local)
	up.Overwrite = overwrite
	return up, nil
}

// abandon ends the use of an upload by a client that makes no call for it. If another one has begun it too, it goes on.
func (u *uploads) abandon(conn *peerConn, local string, version fileservice.Version, discard bool) error {
	u.mu.Lock()
	up := u.open[local]
	if up == nil {
		u.mu.Unlock()
		return u.removeLeft(local, version)
	}
	if up.version == version {
		up.release(conn)
	}
	if up.version != version || up.users > 0 || len(up.holders) > 0 {
		u.mu.Unlock()
		return nil
	}
	u.forget(local)
	u.mu.Unlock()
	if discard {
		return up.Discard()
	}
	return up.Close()
}

// removeLeft removes what an upload has left, if the file is present in this version.
func (u *uploads) removeLeft(local string, version fileservice.Version) error {
	info, err := u.root.Lstat(local)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || !fileservice.IsSame(info, version):
		return err
	}
	return receive.RemoveLeft(u.root, local)
}

// close closes all uploads, after the last call.
func (u *uploads) close() error {
	err := u.closeAll()
	u.mu.Lock()
	publisher := u.publisher
	u.publisher = nil
	u.mu.Unlock()
	if publisher != nil {
		err = errors.Join(err, publisher.Close())
	}
	return err
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
