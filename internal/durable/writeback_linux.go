package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWriteback asks the system to begin to write a part of a file to the disk (sync_file_range(2)). It is a hint: its
// failure, and that of the disk, will be told by Sync.
func beginWriteback(f *os.File, off, n int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), off, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}
