package fusefs

import (
	"io/fs"
	"reflect"
	"syscall"
)

// version identifies a state of a file. Versions are compared with ==.
type version struct {
	size    int64
	seconds int64 // of the modification time
	nanos   int
	system  any // comparable information of the file system, or nil
}

func versionOf(info fs.FileInfo) version {
	changed := info.ModTime()
	v := version{size: info.Size(), seconds: changed.Unix(), nanos: changed.Nanosecond()}
	sys := info.Sys()
	if sys == nil {
		return v
	}
	if s, is := sys.(*syscall.Stat_t); is {
		seconds, nanosec := int64(s.Ctim.Sec), int64(s.Ctim.Nsec) //nolint:unconvert // 32 bits on some systems
		v.system = statVersion{s.Dev, s.Ino, seconds, nanosec}
		return v
	}
	// A pointer identifies the FileInfo, not the file.
	if value := reflect.ValueOf(sys); value.Kind() != reflect.Pointer && value.Comparable() {
		v.system = sys
	}
	return v
}

// statVersion has what only the system sets, so a file that is replaced or written to is another version even if its
// modification time is reset.
type statVersion struct {
	device, inode    uint64
	seconds, nanosec int64
}
