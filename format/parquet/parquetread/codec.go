package parquetread

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"

	"culvert/format/internal/lz4"
	"culvert/internal/compress"
)

// codec is how pages are compressed, by the numbers of the specification.
type codec int

const (
	uncompressed codec = 0
	snappyCodec  codec = 1
	gzipCodec    codec = 2
	zstdCodec    codec = 6
	lz4Codec     codec = 7
)

var codecs = [...]string{"none", "snappy", "gzip", "lzo", "brotli", "hadoop-lz4", "zstd", "lz4"}

func (c codec) String() string {
	if c >= 0 && int(c) < len(codecs) {
		return codecs[c]
	}
	return fmt.Sprintf("codec %d", int(c))
}

// check fails if pages are compressed in a way that is not read.
func (c codec) check() error {
	switch c {
	case uncompressed, snappyCodec, gzipCodec, zstdCodec, lz4Codec:
		return nil
	default:
		return fmt.Errorf("it is compressed by %v, which is not read; write it with zstd or snappy", c)
	}
}

// ratio is how many times its size a page can become at most. It keeps a header that lies from taking more memory than
// the page can fill.
func (c codec) ratio() int64 {
	switch c {
	case snappyCodec:
		return 32 // copies of 64 bytes take 3, with 2 of offset
	case gzipCodec:
		return 1100 // of RFC 1951: 258 bytes in 2 bits
	case zstdCodec:
		return 64 << 10 // a block of 128 KiB takes 4 bytes
	case lz4Codec:
		return lz4.Ratio
	default:
		return 1
	}
}

// slack is what a page may have beyond that ratio.
const slack = 1 << 10

var errPacked = errors.New("a page does not decompress to its size")

// unpack decompresses a page into buf, which has room for size bytes and the slack of zstd.
func (f *file) unpack(c codec, buf, packed []byte, size int) ([]byte, error) {
	text := buf[:size]
	switch c {
	case snappyCodec:
		n, err := snappy.DecodedLen(packed)
		if err != nil || n != size {
			return nil, errPacked
		}
		if text, err = snappy.Decode(text, packed); err != nil {
			return nil, errPacked
		}
		return text, nil
	case gzipCodec:
		return text, gunzip(text, packed)
	case zstdCodec:
		text, err := f.zstd.Decode(buf, packed, int64(size))
		if err != nil {
			return nil, errPacked
		}
		return text, nil
	case lz4Codec:
		if !lz4.Block(text, packed) {
			return nil, errPacked
		}
		return text, nil
	default:
		if len(packed) != size {
			return nil, errPacked
		}
		copy(text, packed)
		return text, nil
	}
}

// gunzip fills text, of which nothing must be left.
func gunzip(text, packed []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return errPacked
	}
	if _, err := io.ReadFull(r, text); err != nil {
		return errPacked
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || err != io.EOF {
		return errPacked
	}
	return nil
}

// frameBuffer is how much room unpack needs for a page.
func frameBuffer(size int) int { return int(compress.FrameBuffer(int64(size))) }
