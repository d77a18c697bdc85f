package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"culvert/internal/disk"
)

// embedded is a NATS server within this process.
type embedded struct {
	server    *server.Server
	dir       disk.LogDir
	lock      disk.Lock
	temporary string // directory, or ""
}

// embed starts a server. It returns when the server has read its data. The lock keeps a second server out, which would
// damage the data.
func embed(directory string) (e *embedded, err error) {
	e = &embedded{}
	if directory == "" {
		removeStale()
		directory, err = os.MkdirTemp("", temporaryPrefix)
		e.temporary = directory
	} else {
		err = os.MkdirAll(directory, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if e.dir, err = (disk.OS{}).OpenLogDir(directory); err != nil {
		return nil, errors.Join(fmt.Errorf("queue: %w", err), e.clear())
	}
	if e.lock, err = e.dir.Lock("lock"); err != nil {
		return nil, errors.Join(fmt.Errorf("queue: %s: %w", directory, err), e.dir.Close(),
			e.clear())
	}
	e.server, err = server.NewServer(&server.Options{
		ServerName: "culvert", DontListen: true, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: directory, SyncAlways: e.temporary == "", DisableJetStreamBanner: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 40,
	})
	if err != nil {
		e.stop()
		return nil, fmt.Errorf("queue: %w", err)
	}
	e.server.Start()
	const patience = time.Minute // reading the data of 100,000 tasks takes a second
	if !e.server.ReadyForConnections(patience) || !e.server.JetStreamEnabled() {
		e.stop()
		return nil, fmt.Errorf("queue: the NATS server in %s does not start: is there room, and may it write there?",
			directory)
	}
	return e, nil
}

const temporaryPrefix = "culvert-queue-"

// removeStale removes the data of processes that were killed: directories that have a lock, which nobody holds. Errors
// are those of other users, or of processes that do the same.
func removeStale() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*"))
	for _, directory := range left {
		info, err := os.Lstat(filepath.Join(directory, "lock"))
		if err != nil || time.Since(info.ModTime()) < time.Hour { // one may be about to be locked
			continue
		}
		dir, err := (disk.OS{}).OpenLogDir(directory)
		if err != nil {
			continue
		}
		if lock, err := dir.Lock("lock"); err == nil {
			_ = os.RemoveAll(directory)
			_ = lock.Close()
		}
		_ = dir.Close()
	}
}

func (e *embedded) stop() {
	if e == nil {
		return
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	_, _ = e.lock.Close(), e.dir.Close() // nothing was written through them
	_ = e.clear()                        // nobody needs what is left
}

// clear removes the data, if they are temporary.
func (e *embedded) clear() error {
	if e.temporary == "" {
		return nil
	}
	return os.RemoveAll(e.temporary)
}
