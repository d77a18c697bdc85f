package durable

import "os"

// writebackSize is how much may be written before the disk is asked to begin. It is what a disk of 400 MB/s writes in
// 20 milliseconds, so that little is left to wait for at the end.
const writebackSize = 8 << 20

// Writer writes a file from its beginning. It lets the system write to the disk while the file grows, so that a Sync at
// the end has not everything still to do.
type Writer struct {
	*os.File
	written, begun int64
}

func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	w.written += int64(n)
	if w.written-w.begun >= writebackSize {
		beginWriteback(w.File, w.begun, w.written-w.begun)
		w.begun = w.written
	}
	return n, err
}
