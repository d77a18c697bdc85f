package compress

import "io"

// Trailer keeps account of the frames of one stream and ends it. It is for one goroutine, the one that writes the
// frames in their order.
type Trailer struct {
	codec  Codec
	frames int64
	table  SeekTable
	full   bool
}

// NewTrailer gives the trailer for a stream without frames.
func NewTrailer(codec Codec) *Trailer { return &Trailer{codec: codec} }

// Add counts a frame of so many bytes that was written, and the size of the text in it.
func (t *Trailer) Add(size, textSize int64) {
	t.frames++
	if t.codec != Zstd || t.full {
		return
	}
	if !t.table.add(size, textSize) {
		// What is listed so far is of no use without the rest.
		t.full, t.table = true, SeekTable{}
	}
}

// WriteTo ends the stream. For zstd it writes the seek table, unless a frame, or the number of frames, was larger than
// a table can hold; for gzip an empty member, if there was no other.
func (t *Trailer) WriteTo(w io.Writer) (int64, error) {
	switch {
	case t.codec == Zstd && !t.full:
		return t.table.WriteTo(w)
	case t.codec == Gzip && t.frames == 0:
		n, err := w.Write(new(gzipEncoder).append(nil, nil))
		return int64(n), err
	default:
		return 0, nil
	}
}
