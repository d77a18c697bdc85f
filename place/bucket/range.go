package bucket

import (
	"fmt"
	"strings"

	"culvert/place"
)

// markKey is the metadata in which each object has a random mark of the upload that made it. It shows whether a request
// of which the answer was lost has made the object.
const markKey = "culvertupload"

// timeKey is the metadata in which an object has the time of the file that it is a copy of.
const timeKey = "culverttime"

// Stores write an ETag with quotation marks, except in some listings. A version has none.

func unquoted(tag string) string { return strings.Trim(tag, `"`) }

func quoted(version string) string {
	if strings.HasPrefix(version, "W/") {
		return version + `"`
	}
	return `"` + version + `"`
}

// check compares what the headers of an answer say with what was asked for.
func (a rangeAnswer) check(version string, off, n int64) error {
	if a.version != version {
		return place.ErrChanged
	}
	if want := fmt.Sprintf("bytes %d-%d/", off, off+n-1); !strings.HasPrefix(a.contentRange, want) {
		return fmt.Errorf("%w: the store has sent another range", place.ErrIntegrity)
	}
	return nil
}

// rangeHeader asks for n bytes at off.
func rangeHeader(off, n int64) string { return fmt.Sprintf("bytes=%d-%d", off, off+n-1) }
