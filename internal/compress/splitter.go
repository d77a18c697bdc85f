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

// maxWindow bounds the memory that a stream may request. It is the zstd program's limit without --long.
const maxWindow = 128 << 20

// splitter finds the borders of the frames of a zstd stream. Its Read returns the bytes of one frame, and io.EOF at the
// end of the frame. It parses the headers of frames and blocks, and leaves the content of blocks to a decoder.
type splitter struct {
	src    *bufio.Reader
	header zstd.Header // of the current frame

	state splitState
	left  int64 // unread bytes of the current part
	size  int64 // bytes of the frame that have been read
	bound int64 // upper bound of the text in the blocks read so far
}

type splitState uint8

const (
	atBlock    splitState = iota // a block header follows the current part
	atChecksum                   // the checksum follows the current part
	atEnd                        // the frame ends with the current part
)

// next advances to the next frame. The current one must have been read to its end. At the end of the stream, next
// returns io.EOF.
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

// Read reads the current frame, up to io.EOF. A stream that ends earlier is corrupt.
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

// nextPart makes the next block with its header, or the checksum, the current part.
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

// textBound returns an upper bound of the text in the blocks read so far.
func (s *splitter) textBound() int64 {
	if s.header.HasFCS {
		return int64(min(s.header.FrameContentSize, 1<<62))
	}
	return s.bound
}
