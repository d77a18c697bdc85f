package arrowread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"culvert/format/internal/lz4"
	"culvert/internal/compress"
)

// codec is how the buffers of a message are compressed.
type codec uint8

const (
	uncompressed codec = iota
	lz4Codec
	zstdCodec
)

var codecNames = [...][]string{{"none"}, {"lz4"}, {"zstd"}}

// codecOf returns how the buffers of a RecordBatch are compressed.
func codecOf(t table) (codec, error) {
	compression, is := t.table(3)
	if !is {
		return uncompressed, nil
	}
	number, method := compression.u8(0), compression.u8(1)
	if method != 0 || number > 1 {
		return 0, fmt.Errorf("it is compressed by the codec %d, which is not read", number)
	}
	return lz4Codec + codec(number), nil
}

// ratio is how many times its size a buffer can become at most. It keeps a size that lies from taking more memory than
// the buffer can fill.
func (c codec) ratio() int64 {
	if c == lz4Codec {
		return lz4.Ratio
	}
	return 64 << 10 // a block of 128 KiB takes 4 bytes
}

var errPacked = errors.New("a buffer does not decompress to its size")

// sizeBefore is the size of a buffer, which is before it if it is compressed.
const sizeBefore = 8

// textSize returns how many bytes a compressed buffer becomes, or -1 if it is as it was.
func (c codec) textSize(packed []byte) (int64, error) {
	if len(packed) == 0 {
		return 0, nil
	}
	if len(packed) < sizeBefore {
		return 0, errPacked
	}
	size := int64(binary.LittleEndian.Uint64(packed))
	if most := int64(len(packed)) * c.ratio(); size < -1 || size > most || size > math.MaxInt {
		return 0, errPacked
	}
	return size, nil
}

// unpack decompresses a buffer into text, which has its size, and in its capacity the room that zstd needs.
func (f *file) unpack(c codec, text, packed []byte) error {
	packed = packed[min(sizeBefore, len(packed)):]
	switch {
	case len(text) == 0:
	case c == lz4Codec:
		if !lz4.Frame(text, packed) {
			return errPacked
		}
	default:
		if _, err := f.zstd.Decode(text[:0], packed, int64(len(text))); err != nil {
			return errPacked
		}
	}
	return nil
}

// room is how many bytes unpack needs for a text.
func room(size int64) int64 { return compress.FrameBuffer(size) }
