package fileservice

import (
	"errors"
	"os"
	"sync"
	"time"

	"culvert/internal/disk"
)

// maxUploads is how many uploads may be open at once. Each has a few descriptors.
const maxUploads = 256

// uploads are the files that clients are sending, by their paths. A client may make several calls for one of them, on
// several connections, and come back after its connection broke; so an upload stays open for a while when nobody uses
// it.
type uploads struct {
	root      *os.Root
	publisher *disk.Publisher
	idle      time.Duration

	mu     sync.Mutex
	closed bool
	open   map[string]*upload
}

// upload is one of them. All but the receiver is guarded by the lock of uploads.
type upload struct {
	*receiver
	version Version
	users   int
	timer   *time.Timer // closes it; runs while nobody uses it
	err     error       // of the opening, once ready is closed
	ready   chan struct{}
}

// begin opens an upload, or joins in it.
func (u *uploads) begin(local string, version Version, overwrite bool) (*upload, error) {
	u.mu.Lock()
	if up := u.open[local]; up != nil {
		switch {
		case up.version == version:
			up.use()
			u.mu.Unlock()
			<-up.ready
			if up.err != nil {
				u.end(local, up)
			}
			return up, up.err
		case up.users > 0:
			u.mu.Unlock()
			return nil, refused("another upload to this name is under way")
		}
		up.timer.Stop()
		delete(u.open, local)
		u.mu.Unlock()
		if err := up.Close(); err != nil {
			return nil, err
		}
		u.mu.Lock()
	}
	switch {
	case u.closed:
		u.mu.Unlock()
		return nil, errClosed
	case u.open[local] != nil:
		u.mu.Unlock()
		return nil, refused("another upload to this name is under way")
	case len(u.open) >= maxUploads:
		u.mu.Unlock()
		return nil, refused("too many uploads")
	}
	up := &upload{version: version, users: 1, ready: make(chan struct{})}
	u.open[local] = up
	publisher := u.publisher
	u.mu.Unlock()

	up.receiver, up.err = openReceiver(u.root, publisher, local, version, overwrite)
	close(up.ready)
	if up.err != nil {
		u.end(local, up)
	}
	return up, up.err
}

func (u *upload) use() {
	u.users++
	if u.timer != nil {
		u.timer.Stop()
	}
}

// join gives an upload that has begun.
func (u *uploads) join(local string, version Version) (*upload, error) {
	u.mu.Lock()
	up := u.open[local]
	if up == nil || up.version != version {
		u.mu.Unlock()
		return nil, refused("there is no such upload; it has to begin again")
	}
	up.use()
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
	if u.open[local] != up || up.users > 0 {
		return
	}
	if up.err != nil {
		delete(u.open, local)
		return
	}
	if up.failed() {
		_ = up.Close() // whoever used it has been told; the next one begins where the journal ends
		delete(u.open, local)
		return
	}
	up.timer = time.AfterFunc(u.idle, func() { _ = u.close(local, up) }) // what it had committed stays
}

// close closes an upload that nobody uses.
func (u *uploads) close(local string, up *upload) error {
	u.mu.Lock()
	if u.open[local] != up || up.users > 0 {
		u.mu.Unlock()
		return nil
	}
	delete(u.open, local)
	u.mu.Unlock()
	return up.Close()
}

// take gives an upload to the one who finishes it. Nobody joins in it any more, and those who did can only send blocks
// that are there, as one does whose connection has broken without the server knowing.
func (u *uploads) take(local string, version Version) (*upload, error) {
	up, err := u.join(local, version)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open[local] != up {
		up.users--
		return nil, refused("somebody else finishes this upload")
	}
	delete(u.open, local)
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
