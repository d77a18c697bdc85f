package agefile

import (
	"bufio"
	"io"
)

// PayloadWriter, PayloadReader and PayloadReaderAt leave the header out, so that tests choose the key.

func PayloadWriter(dst io.Writer, key []byte, workers int) (*Writer, error) {
	return Config{Workers: workers}.newPayloadWriter(dst, key)
}

func PayloadReader(src io.Reader, key []byte, workers int) (*Reader, error) {
	s := &source{raw: src}
	return Config{Workers: workers}.newPayloadReader(s, bufio.NewReader(s), key)
}

// Rewind makes the fault that would seal two spans under the same numbers.
func (w *Writer) Rewind() { w.next -= spanChunks }

func PayloadReaderAt(src io.ReaderAt, sealed int64, key []byte, workers int) (*ReaderAt, error) {
	return Config{Workers: workers}.newPayloadReaderAt(src, 0, sealed, key)
}

func PayloadKey(fileKey, nonce []byte) ([]byte, error) { return payloadKey(fileKey, nonce) }

// WaitFetched waits until a closed Reader is done with its source.
func WaitFetched(r *Reader) { <-r.fetched }
