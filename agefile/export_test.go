package agefile

import (
	"bufio"
	"io"
)

// PayloadWriter, PayloadReader and PayloadReaderAt leave the header out, so that tests choose the key.

func PayloadWriter(dst io.Writer, key []byte, workers int) (*Writer, error) {
	w := &Writer{workers: workers}
	return w, w.resetPayload(dst, key)
}

func (w *Writer) ResetPayload(dst io.Writer, key []byte) error { return w.resetPayload(dst, key) }

func PayloadReader(src io.Reader, key []byte, workers int) (*Reader, error) {
	r := &Reader{workers: workers}
	return r, r.resetPayload(src, bufio.NewReader(src), key)
}

func PayloadReaderAt(src io.ReaderAt, sealed int64, key []byte, workers int) (*ReaderAt, error) {
	return Config{Workers: workers}.newPayloadReaderAt(src, 0, sealed, key)
}

func PayloadKey(fileKey, nonce []byte) ([]byte, error) { return payloadKey(fileKey, nonce) }
