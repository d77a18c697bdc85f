package zstdenc

import "encoding/binary"

// bitWriter appends bits to a slice, the lowest first.
type bitWriter struct {
	out  []byte
	at   int    // bytes of out that are written
	bits uint64 // not in out yet
	n    uint   // their number; less than 8 after a flush
}

// newBitWriter returns a writer that may append up to size bytes.
func newBitWriter(dst []byte, size int) bitWriter {
	const room = 8 // for the last flush
	at, size := len(dst), size+room
	if cap(dst)-at < size {
		dst = append(dst, make([]byte, size)...)
	}
	return bitWriter{out: dst[:at+size], at: at}
}

// add adds the n low bits of a value. Between flushes, up to 56 bits may be added.
func (w *bitWriter) add(value uint32, n uint8) {
	w.bits |= uint64(value) & (1<<(n&31) - 1) << (w.n & 63)
	w.n += uint(n)
}

// move encodes a symbol: it adds the bits that the state loses, and changes the state.
func (w *bitWriter) move(s *state, c *coder, symbol uint8) {
	m := c.moves[symbol&(maxSymbols-1)]
	n := (uint32(*s) + m.bits) >> 16
	w.add(uint32(*s), uint8(n))
	*s = state(c.states[uint32(int32(*s>>(n&31))+m.from)&(maxStates-1)])
}

// flush writes all whole bytes.
func (w *bitWriter) flush() {
	binary.LittleEndian.PutUint64(w.out[w.at:], w.bits)
	w.at += int(w.n / 8)
	w.bits >>= w.n &^ 7 & 63
	w.n %= 8
}

// end returns the slice with all that was flushed, and a last byte if some bits are left.
func (w *bitWriter) end() []byte {
	if w.n > 0 {
		w.at++
	}
	return w.out[:w.at]
}
