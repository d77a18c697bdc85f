package agefile

import (
	"bufio"
	"io"
)

// PayloadWriter, PayloadReader and PayloadReaderAt skip the header, so that tests can choose the key.

func PayloadWriter(dst io.Writer, key []byte, workers int) (*Writer, error) {
	return Config{Workers: workers}.newPayloadWriter(dst, key)
}

func PayloadReader(src io.Reader, key []byte, workers int) (*Reader, error) {
	s := newSource(src)
	return Config{Workers: workers}.newPayloadReader(s, bufio.NewReader(s), key)
}

// Rewind simulates a fault that seals two spans under the same numbers.
func (w *Writer) Rewind() { w.next -= spanChunks }

func PayloadReaderAt(src io.ReaderAt, sealed int64, key []byte, workers int) (*ReaderAt, error) {
	return Config{Workers: workers}.newPayloadReaderAt(src, 0, sealed, key)
}

func PayloadKey(fileKey, nonce []byte) ([]byte, error) { return payloadKey(fileKey, nonce) }

// WaitFetched waits until a closed Reader is done with its source.
func WaitFetched(r *Reader) { <-r.fetched }
