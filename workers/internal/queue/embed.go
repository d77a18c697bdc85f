package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"culvert/internal/disk"
)

// embedded is a NATS server within this process. Its data are in a temporary directory.
type embedded struct {
	server    *server.Server
	errors    *diskErrors
	directory string
	dir       disk.LogDir
	lock      disk.Lock
}

// embed starts a server. The lock tells its data from those of a process that was killed.
func embed() (e *embedded, err error) {
	removeStale()
	e = &embedded{errors: &diskErrors{}}
	if e.directory, err = os.MkdirTemp("", temporaryPrefix); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if e.dir, err = (disk.OS{}).OpenLogDir(e.directory); err != nil {
		return nil, errors.Join(fmt.Errorf("queue: %w", err), os.RemoveAll(e.directory))
	}
	if e.lock, err = e.dir.Lock("lock"); err != nil {
		return nil, errors.Join(fmt.Errorf("queue: %s: %w", e.directory, err), e.dir.Close(),
			os.RemoveAll(e.directory))
	}
	e.server, err = server.NewServer(&server.Options{
		ServerName: "culvert", DontListen: true, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: e.directory, DisableJetStreamBanner: true,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 40,
	})
	if err != nil {
		e.stop()
		return nil, fmt.Errorf("queue: %w", err)
	}
	e.server.SetLoggerV2(e.errors, false, false, false)
	e.server.Start()
	const patience = time.Minute // a machine may be busy
	if !e.server.ReadyForConnections(patience) || !e.server.JetStreamEnabled() {
		failed := e.failed()
		e.stop()
		return nil, errors.Join(fmt.Errorf("queue: the NATS server in %s does not start: is there room, and may it "+
			"write there?", e.directory), failed)
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
	_ = os.RemoveAll(e.directory)        // nobody needs what is left
}

// failed returns why the server cannot store messages, or nil. A stream that has met an error of the disk stores
// nothing any more and answers nothing, also when there is room again. If there was no room for a new stream, the
// server answers, and does not know whether there is any now.
func (e *embedded) failed() error {
	if e == nil {
		return nil
	}
	err := e.errors.first.Load()
	if err == nil {
		const trial = 64 << 10 // more than the files of a new stream have
		name := filepath.Join(e.directory, "trial")
		trialErr := os.WriteFile(name, make([]byte, trial), 0o600)
		_ = os.Remove(name) // it is written again, or removed at the end
		if trialErr == nil {
			return nil
		}
		err = &trialErr
	}
	return fmt.Errorf("%w in %s: %w", ErrDisk, e.directory, *err)
}

// diskErrors is a logger of a server. It remembers the first error of the disk.
type diskErrors struct{ first atomic.Pointer[error] }

func (d *diskErrors) Errorf(_ string, values ...any) {
	for _, value := range values {
		err, is := value.(error)
		if !is {
			continue
		}
		if _, is := errors.AsType[*fs.PathError](err); is {
			d.first.CompareAndSwap(nil, &err)
		}
	}
}

func (d *diskErrors) Fatalf(format string, values ...any) { d.Errorf(format, values...) }

func (*diskErrors) Noticef(string, ...any) {}
func (*diskErrors) Warnf(string, ...any)   {}
func (*diskErrors) Debugf(string, ...any)  {}
func (*diskErrors) Tracef(string, ...any)  {}
