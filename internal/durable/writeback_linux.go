package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWriteback asks the system to begin to write a part of a file to the disk (sync_file_range(2)), and to forget
// what is there of the part before, at least as large, which the disk should have by now (posix_fadvise(2)). A large
// file that goes elsewhere then neither takes the memory in which a database keeps its tables, nor the time to find
// more and more of it. Both are hints: a failure, also of the disk, will be told by Sync.
func beginWriteback(f *os.File, off, n int64) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), off, n, unix.SYNC_FILE_RANGE_WRITE)
		if before := off - n; before > 0 {
			_ = unix.Fadvise(int(fd), 0, before, unix.FADV_DONTNEED)
		}
	})
}
