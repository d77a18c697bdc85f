// Package compress compresses text into independent frames, and decompresses streams.
//
// Each piece of text, about 1 MiB of whole rows, becomes one zstd frame or gzip member. Frames can be made in parallel.
// Written one after the other, they are a stream that zstd and gunzip read:
//
//	zstd   ┌───────┬───────┬─────┬───────┬────────────┐      gzip   ┌────────┬────────┬─────┬────────┐
//	       │ frame │ frame │  …  │ frame │ seek table │             │ member │ member │  …  │ member │
//	       └───────┴───────┴─────┴───────┴────────────┘             └────────┴────────┴─────┴────────┘
//
// An [Encoder] makes the frames. A [Trailer] counts the written frames and ends the stream: it writes the seek table,
// and makes the stream of an empty text valid. A [Reader] detects the compression of its source and decompresses it. It
// reads all streams of the zstd and gzip programs, except those with a dictionary or a window above 128 MiB.
//
// # Seek table
//
// The table is the last frame of a zstd stream, a skippable one. Its format is the Zstandard Seekable Format 0.1.0
// (facebook/zstd, contrib/seekable_format/zstd_seekable_compression_format.md). All numbers are little-endian:
//
//	┌────────────┬────────┬──────────────────────────────────┬────────┬────────────┬────────────┐
//	│ 0x184D2A5E │ length │ compressed size, size of text, … │ frames │ descriptor │ 0x8F92EAB1 │
//	└────────────┴────────┴──────────────────────────────────┴────────┴────────────┴────────────┘
//	   4 bytes       4               4 + 4, per frame            4          1             4
//
// Bit 7 of the descriptor is set if each entry also has a checksum of 4 bytes; bits 2 to 6 must be 0. This package
// writes no checksums, since each zstd frame ends with the same one.
//
// # Memory
//
// An Encoder holds a compressor for each worker: less than 1 MiB for zstd, 1 to 2 MiB for gzip. Only a Trailer grows
// with the input: by 8 bytes per frame, which is 8 MB for a terabyte of text in frames of 1 MiB, up to 32 MiB for four
// million frames. A longer stream is written without a table. A Reader holds W+2 frames on W cores, at most 10, each
// with up to 4 MiB of text and 4 MiB compressed (a third of that for frames of this package), and for a larger frame
// its window, up to 128 MiB as the zstd program.
package compress

import (
	"errors"
	"fmt"
)

// Codec is a compression format.
type Codec uint8

// The codecs.
const (
	Zstd Codec = iota
	Gzip
	None
)

// String returns the name of the codec's program, or "none".
func (c Codec) String() string {
	switch c {
	case Zstd:
		return "zstd"
	case Gzip:
		return "gzip"
	case None:
		return "none"
	}
	return fmt.Sprintf("codec(%d)", uint8(c))
}

// Extension returns the usual file name extension with its dot, or "" for None.
func (c Codec) Extension() string {
	switch c {
	case Zstd:
		return ".zst"
	case Gzip:
		return ".gz"
	default:
		return ""
	}
}

// ErrCorrupt is wrapped by errors about a damaged or truncated stream.
var ErrCorrupt = errors.New("compress: corrupt data")

// corruptError is the error of a decoder about damaged data.
type corruptError struct {
	codec Codec
	cause error
}

func (e *corruptError) Error() string {
	return fmt.Sprintf("compress: corrupt %s data: %s", e.codec, e.cause)
}

func (e *corruptError) Unwrap() []error { return []error{ErrCorrupt, e.cause} }

func corrupt(codec Codec, cause error) error { return &corruptError{codec, cause} }
