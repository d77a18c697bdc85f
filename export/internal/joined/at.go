package joined

import (
	"errors"
	"io"
	"io/fs"
	"sort"
	"sync"

	"culvert/manifest"
)

// ReaderAt reads the text of a table at any offset. Its methods may be called concurrently.
type ReaderAt struct {
	table *manifest.Table
	open  func(*manifest.Part) (File, error)
	ends  []int64 // of the parts, in the text

	mu     sync.Mutex
	parts  []*openPart // the last used at the end
	closed bool
}

// File is the text of a part.
type File interface {
	io.ReaderAt
	io.Closer
}

// openPart is a part that is open, or being opened.
type openPart struct {
	number int
	users  int
	once   sync.Once
	file   File // nil if it is not open
	err    error
}

// maxOpenParts bounds the files of a ReaderAt that are open and not being read.
const maxOpenParts = 16

// NewReaderAt reads the parts of a table that open returns. It opens the first one, to find out whether that is
// possible.
func NewReaderAt(t *manifest.Table, open func(*manifest.Part) (File, error)) (*ReaderAt, error) {
	r := &ReaderAt{table: t, open: open}
	end := int64(0)
	for i, part := range t.Parts {
		if end += part.TextBytes; i > 0 {
			end -= t.HeaderBytes
		}
		r.ends = append(r.ends, end)
	}
	first, err := r.hold(0)
	r.release(first)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Size returns the size of the text.
func (r *ReaderAt) Size() int64 { return r.table.TextBytes }

// ReadAt implements [io.ReaderAt].
func (r *ReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	total := 0
	for total < len(p) {
		at := off + int64(total)
		number := sort.Search(len(r.ends), func(i int) bool { return r.ends[i] > at })
		if number == len(r.ends) {
			return total, io.EOF
		}
		most := min(int64(len(p)-total), r.ends[number]-at)
		n, err := r.readPart(number, p[total:total+int(most)], at)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// readPart reads text of one part, from an offset in the text of the table on.
func (r *ReaderAt) readPart(number int, p []byte, at int64) (int, error) {
	part, err := r.hold(number)
	defer r.release(part)
	if err != nil {
		return 0, err
	}
	if number > 0 {
		at += r.table.HeaderBytes - r.ends[number-1]
	}
	n, err := part.file.ReadAt(p, at)
	if n == len(p) {
		err = nil
	} else if err == io.EOF {
		err = io.ErrUnexpectedEOF // a bug: the size was compared
	}
	return n, err
}

// hold returns a part that stays open until it is released.
func (r *ReaderAt) hold(number int) (*openPart, error) {
	part, unused, err := r.take(number)
	if err != nil {
		return part, err
	}
	part.once.Do(func() { part.file, part.err = r.open(&r.table.Parts[number]) })
	if unused != nil && unused.file != nil {
		if err := unused.file.Close(); err != nil {
			return part, err
		}
	}
	return part, part.err
}

// take returns a part, and one to close in its place.
func (r *ReaderAt) take(number int) (part, unused *openPart, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, fs.ErrClosed
	}
	for i, one := range r.parts {
		if one.number == number {
			part = one
			r.parts = append(r.parts[:i], r.parts[i+1:]...)
			break
		}
	}
	if part == nil {
		part = &openPart{number: number}
		for i, one := range r.parts {
			if len(r.parts) >= maxOpenParts && one.users == 0 {
				unused = one
				r.parts = append(r.parts[:i], r.parts[i+1:]...)
				break
			}
		}
	}
	part.users++
	r.parts = append(r.parts, part)
	return part, unused, nil
}

// release ends what hold has begun. A part that could not be opened is tried again by the next reader.
func (r *ReaderAt) release(part *openPart) {
	if part == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	part.users--
	for i, one := range r.parts {
		if one == part && part.err != nil {
			r.parts = append(r.parts[:i], r.parts[i+1:]...)
			break
		}
	}
}

// Close closes all files. Reads under way fail or end before.
func (r *ReaderAt) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fs.ErrClosed
	}
	r.closed = true
	var errs []error
	for _, part := range r.parts {
		part.once.Do(func() { part.err = fs.ErrClosed })
		if part.file != nil {
			errs = append(errs, part.file.Close())
		}
	}
	r.parts = nil
	return errors.Join(errs...)
}
