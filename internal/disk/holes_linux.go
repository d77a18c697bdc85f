package disk

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NextData gives where the next data of a file begins, from an offset on, and where it ends. Both are the same at the
// end. A file system that knows no holes gives all of the file. It moves the offset of the file.
func NextData(file *os.File, offset int64) (start, end int64, err error) {
	start, err = file.Seek(offset, unix.SEEK_DATA)
	if errors.Is(err, syscall.ENXIO) {
		return offset, offset, nil
	}
	if errors.Is(err, syscall.EINVAL) {
		end, err = file.Seek(0, io.SeekEnd)
		return offset, max(offset, end), err
	}
	if err != nil {
		return 0, 0, err
	}
	end, err = file.Seek(start, unix.SEEK_HOLE)
	return start, end, err
}
