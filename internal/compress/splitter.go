package compress

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// The limits of the Zstandard format (RFC 8878, section 3.1.1.2).
const (
	blockHeaderSize = 3
	maxBlockSize    = 128 << 10
	zstdCRCSize     = 4
)

// maxWindow bounds the memory that a stream may ask for, as the zstd program does without its option --long.
const maxWindow = 128 << 20

// splitter finds the borders of the frames of a zstd stream. It reads the headers of frames and of blocks, and leaves
// the blocks to a decoder: it is a reader of the bytes of one frame, which ends where the frame ends.
type splitter struct {
	src    *bufio.Reader
	header zstd.Header // of the current frame

	state splitState
	left  int64 // bytes of the current part that are still to be read
	size  int64 // bytes of the frame that have been read
	bound int64 // no more text than this is in the blocks read so far
}

type splitState uint8

const (
	atBlock    splitState = iota // a block header comes after the bytes left
	atChecksum                   // the checksum comes after the bytes left
	atEnd                        // the frame ends after the bytes left
)

// next goes to the next frame; the current one must have been read to its end. It returns io.EOF where the stream ends.
func (s *splitter) next() error {
	head, err := s.src.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return err
	}
	if len(head) == 0 {
		return io.EOF
	}
	if err := s.header.Decode(head); err != nil {
		return corrupt(Zstd, err)
	}
	if s.header.DictionaryID != 0 {
		return fmt.Errorf("compress: zstd: the stream needs dictionary %d", s.header.DictionaryID)
	}
	window := s.header.WindowSize
	if s.header.SingleSegment {
		window = s.header.FrameContentSize
	}
	if window > maxWindow {
		return fmt.Errorf("compress: zstd: the stream needs a window of %d MiB, more than the %d MiB allowed",
			window>>20, maxWindow>>20)
	}
	s.state, s.left, s.size, s.bound = atBlock, int64(s.header.HeaderSize), 0, 0
	if s.header.Skippable {
		s.state, s.left = atEnd, s.left+int64(s.header.SkippableSize)
	}
	return nil
}

// Read gives bytes of the current frame, and io.EOF at its end. A stream that ends before is corrupt.
func (s *splitter) Read(p []byte) (int, error) {
	if s.left == 0 {
		if s.state == atEnd {
			return 0, io.EOF
		}
		if err := s.nextPart(); err != nil {
			return 0, err
		}
	}
	n, err := s.src.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	s.size += int64(n)
	if err == io.EOF {
		err = corrupt(Zstd, io.ErrUnexpectedEOF)
	}
	return n, err
}

// nextPart finds how many bytes the next block takes, with its header, or the checksum.
func (s *splitter) nextPart() error {
	if s.state == atChecksum {
		s.state, s.left = atEnd, zstdCRCSize
		return nil
	}
	head, err := s.src.Peek(blockHeaderSize)
	if len(head) < blockHeaderSize {
		if err == io.EOF {
			return corrupt(Zstd, io.ErrUnexpectedEOF)
		}
		return err
	}
	const (
		raw = iota
		rle
		compressed
	)
	h := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
	last, kind, size := h&1 != 0, h>>1&3, int64(h>>3)
	if size > maxBlockSize {
		return corrupt(Zstd, zstd.ErrCompressedSizeTooBig)
	}
	switch kind {
	case raw:
		s.bound += size
		s.left = blockHeaderSize + size
	case rle:
		s.bound += size
		s.left = blockHeaderSize + 1
	case compressed:
		s.bound += maxBlockSize
		s.left = blockHeaderSize + size
	default:
		return corrupt(Zstd, zstd.ErrReservedBlockType)
	}
	if last {
		s.state = atEnd
		if s.header.HasCheckSum {
			s.state = atChecksum
		}
	}
	return nil
}

// textBound is the most text that the blocks read so far can hold.
func (s *splitter) textBound() int64 {
	if s.header.HasFCS {
		return int64(min(s.header.FrameContentSize, 1<<62))
	}
	return s.bound
}
