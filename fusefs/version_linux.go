package fusefs

import (
	"io/fs"
	"reflect"
	"syscall"
)

// version tells two states of a file apart. Versions may be compared with ==.
type version struct {
	size    int64
	seconds int64 // when it was changed
	nanos   int
	system  any // what else the file system knows, comparable; nil if it says nothing
}

func versionOf(info fs.FileInfo) version {
	changed := info.ModTime()
	v := version{size: info.Size(), seconds: changed.Unix(), nanos: changed.Nanosecond()}
	sys := info.Sys()
	if sys == nil {
		return v
	}
	if s, is := sys.(*syscall.Stat_t); is {
		v.system = statVersion{s.Dev, s.Ino, int64(s.Ctim.Sec), int64(s.Ctim.Nsec)} //nolint:unconvert // 32 bits on some
		return v
	}
	// A pointer says which FileInfo it is, not which file.
	if value := reflect.ValueOf(sys); value.Kind() != reflect.Pointer && value.Comparable() {
		v.system = sys
	}
	return v
}

// statVersion is what only the system sets: a file that is replaced or written to by somebody who then sets the old
// time again is another version.
type statVersion struct {
	device, inode    uint64
	seconds, nanosec int64
}
