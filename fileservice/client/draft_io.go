package client

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
)

// WriteAt implements io.WriterAt. It does not retain p.
func (f *WritableFile) WriteAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writeAt(p, offset)
}

// TryWriteAt is WriteAt if that need not wait for another call or for the connection. Otherwise it returns false and
// writes nothing.
func (f *WritableFile) TryWriteAt(p []byte, offset int64) bool {
	if !f.mu.TryLock() {
		return false
	}
	defer f.mu.Unlock()
	if !f.writer.hasRoom(len(p), offset) {
		return false
	}
	_, err := f.writeAt(p, offset)
	return err == nil
}

func (f *WritableFile) writeAt(p []byte, offset int64) (int, error) {
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	if offset < 0 || offset > fileservice.MaxFileSize-int64(len(p)) {
		return 0, f.fault("write", fs.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil
	}
	f.changed = time.Now()
	if err := f.writer.write(p, offset); err != nil {
		return 0, f.fail(err)
	}
	f.size = max(f.size, offset+int64(len(p)))
	return len(p), nil
}

// Write writes at the current offset, or with os.O_APPEND at the end.
func (f *WritableFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.append {
		f.offset = f.size
	}
	n, err := f.writeAt(p, f.offset)
	f.offset += int64(n)
	return n, err
}

// Seek sets the offset of Read and Write.
func (f *WritableFile) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, f.fault("seek", fs.ErrClosed)
	}
	offset, err := seek(f.offset, f.size, offset, whence)
	if err != nil {
		return 0, f.fault("seek", err)
	}
	f.offset = offset
	return offset, nil
}

// Read reads at the current offset, and sees everything written.
func (f *WritableFile) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.readAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt, and sees everything written.
func (f *WritableFile) ReadAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readAt(p, offset)
}

func (f *WritableFile) readAt(p []byte, offset int64) (int, error) {
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	if offset < 0 {
		return 0, f.fault("read", fs.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil
	}
	left := f.size - offset
	if left <= 0 {
		return 0, io.EOF
	}
	if err := f.writer.wait(); err != nil {
		return 0, f.fail(err)
	}
	n := int(min(left, int64(len(p))))
	if err := f.read(p[:n], offset); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// read fills p, which lies within the file.
func (f *WritableFile) read(p []byte, offset int64) error {
	r := exchange.Request{Kind: exchange.GetDraft, Target: string(f.id), Offset: offset}
	err := f.client.readRange(f.ctx, r, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errShort) && !f.draft:
		err = fileservice.ErrChanged // others have shortened it
	}
	return f.fault("read", err)
}
