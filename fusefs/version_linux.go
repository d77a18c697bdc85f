package fusefs

import "syscall"

// statVersion is what only the system sets: a file that is replaced or written to by somebody who then sets the old
// time again is another version.
type statVersion struct {
	device, inode    uint64
	seconds, nanosec int64
}

func systemVersion(sys any) (any, bool) {
	s, is := sys.(*syscall.Stat_t)
	if !is {
		return nil, false
	}
	return statVersion{s.Dev, s.Ino, int64(s.Ctim.Sec), int64(s.Ctim.Nsec)}, true //nolint:unconvert // 32 bits on some
}

func systemInode(sys any) uint64 {
	if s, is := sys.(*syscall.Stat_t); is {
		return s.Ino
	}
	return 0
}
