//go:build !linux

package disk

import (
	"io"
	"os"
)

// NextData gives all of a file from an offset on. It moves the offset of the file.
func NextData(file *os.File, offset int64) (start, end int64, err error) {
	end, err = file.Seek(0, io.SeekEnd)
	return offset, max(offset, end), err
}
