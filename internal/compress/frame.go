package compress

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// frameSlack is the room behind the text that lets the decoder copy in large steps.
const frameSlack = 32

// errTextSize says that a frame does not hold what its seek table says.
var errTextSize = errors.New("a frame does not have the size that the seek table gives")

// FrameDecoder decodes single frames of a zstd stream, those that a [SeekTable] lists. It is safe for concurrent use.
type FrameDecoder struct{ zstd *zstd.Decoder }

// NewFrameDecoder gives a decoder for so many frames at once; further calls wait. It holds nothing that would have to
// be closed.
func NewFrameDecoder(workers int) *FrameDecoder {
	return &FrameDecoder{newFrameDecoder(max(1, workers))}
}

func newFrameDecoder(workers int) *zstd.Decoder {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(workers),
		zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecodeAllCapLimit(true),
	)
	if err != nil {
		panic("compress: " + err.Error()) // the options are constants
	}
	return d
}

// FrameBuffer is how much room [FrameDecoder.Decode] needs for a text of so many bytes.
func FrameBuffer(textSize int64) int64 { return textSize + frameSlack }

// Decode decodes a frame into the memory of buf, which must have a capacity of [FrameBuffer], and takes no other for
// the text. The frame must hold just textSize bytes, or else the error wraps [ErrCorrupt]. It may consist of several,
// and of ones that decoders skip.
func (d *FrameDecoder) Decode(buf, frame []byte, textSize int64) ([]byte, error) {
	if d.zstd == nil {
		return nil, errNotMade
	}
	if int64(cap(buf)) < FrameBuffer(textSize) {
		return nil, fmt.Errorf("compress: a buffer of %d bytes for a frame of %d", cap(buf), textSize)
	}
	text, err := d.zstd.DecodeAll(frame, buf[:0:FrameBuffer(textSize)])
	if err != nil {
		return nil, corrupt(Zstd, err)
	}
	if int64(len(text)) != textSize {
		return nil, corrupt(Zstd, errTextSize)
	}
	return text, nil
}
