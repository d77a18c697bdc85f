package arrow

import (
	"encoding/binary"

	"culvert/source"
)

// A batch with large rows goes to the file in pieces, so it is never in memory as a whole. But the sizes of its
// buffers, compressed, are before them: so it is made twice, at first only for the sizes. The values of a column that
// are as long as they are consist of several zstd frames, which decoders of buffers read as one, as the zstd program
// does.

// frameSize is the most text of such a frame.
const frameSize = 256 << 10

// appendLarge appends the message of a batch in pieces.
func (e *encoder) appendLarge(
	dst []byte, b *source.Batch, s *scratch, size int, next func([]byte) ([]byte, error),
) ([]byte, error) {
	first := body{e: e, s: s, next: func(piece []byte) ([]byte, error) { return piece[:0], nil }}
	if err := first.addColumns(b); err != nil {
		return dst, err
	}
	w := body{e: e, s: s, out: e.appendBatchHeader(dst, s, b.Rows(), first.at), size: size, next: next}
	err := w.addColumns(b)
	return w.out, err
}

// addPieces adds, in pieces, the buffer of the texts of a column. They have size bytes.
func (w *body) addPieces(b *source.Batch, column, size int) error {
	begin := w.at
	if err := w.beginPieces(size); err != nil {
		return err
	}
	piece := w.s.data[:0]
	for row := range b.Rows() {
		_, value := b.AnyValue(row, column) // of NULL, nothing
		for len(value) > 0 {
			n := min(len(value), frameSize-len(piece))
			piece, value = append(piece, value[:n]...), value[n:]
			if len(piece) == frameSize {
				if err := w.addPiece(piece); err != nil {
					return err
				}
				piece = piece[:0]
			}
		}
	}
	w.s.data = piece
	if len(piece) > 0 {
		if err := w.addPiece(piece); err != nil {
			return err
		}
	}
	return w.endBuffer(begin)
}

// addSplit adds a buffer in pieces.
func (w *body) addSplit(data []byte) error {
	begin := w.at
	if err := w.beginPieces(len(data)); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), frameSize)
		if err := w.addPiece(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return w.endBuffer(begin)
}

// beginPieces adds the size that is before a buffer if it is compressed.
func (w *body) beginPieces(size int) error {
	if w.e.codec == nil || size == 0 {
		return nil
	}
	before := len(w.out)
	w.out = binary.LittleEndian.AppendUint64(w.out, uint64(size))
	return w.pass(before)
}

func (w *body) addPiece(piece []byte) error {
	before := len(w.out)
	if w.e.codec != nil {
		w.out = w.e.codec.AppendFrame(w.out, piece)
	} else {
		w.out = append(w.out, piece...)
	}
	return w.pass(before)
}
