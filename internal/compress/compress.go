// Package compress turns text into frames that do not depend on each other, and back.
//
// Each piece of text, about 1 MiB of whole rows, becomes a frame of its own: a zstd frame, or a gzip member. Frames can
// be made by as many goroutines as there are cores, and written one behind the other they are a stream that stock zstd
// and gunzip read:
//
//	zstd   ┌───────┬───────┬─────┬───────┬────────────┐      gzip   ┌────────┬────────┬─────┬────────┐
//	       │ frame │ frame │  …  │ frame │ seek table │             │ member │ member │  …  │ member │
//	       └───────┴───────┴─────┴───────┴────────────┘             └────────┴────────┴─────┴────────┘
//
// An [Encoder] makes the frames. A [Trailer] keeps account of those that were written and ends the stream: with the
// seek table, and so that the stream of an empty text is valid as well. A [Reader] finds out how its source is
// compressed and gives back the text, from these streams and from what the zstd and gzip programs make, unless that
// takes a dictionary or a window above 128 MiB.
//
// # Seek table
//
// The table is the last frame of a zstd stream, of the kind that decoders skip. It is laid out by the Zstandard
// Seekable Format 0.1.0 (facebook/zstd, contrib/seekable_format/zstd_seekable_compression_format.md). All numbers are
// little-endian:
//
//	┌────────────┬────────┬──────────────────────────────────┬────────┬────────────┬────────────┐
//	│ 0x184D2A5E │ length │ compressed size, size of text, … │ frames │ descriptor │ 0x8F92EAB1 │
//	└────────────┴────────┴──────────────────────────────────┴────────┴────────────┴────────────┘
//	   4 bytes       4               4 + 4, per frame            4          1             4
//
// Of the descriptor, bit 7 says that each frame also has a checksum of 4 bytes; bits 2 to 6 must be 0. We write none,
// since each zstd frame ends with the same checksum.
//
// # Memory
//
// An Encoder holds for each worker a compressor of 3 to 5 MiB for zstd, 1 to 2 MiB for gzip. A Trailer is the one thing
// that grows with the input: by 8 bytes per frame, which is 8 MB for a terabyte of text in frames of 1 MiB. It stops
// growing at 32 MiB, which is four million frames; a longer stream is written without a table. A Reader holds W+2
// frames on W cores, at most 10, each with up to 4 MiB of text and 4 MiB compressed (of our own frames a third of
// that), and for a larger frame the window that it asks for, up to 128 MiB as stock zstd.
package compress

import (
	"fmt"
	"runtime"

	"github.com/klauspost/compress/zstd"
)

// Codec is a way to compress.
type Codec uint8

// The codecs.
const (
	Zstd Codec = iota
	Gzip
	None
)

// String gives the name of the codec, as its program is called, or none.
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

// Extension gives the usual end of file names, with its dot, or nothing for None.
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

// zstdLevel compresses a little better than zstd -3, its program's default. On 78 MB of CSV with numbers, words, times
// and JSON in frames of 1 MiB, on one core of a Xeon guest (the programs take the file as a whole):
//
//	klauspost fastest   ratio 3.26   250 MB/s       zstd -1   ratio 3.33   318 MB/s
//	klauspost default   ratio 3.42   165 MB/s       zstd -3   ratio 3.39   208 MB/s
//	klauspost better    ratio 3.55   120 MB/s
//
// Two cores of the default level keep up with one connection of a database, so that the faster level would save cores,
// but no time. With several connections it saves time.
const (
	zstdLevel     = zstd.SpeedDefault
	zstdFastLevel = zstd.SpeedFastest
)

// zstdWindow is the size of a usual frame: a larger one finds nothing more. Decoders of a huge frame need as much
// memory.
const zstdWindow = 1 << 20

// Encoder makes frames. It is safe for concurrent use; calls beyond its number of workers wait for each other.
type Encoder struct {
	codec Codec
	zstd  *zstd.Encoder
	gzip  chan *gzipEncoder
}

// NewEncoder gives an encoder for so many calls at once; 0 is the number of cores. It allocates when it is first used,
// and holds nothing that would have to be closed.
func NewEncoder(codec Codec, workers int) *Encoder { return newEncoder(codec, workers, zstdLevel) }

// NewFastEncoder is NewEncoder for text that comes faster than several cores compress it. With Zstd it takes a third
// less time, and makes frames that are a few percent larger; with Gzip it is the same.
func NewFastEncoder(codec Codec, workers int) *Encoder {
	return newEncoder(codec, workers, zstdFastLevel)
}

func newEncoder(codec Codec, workers int, level zstd.EncoderLevel) *Encoder {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	e := &Encoder{codec: codec}
	switch codec {
	case Zstd:
		z, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(level),
			zstd.WithWindowSize(zstdWindow),
			zstd.WithEncoderConcurrency(workers),
			zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderCRC(true),
			zstd.WithZeroFrames(true),
		)
		if err != nil {
			panic("compress: " + err.Error()) // the options are constants
		}
		e.zstd = z
	case Gzip:
		e.gzip = make(chan *gzipEncoder, workers)
		for range workers {
			e.gzip <- new(gzipEncoder)
		}
	case None:
	default:
		panic("compress: unknown " + codec.String())
	}
	return e
}

// AppendFrame compresses text and appends the frame to dst. An empty text makes an empty frame. The two must not
// overlap.
//
// It does not allocate once each worker has been used, if dst has room for the frame.
func (e *Encoder) AppendFrame(dst, text []byte) []byte {
	switch e.codec {
	case Zstd:
		return e.zstd.EncodeAll(text, dst)
	case Gzip:
		g := <-e.gzip
		dst = g.append(dst, text)
		e.gzip <- g
		return dst
	default:
		return append(dst, text...)
	}
}
