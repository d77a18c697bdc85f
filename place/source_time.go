package place

import (
	"io/fs"
	"time"
)

// SetSourceTime tells a file under construction when the file that it is a copy of was modified. It is called before
// the first Write. It does nothing if the place keeps no such time.
//
// Files that keep it implement a method SetSourceTime(time.Time).
func SetSourceTime(f File, modified time.Time) {
	if keeps, can := f.(interface{ SetSourceTime(time.Time) }); can {
		keeps.SetSourceTime(modified)
	}
}

// SourceTimeOf returns the time that SetSourceTime was told for an open file, or the zero time if the place has none.
//
// Files that have one implement a method SourceTime() time.Time.
func SourceTimeOf(f fs.File) time.Time {
	if has, is := f.(interface{ SourceTime() time.Time }); is {
		return has.SourceTime()
	}
	return time.Time{}
}
