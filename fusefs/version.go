package fusefs

import (
	"io/fs"
	"reflect"
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
	if s, is := systemVersion(sys); is {
		v.system = s
		return v
	}
	// A pointer says which FileInfo it is, not which file.
	if value := reflect.ValueOf(sys); value.Kind() != reflect.Pointer && value.Comparable() {
		v.system = sys
	}
	return v
}
